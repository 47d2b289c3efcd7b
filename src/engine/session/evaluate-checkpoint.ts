/** The held-out evaluation of a stored run at any of its checkpoints. */
import { badInput } from "../errors.ts";
import type { EngineDevice } from "../gpu/runtime/device.ts";
import type { TrainerEvent } from "../rl/run/events.ts";
import type { LoadedModel, SessionDeps } from "../rl/run/session-types.ts";
import { holdOrRefuse } from "../rl/run/start/run-facts.ts";
import { checkFiles } from "../runs/checkpoint/checkpoint.ts";
import { readEvaluations } from "../runs/evaluations/evaluations.ts";
import { openRun } from "../runs/run-folder.ts";
import type { ReplayAsked } from "./replay.ts";
import { withStoredTrainer } from "./stored-trainer.ts";

/** `step` is that of the checkpoint. */
export interface CheckpointAsked extends Omit<ReplayAsked, "onStep" | "source"> {
  readonly onRows: (done: number, total: number) => void;
}

/**
 * Scores the run's held-out rows with the weights of a checkpoint, and with those of the start if they were never
 * evaluated, and stores both as evaluations of the run.
 * @throws LabError("bad-input") for other rows or weights than the run's, or a damaged checkpoint, "held" when a reward is
 *   not available, "cancelled" when the signal aborts; earlier evaluations are kept
 */
export async function evaluateCheckpoint(
  deps: SessionDeps,
  loaded: Pick<LoadedModel, "model" | "hash">,
  device: EngineDevice,
  { id, list, step, onRows, signal }: CheckpointAsked,
): Promise<void> {
  const { store } = deps;
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
    await withStoredTrainer(deps, loaded, device, work, async (trainer, from) => {
      if (from !== step) throw badInput(`The checkpoint of step ${step} of run "${id}" cannot be used`, id);
      for (const at of steps) {
        await trainer.evaluate(at, false);
        before++;
      }
    });
  } finally {
    release();
  }
}
