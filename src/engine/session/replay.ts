/** A trainer with the weights of a stored run, for work that does not continue it, and the evaluation of a checkpoint. */

import { badInput } from "../errors.ts";
import { withFormTable } from "../gpu/forms/active.ts";
import type { TrainerEvent } from "../rl/run/events.ts";
import type { Lab, Run } from "../rl/run/lab.ts";
import { runOrder } from "../rl/run/start/prepare-run.ts";
import { holdOrRefuse, resumeState, rowsOfSameRun, startState } from "../rl/run/start/run-facts.ts";
import { keptAdapter, usableCheckpoint } from "../rl/run/start/stored-state.ts";
import { Trainer } from "../rl/run/trainer.ts";
import { checkFiles } from "../runs/checkpoint/checkpoint.ts";
import { keptDifficulty } from "../runs/difficulty.ts";
import { readEvaluations } from "../runs/evaluations/evaluations.ts";
import { openRun, type RunFolder } from "../runs/run-folder.ts";
import { settingsOf } from "../runs/run-parts.ts";
import type { RowList } from "../runs/run-rows.ts";
import { formsOf, keptTable } from "../tuning/table.ts";
import { withinPlan } from "./plan.ts";

interface StoredWork {
  /** The stored run, which is only read. */
  readonly run: RunFolder;
  readonly list: RowList;
  /** Latest step whose checkpoint may be used; without one up to this step, the start is used. */
  readonly upTo: number;
  /** Whether held-out rows are scored. */
  readonly evaluates: boolean;
  /** The folder that the trainer writes to. */
  readonly target: RunFolder;
  /** @param stop ends the trainer */
  readonly emit: (event: TrainerEvent, stop: () => void) => void;
  readonly signal: AbortSignal;
}

/**
 * Builds the trainer, runs the work and frees the weights.
 * @param work receives the trainer at the step of the checkpoint, 0 for the start
 * @throws LabError("bad-input") for other rows or weights than the run's
 */
export async function withStoredTrainer<T>(
  host: Lab,
  { run: stored, list, upTo, evaluates, target, emit, signal }: StoredWork,
  work: (trainer: Trainer) => Promise<T>,
): Promise<T> {
  // Frozen features are computed again, as a part of what is repeated.
  const lab: Lab = { ...host, featureFiles: undefined, emit: (event) => emit(event, () => trainer.control.stop()) };
  const { model, hash, scorer } = lab;
  const { store, id } = stored;
  const manifest = stored.manifest();
  const found = await usableCheckpoint(store, id, upTo);
  const doneSteps = found?.step ?? 0;
  const config = settingsOf(manifest, doneSteps + 1);
  const rows = await rowsOfSameRun(manifest, hash, list);
  await scorer.begin(config);
  const start = await keptAdapter(store, id, "start", model, manifest.startAdapter);
  const captioner = await keptAdapter(store, id, "captioner", model, manifest.captioner);
  const table = await keptTable(store, id);
  const order = runOrder(list, rows, manifest, await keptDifficulty(store, id));
  const state =
    found === null ? await startState(model, config, start) : await resumeState(model, config, found.checkpoint, start);
  const scored = evaluates ? rows : { ...rows, selection: [], report: [] };
  const run: Run = { folder: target, config, state, captioner, list, rows: scored, order, doneSteps, table };
  const trainer = new Trainer(lab, run);
  const stop = (): void => trainer.control.stop();
  signal.addEventListener("abort", stop);
  try {
    if (signal.aborted) stop();
    return await withFormTable(table === undefined ? new Map() : formsOf(table), () =>
      withinPlan(lab, config, () => work(trainer)),
    );
  } finally {
    signal.removeEventListener("abort", stop);
    trainer.dispose();
  }
}

/** Work of a session that repeats a part of a stored run. */
export type RepeatingWork<A, T> = (lab: Lab, asked: A) => Promise<T>;

// The held-out evaluation of a stored run at any of its checkpoints.

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
export async function evaluateCheckpoint(lab: Lab, { id, list, step, onRows, signal }: CheckpointAsked): Promise<void> {
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
