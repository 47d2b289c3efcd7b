/** Calls of the trainer that repeat a part of a stored run. */
import type { ServedAt, TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { RowSelection } from "../../protocol/trainer.ts";
import { lookAtRollout, type RolloutLook } from "./look.ts";
import { type ReplayReport, replayStep } from "./replay.ts";

export interface RecomputeCalls {
  /** Repeats a logged step and compares it with the log. @throws LabError("cancelled") when the signal aborts */
  replay(
    runId: string,
    rows: RowSelection,
    step: number,
    onStep: (step: number) => void,
    signal: AbortSignal,
  ): Promise<ReplayReport>;
  /**
   * Recomputes a logged rollout's token alternatives and mask probabilities.
   * @throws LabError like `replay`
   */
  look(
    runId: string,
    rows: RowSelection,
    step: number,
    rollout: string,
    onStep: (step: number) => void,
    signal: AbortSignal,
  ): Promise<RolloutLook>;
}

export const recomputeCalls: ServedAt<TrainerPlace, RecomputeCalls> = (place) => ({
  async replay(runId, list, step, onStep, signal) {
    const { lab, elsewhere } = await place();
    return lab.repeat(replayStep, { id: runId, list, step, onStep, signal, source: await elsewhere(runId) });
  },
  async look(runId, list, step, rollout, onStep, signal) {
    const { lab, elsewhere } = await place();
    const source = await elsewhere(runId);
    return lab.repeat(lookAtRollout, { id: runId, list, step, rollout, onStep, signal, source });
  },
});
