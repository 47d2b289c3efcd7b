/**
 * The trainer: runs steps behind the gate, logs, watches, stores. Everything it needs comes in; it knows neither page
 * nor worker nor file system.
 */
import type { LabConfig } from "../config/table.ts";
import type { RowSource } from "../data/training-row.ts";
import { LabError, toLabError } from "../errors.ts";
import { evaluateRows } from "../eval/held-out.ts";
import { storeEvaluation } from "../eval/store.ts";
import { memorySnapshot, trimPool, trimPoolToSmall } from "../gpu/memory.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { FeatureShelf } from "../policy/feature-store.ts";
import { createFeatureCache, type FeatureCache } from "../policy/features.ts";
import type { RewardScorer } from "../rewards/types.ts";
import { bestCheckpoint } from "../runs/best-checkpoint.ts";
import { pruneCheckpoints, writeCheckpoint } from "../runs/checkpoint.ts";
import { readEvaluations } from "../runs/evaluations.ts";
import { appendPhases } from "../runs/phase-lines.ts";
import type { GroupRecord, LoopId } from "../runs/records.ts";
import type { RunFolder } from "../runs/run-folder.ts";
import { type AlarmWatch, watchAlarms } from "./alarms.ts";
import type { StepContext } from "./context.ts";
import type { Phase, PhaseTimes, TrainerEvent } from "./events.ts";
import { Gate } from "./gate.ts";
import { grpoStep } from "./grpo-step.ts";
import { DEVICE_METER, gpuTimes, phaseCosts, restartGpuTimes } from "./phase-costs.ts";
import { failedRun } from "./run-state.ts";
import { runWeights } from "./run-weights.ts";
import { sftStep } from "./sft-step.ts";
import { NonFiniteGradient, stateArrays, type TrainingState } from "./training-state.ts";

export interface TrainerDeps {
  readonly model: Sa2vaModel;
  readonly config: LabConfig;
  /** Taken over: the trainer's owner disposes it after the run. */
  readonly state: TrainingState;
  readonly rows: RowSource;
  /** Data-set indices of the training rows, at least one. */
  readonly trainRows: readonly number[];
  /** Indices of the rows kept apart; evaluation takes the first of them. */
  readonly heldOutRows: readonly number[];
  readonly scorer: RewardScorer;
  readonly run: RunFolder;
  /** Steps done before, 0 for a fresh run. */
  readonly doneSteps: number;
  /** Opens what keeps frozen features on disk; nothing is kept there when absent. */
  readonly openShelf?: (() => Promise<FeatureShelf | undefined>) | undefined;
  readonly lora: { readonly r: number; readonly alpha: number; readonly targets: readonly string[] };
  /** Seconds, monotonic. */
  readonly now: () => number;
  readonly emit: (event: TrainerEvent) => void;
  /** Throws when the device reported an error since the last call. */
  readonly checkDevice: () => void;
  /** The sentence of its loss, if the device is lost. */
  readonly whyLost: () => Promise<string | undefined>;
}

/** Host bytes of frozen features kept between steps. */
const FEATURE_BYTES = 512 * 2 ** 20;

export class Trainer {
  readonly gate: Gate;
  readonly #deps: TrainerDeps;
  readonly #features: FeatureCache;
  readonly #alarms: AlarmWatch = watchAlarms();
  #step: number;
  #checkpointAsked = false;
  #lastCheckpoint: number;

  constructor(deps: TrainerDeps) {
    this.#deps = deps;
    this.#step = deps.doneSteps;
    this.#lastCheckpoint = deps.doneSteps;
    this.#features = createFeatureCache(deps.model, deps.config.maxTiles, FEATURE_BYTES, deps.openShelf);
    this.gate = new Gate(
      {
        onState: (state, next) =>
          deps.emit({ type: "state", state, step: this.#step, ...(next === undefined ? {} : { next }) }),
        onPhase: (phase, loop) => this.#tellPhase(phase, this.#step + 1, loop),
      },
      deps.now,
      DEVICE_METER,
    );
  }

  /** Steps done. */
  get step(): number {
    return this.#step;
  }

  /** Frozen features that are kept; the trainer's own. */
  get features(): FeatureCache {
    return this.#features;
  }

  /** Writes a checkpoint at the end of the step that runs now. */
  askCheckpoint(): void {
    this.#checkpointAsked = true;
  }

  /**
   * Runs to the last step. Returns "finished" or "stopped"; a stop inside a step drops that step and keeps the rest.
   * @throws whatever a step throws beside being stopped, with run folder and gate told before. After a gradient that is
   *   not finite the weights may be those of the last whole step and are then checkpointed first; after any other error
   *   they are not trusted
   */
  async run(): Promise<"finished" | "stopped"> {
    const { config, run } = this.#deps;
    this.gate.play();
    try {
      // Also what a stop or a lost device has taken from this step before.
      if (this.#evaluationDue() && !(await this.#evaluated())) await this.#evaluate();
      while (this.#step < config.steps) {
        await this.gate.beforeStep();
        if (!(await this.#wholeStep())) continue;
        if (this.#evaluationDue()) await this.#evaluate();
      }
      if (this.#lastCheckpoint < this.#step) await this.#checkpoint();
      await run.update({ state: "finished" });
      this.gate.setState("finished");
      return "finished";
    } catch (thrown) {
      return await this.#end(thrown);
    } finally {
      this.#features.clear();
    }
  }

  /**
   * Ends a run that a stop or an error has broken off; whatever fails on the way, folder and gate are told of an end.
   * @throws what broke it off unless it was a stop; what could not be stored
   */
  async #end(thrown: unknown): Promise<"stopped"> {
    const { run } = this.#deps;
    const stopped = thrown instanceof LabError && thrown.code === "cancelled";
    const broken = thrown instanceof NonFiniteGradient && !thrown.whole;
    let failure = broken ? new LabError("gpu", `${thrown.message}; ${this.#kept()}`) : thrown;
    try {
      const whole = stopped || (thrown instanceof NonFiniteGradient && thrown.whole);
      if (whole && this.#lastCheckpoint < this.#step) await this.#checkpoint();
      if (stopped) {
        await run.update({ state: "paused" });
        this.gate.setState("finished");
        return "stopped";
      }
    } catch (cause) {
      const { code, message } = toLabError(cause, "storage");
      const first = stopped ? "The run was stopped" : toLabError(thrown).message;
      failure = new LabError(code, `${first}, but it could not be stored: ${message}; ${this.#kept()}`, { cause });
    }
    // The session decides whether the run goes on; nothing of this device is worth storing.
    if ((await this.#deps.whyLost()) !== undefined) throw failure;
    const told = await failedRun(run, failure);
    this.gate.setState("failed");
    throw told;
  }

  /** What can be gone on from. */
  #kept(): string {
    return this.#lastCheckpoint === 0
      ? "the run has no checkpoint yet"
      : `the checkpoint of step ${this.#lastCheckpoint} is kept`;
  }

  #tellPhase(phase: Phase, step = this.#step, loop: LoopId | null = null): void {
    this.#deps.emit({ type: "phase", step, loop, phase, programs: DEVICE_METER.counts().programs });
  }

  /** A step, or a pause before it when a reward cannot be given: nothing of such a step has happened. */
  async #wholeStep(): Promise<boolean> {
    try {
      await this.#oneStep();
      return true;
    } catch (thrown) {
      if (!(thrown instanceof LabError && thrown.code === "held")) throw thrown;
      const { code, message, subject } = thrown;
      trimPool();
      this.gate.hold();
      const error = subject === undefined ? { code, message } : { code, message, subject };
      this.#deps.emit({ type: "held", step: this.#step + 1, error });
      return false;
    }
  }

  async #oneStep(): Promise<void> {
    const { config, state, run, emit, now } = this.#deps;
    const step = this.#step + 1;
    const began = now();
    restartGpuTimes();
    const groups: GroupRecord[] = [];
    const outcome = await (config.mode === "sft" ? sftStep : grpoStep)({
      context: this.#context(step),
      state,
      rows: this.#deps.rows,
      trainRows: this.#deps.trainRows,
      onGroup: (group) => {
        groups.push(group);
        emit({ type: "group", group });
      },
    });
    // An error anywhere in the step's submits means its numbers may be stale: fail before anything is stored.
    this.#deps.checkDevice();
    await this.gate.enter("log", null);
    const kept = trimPoolToSmall();
    this.#step = step;
    const metrics: Record<string, number> = { ...outcome.metrics, loss: totalLoss(outcome.metrics, config) };
    const memory = memorySnapshot();
    metrics["memory/num_tensors"] = memory.tensors;
    metrics["memory/gpu_bytes"] = memory.gpuBytes;
    // Without what waits for the next step: a run that repeats another one may find another pool.
    metrics["memory/gpu_bytes_allocated"] = memory.gpuBytesAllocated - kept;
    metrics.epoch = (step * config.accumulation * config.promptsPerStep) / this.#deps.trainRows.length;
    await run.appendGroups(step, groups);
    const worked = await gpuTimes();
    const { times, counts } = this.gate.endStep();
    const costs = phaseCosts(times, counts, worked);
    const timed = { ...metrics, ...timeMetrics(times), step_time: now() - began };
    await run.appendStep(step, timed);
    await appendPhases(run.store, run.id, { step, phases: costs });
    emit({ type: "step", step, metrics: timed, phaseTimes: times, costs });
    for (const alarm of this.#alarms.observe(step, timed, outcome.update)) emit({ type: "alarm", alarm });
    // Last: a checkpoint whose step had no line in the metrics would leave a gap in a resumed run.
    const due = config.saveSteps > 0 && step % config.saveSteps === 0;
    if (due || this.#checkpointAsked) await this.#checkpoint();
  }

  #context(step: number): StepContext {
    const { model, config, state, scorer } = this.#deps;
    return {
      model,
      config,
      step,
      policy: runWeights(model, state.params, state.loraScale, config),
      partner: runWeights(model, state.ema, state.loraScale, config),
      start: runWeights(model, state.start, state.loraScale, config),
      features: this.#features,
      scorer,
      phase: (phase, loop) => this.gate.enter(phase, loop),
      signal: this.gate.signal,
    };
  }

  /** Whether held-out rows are to be scored at the present step: at the start, on the beat and at the end. */
  #evaluationDue(): boolean {
    const { evalSteps, evalRows, steps } = this.#deps.config;
    if (evalSteps === 0 || Math.min(evalRows, this.#deps.heldOutRows.length) === 0) return false;
    return this.#step % evalSteps === 0 || this.#step === steps;
  }

  async #evaluated(): Promise<boolean> {
    const { run } = this.#deps;
    return (await readEvaluations(run.store, run.id)).some(({ report }) => report.step === this.#step);
  }

  /** Scores held-out rows with the weights of now. @throws LabError("cancelled") when stopped */
  async #evaluate(): Promise<void> {
    const { config, run, heldOutRows, emit } = this.#deps;
    if (this.gate.signal.aborted) throw new LabError("cancelled", "The run was stopped");
    const rows = heldOutRows.slice(0, config.evalRows);
    this.#tellPhase("eval");
    const context = this.#context(this.#step);
    const scores = await evaluateRows({ ...context, rows: this.#deps.rows }, rows, (done) =>
      emit({ type: "eval-rows", done, total: rows.length }),
    );
    this.#deps.checkDevice();
    trimPool();
    const report = await storeEvaluation(run.store, run.id, this.#step, scores);
    emit({ type: "eval", report });
    // The checkpoint of this step may be the best now, and another one no longer.
    await this.#prune();
  }

  async #checkpoint(): Promise<void> {
    const { run, state, config, lora, model, emit } = this.#deps;
    this.#checkpointAsked = false;
    this.#tellPhase("checkpoint");
    const bytes = await writeCheckpoint(run.store, run.id, {
      ...(await stateArrays(state)),
      step: this.#step,
      lora,
      config,
      trainer: { optimiserSteps: state.optimiserSteps, skippedSteps: state.skippedSteps },
      baseModel: { name: model.name, hash: run.manifest().model.hash },
    });
    this.#lastCheckpoint = this.#step;
    await this.#prune();
    emit({ type: "checkpoint", step: this.#step, bytes });
  }

  /** Keeps the last checkpoints and the best one by the evaluations so far. */
  async #prune(): Promise<void> {
    const { run, config } = this.#deps;
    const best = await bestCheckpoint(run.store, run.id, config.loops);
    await pruneCheckpoints(run.store, run.id, config.keepCheckpoints, best);
  }
}

/** Weighted sum of the loops' losses, or the supervised loss. */
function totalLoss(metrics: Readonly<Record<string, number>>, config: LabConfig): number {
  const supervised = metrics["sft/loss"];
  if (supervised !== undefined) return supervised;
  const first = metrics["loop1/loss"];
  const second = metrics["loop2/loss"];
  return (
    (first === undefined ? 0 : config.loop1Weight * first) + (second === undefined ? 0 : config.loop2Weight * second)
  );
}

function timeMetrics(times: PhaseTimes): Record<string, number> {
  return Object.fromEntries(Object.entries(times).map(([phase, seconds]) => [`time/${phase}`, seconds]));
}
