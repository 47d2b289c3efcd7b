/** Calls of the reward bench: the trainer samples groups, the data worker reads rollouts of files. */
import type { LabConfig } from "../../engine/config/table.ts";
import type { LoopId } from "../../engine/runs/rollouts/records.ts";
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import type { BenchGroup } from "./bench-group.ts";
import { benchFromStart } from "./sample-bench.ts";

export const benchCalls = (place: () => Promise<TrainerPlace>) => ({
  /** Samples groups of rows for the reward bench. @throws LabError("cancelled") when the signal aborts */
  async bench(
    config: LabConfig,
    indices: readonly number[],
    loops: readonly LoopId[],
    onGroup: (group: BenchGroup) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { lab } = await place();
    await lab.withLab("bench", (own) => benchFromStart(own, config, { indices, loops, onGroup }, signal));
  },
});

export type BenchCalls = CallsOf<typeof benchCalls>;
