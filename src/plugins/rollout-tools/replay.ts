/**
 * Repeats one logged step of a run, from its seeds and the checkpoint before the step, and compares the result with the
 * log.
 */
import { badInput, LabError } from "../../engine/errors.ts";
import type { TrainerEvent } from "../../engine/rl/run/events.ts";
import type { Lab } from "../../engine/rl/run/lab.ts";
import type { Trainer } from "../../engine/rl/run/trainer.ts";
import type { GroupRecord, StepMetrics } from "../../engine/runs/rollouts/records.ts";
import { createRun, openRun, type RunFolder } from "../../engine/runs/run-folder.ts";
import type { RowList } from "../../engine/runs/run-rows.ts";
import { scratchStore } from "../../engine/storage/memory-store.ts";
import type { RunStore } from "../../engine/storage/store.ts";
import { withStoredTrainer } from "./stored-trainer.ts";

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
export async function replayStep(lab: Lab, asked: ReplayAsked): Promise<ReplayReport> {
  const { id, step, source = lab.store } = asked;
  const run = await openRun(source, id);
  const manifest = run.manifest();
  const logged = (await run.readMetrics()).find((row) => row.step === step);
  if (logged === undefined) throw badInput(`Run "${manifest.title}" has no metrics of step ${step}`, id);
  const { copy, from } = await repeatUpTo(step, lab, run, asked, async (repeated) => repeated);
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

/** A run that was repeated in memory. */
interface Repeated {
  /** With the weights after the last repeated step; disposed when the work ends. */
  readonly trainer: Trainer;
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
  lab: Lab,
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
  return withStoredTrainer(lab, stored, async (trainer) => {
    const from = trainer.step;
    if (from < to) await trainer.run();
    if (held !== undefined) throw held;
    if (signal.aborted || trainer.step < to) throw new LabError("cancelled", `The replay of step ${step} was stopped`);
    return work({ trainer, from, copy });
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
