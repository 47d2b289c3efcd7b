/** The held-out evaluation of a stored run at any of its checkpoints. */

import { badInput } from "../../engine/errors.ts";
import type { TrainerEvent } from "../../engine/rl/run/events.ts";
import type { Lab } from "../../engine/rl/run/lab.ts";
import { holdOrRefuse } from "../../engine/rl/run/start/run-facts.ts";
import { checkFiles } from "../../engine/runs/checkpoint/checkpoint.ts";
import { readEvaluations } from "../../engine/runs/evaluations/evaluations.ts";
import { openRun } from "../../engine/runs/run-folder.ts";
import type { RowList } from "../../engine/runs/run-rows.ts";

import { withStoredTrainer } from "../rollout-tools/stored-trainer.ts";

export interface CheckpointAsked {
  readonly id: string;
  readonly list: RowList;
  /** Of the checkpoint. */
  readonly step: number;
  readonly signal: AbortSignal;
  readonly onRows: (done: number, total: number) => void;
}

/**
 * Scores the run's held-out rows with the weights of a checkpoint, and with those of the start if they were never
 * evaluated, and stores both as evaluations of the run.
 * @throws LabError("bad-input") for other rows or weights than the run's, or a damaged checkpoint, "held" when a reward is
 *   not available, "cancelled" when the signal aborts; earlier evaluations are kept
 */
export async function scoreCheckpoint(lab: Lab, { id, list, step, onRows, signal }: CheckpointAsked): Promise<void> {
  const { store } = lab;
  const run = await openRun(store, id);
  await checkFiles(store, id, step);
  const release = await holdOrRefuse(store, id);
  try {
    const stored = await readEvaluations(store, id);
    const steps = stored.some(({ report }) => report.step === 0) ? [step] : [0, step];
    let before = 0;
    const work = {
      ...{ run, list, upTo: step, evaluates: true, target: run, signal },
      emit: (event: TrainerEvent): void => {
        if (event.type === "eval-rows") onRows(before * event.total + event.done, steps.length * event.total);
      },
    };
    await withStoredTrainer(lab, work, async (trainer) => {
      if (trainer.step !== step) throw badInput(`The checkpoint of step ${step} of run "${id}" cannot be used`, id);
      for (const at of steps) {
        await trainer.evaluate(at, false);
        before++;
      }
    });
  } finally {
    release();
  }
}
