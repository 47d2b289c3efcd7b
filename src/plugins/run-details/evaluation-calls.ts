/** The call of the trainer that evaluates a checkpoint. */
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import type { RowSelection } from "../../protocol/trainer.ts";
import { scoreCheckpoint } from "./checkpoint-evaluation.ts";

export const evaluationCalls = (place: () => Promise<TrainerPlace>) => ({
  /**
   * Evaluates held-out rows with a checkpoint of a stored run and stores the result in the run.
   * @throws LabError("cancelled") when the signal aborts
   */
  async evaluate(
    id: string,
    list: RowSelection,
    step: number,
    onRows: (done: number, total: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { lab } = await place();
    await lab.withLab("evaluation", (own) => scoreCheckpoint(own, { id, list, step, onRows, signal }));
  },
});

export type EvaluationCalls = CallsOf<typeof evaluationCalls>;
