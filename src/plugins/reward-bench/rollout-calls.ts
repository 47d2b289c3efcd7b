/** Reads rollouts of a file for the bench, on the data worker. */
import { badInput } from "../../engine/errors.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import type { BenchGroup } from "./bench-group.ts";
import { importRollouts } from "./import-rollouts.ts";

/** Maximum bytes of a file of rollouts, which is read at once. */
const MAX_ROLLOUT_BYTES = 256 * 2 ** 20;

export const rolloutCalls = () => ({
  /** Rollouts of a file for the reward bench, not yet scored. */
  async rollouts(file: Blob, name: string): Promise<readonly BenchGroup[]> {
    if (file.size > MAX_ROLLOUT_BYTES) {
      throw badInput(`${name} has ${file.size} bytes, more than ${MAX_ROLLOUT_BYTES}`, name);
    }
    return importRollouts(new Uint8Array(await file.arrayBuffer()), name);
  },
});

export type RolloutCalls = CallsOf<typeof rolloutCalls>;
