/**
 * Repeats one logged step of a run, from its seeds and the checkpoint before the step, and compares the result with the
 * log.
 */

import { badInput, LabError } from "../errors.ts";
import { withFormTable } from "../gpu/forms/active.ts";
import type { EngineDevice } from "../gpu/runtime/device.ts";
import { tf } from "../gpu/tf.ts";
import { disposeState, type TrainingState } from "../rl/optim/training-state.ts";
import type { TrainerEvent } from "../rl/run/events.ts";
import type { LoadedModel, SessionDeps } from "../rl/run/session-types.ts";
import { captionerOf } from "../rl/run/start/captioner.ts";
import { runOrder } from "../rl/run/start/prepare-run.ts";
import {
  checkedRows,
  holdOrRefuse,
  loraSettings,
  resumeState,
  rowsOfSameRun,
  startState,
} from "../rl/run/start/run-facts.ts";
import { keptAdapter, usableCheckpoint } from "../rl/run/start/stored-state.ts";
import { Trainer } from "../rl/run/trainer.ts";
import { checkFiles } from "../runs/checkpoint/checkpoint.ts";
import { keptDifficulty } from "../runs/difficulty.ts";
import { readEvaluations } from "../runs/evaluations/evaluations.ts";
import type { GroupRecord, StepMetrics } from "../runs/rollouts/records.ts";
import { createRun, openRun, type RunFolder } from "../runs/run-folder.ts";
import { evaluatedRows, type RowList } from "../runs/run-rows.ts";
import { scratchStore } from "../storage/memory-store.ts";
import type { RunStore } from "../storage/store.ts";
import { formsOf, keptTable } from "../tuning/table.ts";
import { withinPlan } from "./plan.ts";

// A trainer with the weights of a stored run, for work that does not continue the run: replays and evaluations.

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
 * @param work receives the step of the checkpoint (0 for the start) and the weights that the trainer changes
 * @throws LabError("bad-input") for other rows or weights than the run's
 */
async function withStoredTrainer<T>(
  deps: SessionDeps,
  { model, hash }: Pick<LoadedModel, "model" | "hash">,
  device: EngineDevice,
  { run, list, upTo, evaluates, target, emit, signal }: StoredWork,
  work: (trainer: Trainer, from: number, state: TrainingState) => Promise<T>,
): Promise<T> {
  const { store, id } = run;
  const manifest = run.manifest();
  const { config, startAdapter } = manifest;
  const selected = await rowsOfSameRun(manifest, hash, list);
  await deps.scorer.begin(config);
  const start = await keptAdapter(store, id, "start", model, startAdapter);
  const kept = await keptAdapter(store, id, "captioner", model, manifest.captioner);
  const table = await keptTable(store, id);
  const found = await usableCheckpoint(store, id, upTo);
  const order = runOrder(list, selected, config, await keptDifficulty(store, id));
  const state = found === null ? startState(model, config, start) : resumeState(model, config, found.checkpoint, start);
  const other = kept === undefined ? undefined : captionerOf(model, kept, config);
  const from = found?.step ?? 0;
  const trainer = new Trainer({
    model,
    config,
    state,
    captioner: other?.weights,
    rows: checkedRows(deps.rows, list),
    trainRows: selected.train,
    order,
    evaluated: evaluates ? evaluatedRows(selected, config, list) : { report: [], selection: [] },
    scorer: deps.scorer,
    run: target,
    doneSteps: from,
    lora: loraSettings(model, config),
    now: deps.now,
    emit: (event) => emit(event, () => trainer.control.stop()),
    checkDevice: () => device.checkAll(),
    whyFull: () => device.whyFull(),
    whyLost: () => device.whyLost(),
  });
  const stop = (): void => trainer.control.stop();
  signal.addEventListener("abort", stop);
  try {
    if (signal.aborted) stop();
    return await withFormTable(table === undefined ? new Map() : formsOf(table), () =>
      withinPlan(model, config, device, () => work(trainer, from, state)),
    );
  } finally {
    signal.removeEventListener("abort", stop);
    trainer.features.clear();
    disposeState(state);
    if (other !== undefined) tf.dispose(other.tensors);
  }
}

export interface ReplayAsked {
  readonly id: string;
  readonly list: RowList;
  /** The logged step. */
  readonly step: number;
  readonly onStep: (step: number) => void;
  readonly signal: AbortSignal;
  /** Store of the run, if it is not the session's. */
  readonly source?: RunStore | undefined;
}

export interface ReplayReport {
  readonly step: number;
  /** Step of the checkpoint that the replay started from; 0 for the start. */
  readonly from: number;
  /** Number of compared metrics. */
  readonly metrics: number;
  /** Metrics whose bits differ. */
  readonly otherMetrics: readonly { readonly name: string; readonly logged: number; readonly now: number | null }[];
  /** Number of compared rollouts. */
  readonly rollouts: number;
  /** Ids of rollouts with another text, mask, reward, advantage or log-probability. */
  readonly otherRollouts: readonly string[];
}

/** Seconds and bytes depend on the machine and on what ran before. */
const OF_THE_MACHINE = /^(step_time|time\/|memory\/)/;

/**
 * @throws LabError("bad-input") for a step that is not in the log or other rows or weights than the run's, "cancelled"
 *   when the signal aborts; the run's folder is only read
 */
export async function replayStep(
  deps: SessionDeps,
  loaded: Pick<LoadedModel, "model" | "hash">,
  device: EngineDevice,
  asked: ReplayAsked,
): Promise<ReplayReport> {
  const { id, step, source = deps.store } = asked;
  const run = await openRun(source, id);
  const manifest = run.manifest();
  const logged = (await run.readMetrics()).find((row) => row.step === step);
  if (logged === undefined) throw badInput(`Run "${manifest.title}" has no metrics of step ${step}`, id);
  const { copy, from } = await repeatUpTo(step, deps, loaded, device, run, asked, async (repeated) => repeated);
  const repeated = (await copy.readMetrics()).find((row) => row.step === step);
  if (repeated === undefined) throw new LabError("internal", `Step ${step} was repeated without metrics`);
  const groups = async (of: typeof run): Promise<readonly GroupRecord[]> =>
    (await of.groupSteps()).includes(step) ? of.readGroups(step) : [];
  return {
    step,
    from,
    ...compareMetrics(logged, repeated),
    ...compareRollouts(await groups(run), await groups(copy)),
  };
}

/** Work of a session that repeats a part of a stored run. */
export type RepeatingWork<A, T> = (
  deps: SessionDeps,
  loaded: Pick<LoadedModel, "model" | "hash">,
  device: EngineDevice,
  asked: A,
) => Promise<T>;

/** A run that was repeated in memory. */
interface Repeated {
  readonly trainer: Trainer;
  /** Weights after the last repeated step; freed when the work ends. */
  readonly state: TrainingState;
  /** Step of the checkpoint that the replay started from; 0 for the start. */
  readonly from: number;
  readonly copy: RunFolder;
}

/**
 * Repeats a stored run to the end of step `to`, from its newest checkpoint before the asked step.
 * @param to the asked step, or the one before it
 * @throws LabError("cancelled") when the signal aborts
 */
export async function repeatUpTo<T>(
  to: number,
  deps: SessionDeps,
  loaded: Pick<LoadedModel, "model" | "hash">,
  device: EngineDevice,
  run: RunFolder,
  { list, step, onStep, signal }: ReplayAsked,
  work: (repeated: Repeated) => Promise<T>,
): Promise<T> {
  const copy = await createRun(scratchStore(), run.manifest());
  let held: LabError | undefined;
  const emit = (event: TrainerEvent, stop: () => void): void => {
    if (event.type === "held") {
      // A replay does not wait for the user: it ends where a run would pause.
      held = new LabError(event.error.code, event.error.message);
      stop();
    }
    if (event.type !== "step") return;
    onStep(event.step);
    if (event.step === to) stop();
  };
  const stored = { run, list, upTo: step - 1, evaluates: false, target: copy, emit, signal };
  return withStoredTrainer(deps, loaded, device, stored, async (trainer, from, state) => {
    if (from < to) await trainer.run();
    if (held !== undefined) throw held;
    if (signal.aborted || trainer.step < to) throw new LabError("cancelled", `The replay of step ${step} was stopped`);
    return work({ trainer, state, from, copy });
  });
}

function compareMetrics(logged: StepMetrics, now: StepMetrics): Pick<ReplayReport, "metrics" | "otherMetrics"> {
  const names = Object.keys(logged).filter((name) => !OF_THE_MACHINE.test(name));
  return {
    metrics: names.length,
    otherMetrics: names.flatMap((name) =>
      Object.is(logged[name], now[name]) ? [] : [{ name, logged: logged[name] as number, now: now[name] ?? null }],
    ),
  };
}

function compareRollouts(
  logged: readonly GroupRecord[],
  now: readonly GroupRecord[],
): Pick<ReplayReport, "rollouts" | "otherRollouts"> {
  const repeated = new Map(now.flatMap(({ rollouts }) => rollouts.map((rollout) => [rollout.id, rollout] as const)));
  const all = logged.flatMap(({ rollouts }) => rollouts);
  const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
  return {
    rollouts: all.length,
    otherRollouts: all.filter((rollout) => !same(rollout, repeated.get(rollout.id))).map(({ id }) => id),
  };
}

// The held-out evaluation of a stored run at any of its checkpoints.

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
