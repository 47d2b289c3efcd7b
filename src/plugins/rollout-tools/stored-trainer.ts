/** A trainer with the weights of a stored run, for work that does not continue it. */

import { withFormTable } from "../../engine/gpu/forms/active.ts";
import type { TrainerEvent } from "../../engine/rl/run/events.ts";
import type { Lab, Run } from "../../engine/rl/run/lab.ts";
import { runOrder } from "../../engine/rl/run/start/prepare-run.ts";
import { resumeState, rowsOfSameRun, startState } from "../../engine/rl/run/start/run-facts.ts";
import { keptAdapter, usableCheckpoint } from "../../engine/rl/run/start/stored-state.ts";
import { Trainer } from "../../engine/rl/run/trainer.ts";
import { keptDifficulty } from "../../engine/runs/difficulty.ts";
import type { RunFolder } from "../../engine/runs/run-folder.ts";
import { settingsOf } from "../../engine/runs/run-parts.ts";
import type { RowList } from "../../engine/runs/run-rows.ts";
import { withinPlan } from "../../engine/session/plan.ts";
import { formsOf, keptTable } from "../../engine/tuning/table.ts";

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
