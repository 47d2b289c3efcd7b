/** Reads rollouts of a file for the bench, on the data worker. */
import { badInput } from "../../engine/errors.ts";
import type { DataPlace, ServedAt } from "../../protocol/plugin-calls.ts";
import type { BenchGroup } from "./bench-group.ts";
import { importRollouts } from "./import-rollouts.ts";

/** Maximum bytes of a file of rollouts, which is read at once. */
const MAX_ROLLOUT_BYTES = 256 * 2 ** 20;

export interface RolloutCalls {
  /** Rollouts of a file for the reward bench, not yet scored. */
  rollouts(file: Blob, name: string): Promise<readonly BenchGroup[]>;
}

export const rolloutCalls: ServedAt<DataPlace, RolloutCalls> = () => ({
  async rollouts(file, name) {
    if (file.size > MAX_ROLLOUT_BYTES) {
      throw badInput(`${name} has ${file.size} bytes, more than ${MAX_ROLLOUT_BYTES}`, name);
    }
    return importRollouts(new Uint8Array(await file.arrayBuffer()), name);
  },
});
