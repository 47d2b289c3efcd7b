/** Calls of the trainer that repeat a part of a stored run. */
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import type { RowSelection } from "../../protocol/trainer.ts";
import { lookAtRollout, type RolloutLook } from "./look.ts";
import { type ReplayReport, replayStep } from "./replay.ts";

export const recomputeCalls = (place: () => Promise<TrainerPlace>) => ({
  /** Repeats a logged step and compares it with the log. @throws LabError("cancelled") when the signal aborts */
  async replay(
    runId: string,
    list: RowSelection,
    step: number,
    onStep: (step: number) => void,
    signal: AbortSignal,
  ): Promise<ReplayReport> {
    const { lab, elsewhere } = await place();
    const asked = { id: runId, list, step, onStep, signal, source: await elsewhere(runId) };
    return lab.withLab("replay", (own) => replayStep(own, asked));
  },
  /**
   * Recomputes a logged rollout's token alternatives and mask probabilities.
   * @throws LabError like `replay`
   */
  async look(
    runId: string,
    list: RowSelection,
    step: number,
    rollout: string,
    onStep: (step: number) => void,
    signal: AbortSignal,
  ): Promise<RolloutLook> {
    const { lab, elsewhere } = await place();
    const asked = { id: runId, list, step, rollout, onStep, signal, source: await elsewhere(runId) };
    return lab.withLab("replay", (own) => lookAtRollout(own, asked));
  },
});

export type RecomputeCalls = CallsOf<typeof recomputeCalls>;
