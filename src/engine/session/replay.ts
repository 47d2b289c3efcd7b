/** Repeats one logged step of a run from its seeds and the checkpoint before it, and compares the result with the log. */
import { LabError } from "../errors.ts";
import { withFormTable } from "../gpu/forms/active.ts";
import type { EngineDevice } from "../gpu/runtime/device.ts";
import { tf } from "../gpu/tf.ts";
import { disposeState } from "../rl/optim/training-state.ts";
import { captionerOf } from "../rl/run/captioner.ts";
import { keptAdapter } from "../rl/run/kept-adapters.ts";
import { runOrder } from "../rl/run/prepare-run.ts";
import { checkedRows, checkSameRun, describeData } from "../rl/run/run-facts.ts";
import type { LoadedModel, SessionDeps } from "../rl/run/session-types.ts";
import { loraSettings, resumeState, startState } from "../rl/run/start-run.ts";
import { Trainer } from "../rl/run/trainer.ts";
import { usableCheckpoint } from "../rl/run/usable-checkpoint.ts";
import { keptDifficulty } from "../runs/difficulty.ts";
import type { GroupRecord, StepMetrics } from "../runs/records.ts";
import { createRun, openRun } from "../runs/run-folder.ts";
import { type RowList, runRows } from "../runs/run-rows.ts";
import { memoryStore } from "../storage/memory-store.ts";
import { formsOf, keptTable } from "../tuning/table.ts";

export interface ReplayAsked {
  readonly id: string;
  readonly list: RowList;
  /** The logged step. */
  readonly step: number;
  readonly onStep: (step: number) => void;
  readonly signal: AbortSignal;
}

export interface ReplayReport {
  readonly step: number;
  /** Step of the checkpoint it began from; 0 for the start. */
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
  const { id, list, step, signal } = asked;
  const { model, hash } = loaded;
  const run = await openRun(deps.store, id);
  const manifest = run.manifest();
  const { config, startAdapter, captioner } = manifest;
  const logged = (await run.readMetrics()).find((row) => row.step === step);
  if (logged === undefined) {
    throw new LabError("bad-input", `Run "${manifest.title}" has no metrics of step ${step}`, { subject: id });
  }
  const selected = runRows(list, config);
  checkSameRun(manifest, hash, await describeData(list, selected));
  const table = await keptTable(deps.store, id);
  await deps.scorer.begin(config);
  const start = await keptAdapter(deps.store, id, "start", model, startAdapter);
  const kept = await keptAdapter(deps.store, id, "captioner", model, captioner);
  const found = await usableCheckpoint(deps.store, id, step - 1);
  const state = found === null ? startState(model, config, start) : resumeState(model, config, found.checkpoint, start);
  const copy = await createRun(memoryStore(), manifest);
  const other = kept === undefined ? undefined : captionerOf(model, kept, config);
  let held: LabError | undefined;
  const trainer = new Trainer({
    model,
    config,
    state,
    captioner: other?.weights,
    rows: checkedRows(deps.rows, list),
    trainRows: selected.train,
    order: runOrder(list, selected, config, await keptDifficulty(deps.store, id)),
    evaluated: { report: [], selection: [] },
    scorer: deps.scorer,
    run: copy,
    doneSteps: found?.step ?? 0,
    lora: loraSettings(model, config),
    now: deps.now,
    emit: (event) => {
      if (event.type === "held") {
        // A replay does not wait for an answer: what holds a run ends it.
        held = new LabError(event.error.code, event.error.message);
        trainer.control.stop();
      }
      if (event.type !== "step") return;
      asked.onStep(event.step);
      if (event.step === step) trainer.control.stop();
    },
    checkDevice: () => device.checkAll(),
    whyFull: () => device.whyFull(),
    whyLost: () => device.whyLost(),
  });
  const stop = (): void => trainer.control.stop();
  signal.addEventListener("abort", stop);
  try {
    if (signal.aborted) stop();
    await withFormTable(table === undefined ? new Map() : formsOf(table), () => trainer.run());
  } finally {
    signal.removeEventListener("abort", stop);
    disposeState(state);
    if (other !== undefined) tf.dispose(other.tensors);
  }
  if (held !== undefined) throw held;
  const repeated = (await copy.readMetrics()).find((row) => row.step === step);
  if (repeated === undefined) throw new LabError("cancelled", `The replay of step ${step} was stopped`);
  const groups = async (of: typeof run): Promise<readonly GroupRecord[]> =>
    (await of.groupSteps()).includes(step) ? of.readGroups(step) : [];
  return {
    step,
    from: found?.step ?? 0,
    ...compareMetrics(logged, repeated),
    ...compareRollouts(await groups(run), await groups(copy)),
  };
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
