/** Calls of the reward bench: the trainer samples groups, the data worker reads rollouts of files. */
import type { LabConfig } from "../../engine/config/table.ts";
import type { LoopId } from "../../engine/runs/rollouts/records.ts";
import type { ServedAt, TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { BenchGroup } from "./bench-group.ts";
import { benchFromStart } from "./sample-bench.ts";

export interface BenchCalls {
  /** Samples groups of rows for the reward bench. @throws LabError("cancelled") when the signal aborts */
  bench(
    config: LabConfig,
    indices: readonly number[],
    loops: readonly LoopId[],
    onGroup: (group: BenchGroup) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

export const benchCalls: ServedAt<TrainerPlace, BenchCalls> = (place) => ({
  async bench(config, indices, loops, onGroup, signal) {
    const { lab } = await place();
    await lab.fromStart("bench", config, (started) =>
      benchFromStart(started, config, { indices, loops, onGroup }, signal),
    );
  },
});
