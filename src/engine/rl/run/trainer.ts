/**
 * The trainer: runs the steps of a run under run control, logs, checks alarms, stores. It reaches rows, scorer and stores
 * through the lab, so it does not depend on page, worker or file system.
 */

import { PLUGIN_MODES } from "../../../plugins/modes.ts";
import { activeLoops, smallerSetting, weightedLoops } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import { LabError, toLabError } from "../../errors.ts";
import { hasRewards, storeEvaluation } from "../../eval/report.ts";
import { type EngineDevice, OutOfMemory } from "../../gpu/runtime/device.ts";
import { trimPool, trimPoolToSmall } from "../../gpu/runtime/pool.ts";
import { flushBackend } from "../../gpu/runtime/program.ts";
import { gpuFinished } from "../../gpu/runtime/work-budget.ts";
import { tf } from "../../gpu/tf.ts";
import { freeDecodeBuffers } from "../../policy/decode/decode-gpu.ts";
import { type FeatureDiskCache, openFeatureDiskCache } from "../../policy/feature-store.ts";
import { createFeatureCache, type FeatureCache } from "../../policy/features.ts";
import { pictureSettings } from "../../policy/region-marks.ts";
import { type Alarm, appendAlarm } from "../../runs/alarms.ts";
import { pruneRun } from "../../runs/checkpoint/best-checkpoint.ts";
import { writeCheckpoint } from "../../runs/checkpoint/checkpoint.ts";
import { reportPictures } from "../../runs/evaluations/evaluation-scores.ts";
import { readEvaluations } from "../../runs/evaluations/evaluations.ts";
import { appendPhases } from "../../runs/phase-lines.ts";
import type { GroupRecord, LoopId } from "../../runs/rollouts/records.ts";
import { Thumbnails } from "../../runs/rollouts/thumbnails.ts";
import { failedRun } from "../../runs/run-folder.ts";
import { evaluatedRows } from "../../runs/run-rows.ts";
import { StorageFull } from "../../storage/store.ts";
import { aboutLoop, LOOP_IDS } from "../loops/abouts.ts";
import { LOOP_CODE } from "../loops/registry.ts";
import { disposeState, NonFiniteGradient, stateSets } from "../optim/training-state.ts";
import { type EvaluatedLoops, evaluateRows, runReward } from "../step/held-out.ts";
import { drawnGroup, observedStep } from "../step/listeners.ts";
import { totalLoss } from "../step/metrics/step-metrics.ts";
import { evaluationRows } from "../step/sample.ts";
import { runWeights, type Step } from "../step/step.ts";
import { type AlarmWatch, hollowAlarm, hollowGains, raiseAlarm, watchAlarms } from "./alarms.ts";
import type { Phase } from "./events.ts";
import type { Lab, Run } from "./lab.ts";
import {
  DEVICE_METER,
  gpuTimes,
  phaseCosts,
  RunControl,
  restartGpuTimes,
  stepFacts,
  timeMetrics,
  untilStored,
} from "./run-control.ts";
import { adapterCaptioner, type Captioner } from "./start/captioner.ts";
import { checkedRows, countersOf, loraSettings } from "./start/run-facts.ts";

// The held-out evaluation of a step of a run.

/**
 * Evaluates held-out rows with the current weights, or at step 0 with those of the start, stores the result and emits it.
 * @throws LabError("cancelled") when stopped, LabError("held") when a reward is not available
 */
async function evaluateRun({ folder, config, rows, list }: Run, step: Step): Promise<void> {
  const { number, emit } = step;
  const evaluated = evaluatedRows(rows, config, list);
  const total = evaluated.report.length + evaluated.selection.length;
  const weights = number === 0 ? { policy: step.start, partner: step.start } : {};
  const own = { ...step, ...weights, rows: evaluationRows(step.rows, config) };
  const scores = await evaluateRows(own, evaluators(config), evaluated, (done) =>
    emit({ type: "eval-rows", done, total }),
  );
  await step.device.checkAll();
  trimPool();
  const report = await storeEvaluation(folder.store, folder.id, number, scores, { ...config, ...runReward(config) });
  emit({ type: "eval", report, pictures: reportPictures(scores) });
  const earlier = (await readEvaluations(folder.store, folder.id)).filter((own) => own.report.step < number);
  for (const gain of hollowGains({ report, rows: scores }, earlier, weightedLoops(config))) {
    await raiseAlarm(folder, emit, hollowAlarm(gain, number));
  }
}

/** The loops that sample held-out rows: those with a fixed score, and those that train. */
function evaluators(config: LabConfig): EvaluatedLoops {
  const active = activeLoops(config);
  const found = LOOP_IDS.flatMap((id) => {
    const { evaluate } = LOOP_CODE[id];
    const asked = aboutLoop(id).heldOut !== undefined || active.includes(id);
    return evaluate === undefined || !asked ? [] : [[id, evaluate] as const];
  });
  return Object.fromEntries(found);
}

/** Host bytes of frozen features kept between steps, at least those of the last step's pictures. */
const FEATURE_BYTES = 512 * 2 ** 20;

export class Trainer {
  readonly control: RunControl;
  /** The other checkpoint that computes likelihoods; none if absent. */
  readonly captioner: Captioner | undefined;
  readonly #lab: Lab;
  /** With the settings of the next step. */
  #run: Run;
  readonly #features: FeatureCache;
  readonly #pictures: Thumbnails;
  #alarms: AlarmWatch;
  /** Reported, not yet stored. */
  readonly #reported: Alarm[] = [];
  /** Settings of the next attempt after memory ran out. */
  #smaller: Partial<LabConfig> | undefined;
  /** Whether the current step has begun to change weights. */
  #changed = false;
  #step: number;
  #checkpointAsked = false;
  #evaluationAsked = false;
  #startEvaluated = false;
  #lastCheckpoint: number;

  constructor(lab: Lab, run: Run) {
    const { model, device, now, emit } = lab;
    const { folder, config, doneSteps, captioner } = run;
    const pictures = new Thumbnails(folder.store, folder.id);
    this.#pictures = pictures;
    const checked = checkedRows(lab.rows, run.list);
    const rows: Lab["rows"] = async (index) => {
      const row = await checked(index);
      await pictures.take(row);
      return row;
    };
    this.#lab = { ...lab, rows };
    this.#run = run;
    this.captioner = captioner === undefined ? undefined : adapterCaptioner(model, captioner, config);
    this.#step = doneSteps;
    this.#lastCheckpoint = doneSteps;
    this.#alarms = watchAlarms(weightedLoops(config));
    this.#features = createFeatureCache(
      model,
      config.maxTiles,
      FEATURE_BYTES,
      config.featureStorage,
      () => runFeatures(lab, run, (alarm) => this.#tell(alarm)),
      () => device.checkAll(),
      pictureSettings(model.config, config),
    );
    this.control = new RunControl(
      {
        onState: (state, next) => emit({ type: "state", state, step: this.#step, ...(next && { next }) }),
        onPhase: (phase, loop) => this.#tellPhase(phase, this.#step + 1, loop),
      },
      now,
      DEVICE_METER,
    );
  }

  /** Frees its weights and features. */
  dispose(): void {
    this.#features.clear();
    disposeState(this.#run.state);
    if (this.captioner !== undefined) tf.dispose(this.captioner.tensors);
  }

  /** Steps done. */
  get step(): number {
    return this.#step;
  }

  /** The run, with the settings of the next step. */
  get current(): Run {
    return this.#run;
  }

  /** Cached frozen features; owned by the trainer. */
  get features(): FeatureCache {
    return this.#features;
  }

  /** Reports an alarm synchronously; it is stored with the next step or at the end. */
  #tell(alarm: Alarm): void {
    this.#reported.push(alarm);
    this.#lab.emit({ type: "alarm", alarm });
  }

  async #storeTold(): Promise<void> {
    const { store, id } = this.#run.folder;
    await this.#stored(() => this.#pictures.store());
    for (const alarm of this.#reported.splice(0)) await this.#stored(() => appendAlarm(store, id, alarm));
  }

  /** Writes a checkpoint: now while the run is paused, else at the end of the current step. */
  askCheckpoint(): void {
    this.#checkpointAsked = true;
    if (this.#step > 0) this.control.whileHeld(() => this.#checkpoint());
  }

  /** Evaluates held-out rows: now while the run is paused between steps, else after the current step. */
  askEvaluation(): void {
    this.#evaluationAsked = true;
    this.control.whileHeld(() => this.#evaluateDue(), true);
  }

  /**
   * Runs to the last step. Returns "finished" or "stopped"; a stop inside a step drops that step and keeps the rest.
   * @throws errors of a step other than a stop, after run folder and run control are updated. After a non-finite gradient,
   *   intact weights of the last step are checkpointed first; after other errors they are not trusted
   */
  async run(): Promise<"finished" | "stopped"> {
    const { folder, config } = this.#run;
    this.control.play();
    try {
      if (this.#step > 0) this.#alarms = watchAlarms(weightedLoops(config), await folder.readMetrics());
      // Includes work that an earlier attempt left undone at a stop or a lost device.
      await this.#evaluateDue();
      while (this.#step < config.steps) {
        await this.control.beforeStep();
        // A held step has no effect.
        if (await this.#orHeld(() => this.#oneStep(), this.#step + 1)) await this.#evaluateDue();
      }
      if (this.#lastCheckpoint < this.#step) await this.#checkpoint();
      await this.#storeTold();
      await this.#stored(() => folder.update({ state: "finished" }));
      this.control.setState("finished");
      return "finished";
    } catch (thrown) {
      return await this.#end(thrown);
    } finally {
      this.#features.clear();
    }
  }

  /**
   * Ends a run after a stop or an error; folder and run control are updated even if something fails on the way.
   * @throws the error that ended the run, unless it was a stop; an error of storing
   */
  async #end(thrown: unknown): Promise<"stopped"> {
    const { folder } = this.#run;
    const stopped = thrown instanceof LabError && thrown.code === "cancelled";
    const broken = thrown instanceof NonFiniteGradient && !thrown.whole;
    let failure = broken ? new LabError("gpu", `${thrown.message}; ${this.#kept()}`) : thrown;
    try {
      const whole = stopped || (thrown instanceof NonFiniteGradient && thrown.whole);
      if (whole && this.#lastCheckpoint < this.#step) await this.#checkpoint();
      if (stopped) {
        await this.#storeTold();
        await folder.update({ state: "paused" });
        this.control.setState("finished");
        return "stopped";
      }
    } catch (cause) {
      const { code, message } = toLabError(cause, "storage");
      const first = stopped ? "The run was stopped" : toLabError(thrown).message;
      failure = new LabError(code, `${first}, but it could not be stored: ${message}; ${this.#kept()}`, { cause });
    }
    // The session decides whether the run continues; data of a lost device is not stored.
    if ((await this.#lab.device.whyLost()) !== undefined) throw failure;
    const error = await failedRun(folder, failure);
    this.control.setState("failed");
    throw error;
  }

  /** The stored state for a message. */
  #kept(): string {
    return this.#lastCheckpoint === 0
      ? "the run has no checkpoint yet"
      : `the checkpoint of step ${this.#lastCheckpoint} is kept`;
  }

  #tellPhase(phase: Phase, step = this.#step, loop: LoopId | null = null): void {
    this.#lab.emit({ type: "phase", step, loop, phase, programs: DEVICE_METER.counts().programs });
  }

  /**
   * Evaluates held-out rows at the interval, at the end and on request; the start after step 1. A fork evaluates where it
   * starts, unless its parent did so with the same rewards.
   */
  async #evaluateDue(): Promise<void> {
    const { folder, list, rows, config } = this.#run;
    const { evalSteps, steps } = config;
    const asked = this.#evaluationAsked;
    const never = evalSteps === 0 && !asked;
    if (never || (this.#step === 0 && steps > 0)) return;
    if (evaluatedRows(rows, config, list).report.length === 0) return;
    this.#evaluationAsked = false;
    const forked = this.#step === folder.manifest().forkedFrom?.step;
    const due = asked || forked || this.#step % evalSteps === 0 || this.#step === steps;
    if (!due && this.#startEvaluated) return;
    const evaluations = await readEvaluations(folder.store, folder.id);
    const done = new Set(evaluations.map(({ report }) => report.step));
    const rewarded = evaluations.some(({ report, rows }) => report.step === this.#step && hasRewards(rows));
    if (asked || (forked && !rewarded)) done.delete(this.#step);
    for (const step of due ? [0, this.#step] : [0]) if (!done.has(step)) await this.#wholeEvaluation(step);
    this.#startEvaluated = true;
  }

  /** An evaluation, repeated when a reward is not available and the user continues. */
  async #wholeEvaluation(step: number): Promise<void> {
    while (!(await this.#orHeld(() => this.evaluate(step, true), step))) await this.control.beforeStep("eval");
  }

  /** Returns whether the work was done; false if it must be repeated, after a hold or with smaller settings. */
  async #orHeld(work: () => Promise<void>, step: number): Promise<boolean> {
    const { device } = this.#lab;
    this.#changed = false;
    try {
      await this.#takeSmaller(step);
      await work();
      return true;
    } catch (thrown) {
      const cause = await causeOf(thrown, device);
      if (cause instanceof OutOfMemory && !this.#changed) {
        this.#features.clear();
        await dropUndoneWork(device);
        const question = this.#chooseSmaller(cause, step);
        if (question !== undefined) this.#hold(question, step);
        return false;
      }
      const full = cause instanceof StorageFull && !this.#changed;
      if (!(cause instanceof LabError) || !(full || cause.code === "held")) throw cause;
      trimPool();
      this.#hold(cause, step);
      return false;
    }
  }

  #hold(cause: LabError, step: number): void {
    this.control.hold();
    this.#tellHeld(cause, step);
  }

  #tellHeld(cause: LabError, step: number): void {
    const { code, subject } = cause;
    const after = cause instanceof StorageFull ? "; free up space, then continue" : "";
    // A reward that is not available holds a step before its update.
    const message = `${cause.message}${code === "held" ? "; nothing of this step was kept" : after}`;
    const error = subject === undefined ? { code, message } : { code, message, subject };
    this.#lab.emit({ type: "held", step, error });
  }

  /** Writes, and waits for room if the storage is full: the step itself is done. */
  #stored<T>(write: () => Promise<T>, phase: Phase = "log"): Promise<T> {
    return untilStored(write, phase, this.control, (error) => this.#tellHeld(error, this.#step));
  }

  async #oneStep(): Promise<void> {
    const { now } = this.#lab;
    const { folder, config, order } = this.#run;
    const step = this.#step + 1;
    const began = now();
    restartGpuTimes();
    const groups: GroupRecord[] = [];
    const emit: Lab["emit"] = (event) => {
      if (event.type === "group") groups.push(event.group);
      this.#lab.emit(event);
    };
    const takeStep = config.mode === "rl" ? observedStep : PLUGIN_MODES[config.mode];
    const outcome = await this.#features.duringStep(() => takeStep(this.#run, { ...this.at(step), emit }));
    await this.#storeTold();
    // After an error in any submit of the step, its numbers may be stale: fail before anything is stored.
    await this.#lab.device.checkAll();
    await this.control.enter("log", null);
    const kept = trimPoolToSmall();
    this.#step = step;
    const metrics: Record<string, number> = { ...outcome.metrics, loss: totalLoss(outcome.metrics, config) };
    if (config.featureStorage === "f16") metrics["features/rounding"] = this.#features.stepError;
    Object.assign(metrics, stepFacts(kept, order.before(step + 1), this.#run.rows.train.length));
    await this.#stored(() => folder.appendGroups(step, groups));
    const worked = await gpuTimes();
    const { times, counts } = this.control.stepCosts();
    const costs = phaseCosts(times, counts, worked);
    const timed = { ...metrics, ...timeMetrics(times), step_time: now() - began };
    await this.#stored(() => folder.appendStep(step, timed));
    this.control.endStep();
    await this.#stored(() => appendPhases(folder.store, folder.id, { step, phases: costs }));
    emit({ type: "step", step, metrics: timed, phaseTimes: times, costs });
    for (const alarm of this.#alarms.observe(step, timed, outcome.update, groups))
      await this.#stored(() => raiseAlarm(folder, emit, alarm));
    // Last, because a checkpoint without a metrics line would leave a gap in a resumed run.
    const due = config.saveSteps > 0 && step % config.saveSteps === 0;
    if (due || this.#checkpointAsked) await this.#checkpoint();
  }

  /** A step with the current weights. @param number from 1; 0 for the evaluation of the start */
  at(number: number): Step {
    const { model, device, emit } = this.#lab;
    const { state, config } = this.#run;
    return {
      ...this.#lab,
      config,
      number,
      policy: runWeights(model, state.params, state.loraScale, config),
      // Pathwise losses of later passes follow the first update of the average.
      partner: runWeights(model, () => state.ema, state.loraScale, config),
      start: runWeights(model, state.start, state.loraScale, config),
      captioner: this.captioner?.weights,
      features: this.#features,
      phase: async (phase, loop, drawn) => {
        trimPoolToSmall();
        await gpuFinished();
        if (phase === "update" && !this.#changed) {
          // The last moment at which the step can be undone.
          await device.checkAll();
          this.#changed = true;
        }
        for (const group of drawn?.() ?? []) emit({ type: "drawn", group: drawnGroup(number, group) });
        await this.control.enter(phase, loop);
      },
      signal: this.control.signal,
    };
  }

  /**
   * Evaluates held-out rows with the current weights, or at step 0 with those of the start.
   * @param prunes whether older checkpoints are deleted afterwards @throws LabError("cancelled") when stopped, "held" without a reward
   */
  async evaluate(step: number, prunes: boolean): Promise<void> {
    if (this.control.signal.aborted) throw new LabError("cancelled", "The run was stopped");
    this.#tellPhase("eval", step);
    await evaluateRun(this.#run, this.at(step));
    // The checkpoint of this step may be the new best.
    if (prunes) await pruneRun(this.#run.folder, this.#run.config);
  }

  async #checkpoint(): Promise<void> {
    const { model, emit } = this.#lab;
    const { folder, state, config } = this.#run;
    this.#checkpointAsked = false;
    if (folder.store.scratch === true) return;
    this.#tellPhase("checkpoint");
    const checkpoint = {
      ...stateSets(state),
      step: this.#step,
      lora: loraSettings(model, config),
      config,
      trainer: countersOf(state, config),
      baseModel: { name: model.name, hash: folder.manifest().model.hash },
    };
    const bytes = await this.#stored(() => writeCheckpoint(folder.store, folder.id, checkpoint), "checkpoint");
    this.#lastCheckpoint = this.#step;
    await pruneRun(folder, config);
    emit({ type: "checkpoint", step: this.#step, bytes });
  }

  /**
   * Chooses the settings with which a step or evaluation is repeated after memory ran out.
   * @returns the question for the user before it, or nothing if the run may continue by itself
   * @throws LabError("gpu") if no smaller setting is left
   */
  #chooseSmaller(cause: OutOfMemory, step: number): LabError | undefined {
    const { config } = this.#run;
    const smaller = smallerSetting(config);
    if (smaller === null) {
      throw new LabError("gpu", `Step ${step} was undone and no smaller setting is left. ${cause.message}`, { cause });
    }
    this.#smaller = smaller;
    if (config.outOfMemory === "smaller") return undefined;
    const message =
      `The GPU ran out of memory in step ${step}, which was undone; the weights are kept. Continue repeats it with ` +
      `${textOf(smaller)}. With outOfMemory "smaller" a run does this automatically`;
    return new LabError("gpu", message, { subject: "outOfMemory" });
  }

  /** Applies the chosen settings to the run and records them. @param step the step to repeat */
  async #takeSmaller(step: number): Promise<void> {
    const smaller = this.#smaller;
    if (smaller === undefined) return;
    this.#smaller = undefined;
    const { folder } = this.#run;
    const config = { ...this.#run.config, ...smaller };
    this.#run = { ...this.#run, config };
    const entry = { afterStep: this.#step, settings: Object.keys(smaller) };
    await folder.update({ config, smaller: [...(folder.manifest().smaller ?? []), entry] });
    const message = `The GPU ran out of memory in step ${step}, which was undone and is repeated with ${textOf(smaller)}`;
    await raiseAlarm(folder, this.#lab.emit, { id: "out-of-memory", step, severity: "warning", message });
  }
}

function textOf(values: Partial<LabConfig>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(" and ");
}

// A step or evaluation for which the GPU refused memory: its cause, and its buffers.

/** Thrown instead of an uncaptured error when a buffer is created with its contents. */
const NOT_MADE = /createBuffer/;

/**
 * The cause of a failure. The device reports a refused buffer after its creation, and calls that use the buffer fail in
 * other ways.
 * @returns the device's report if it ran out of memory, else what was thrown
 */
async function causeOf(thrown: unknown, device: EngineDevice): Promise<unknown> {
  if (thrown instanceof OutOfMemory || (thrown instanceof LabError && thrown.code === "cancelled")) return thrown;
  if (thrown instanceof RangeError && NOT_MADE.test(thrown.message)) {
    return new OutOfMemory("gpu", `The GPU ran out of memory: ${thrown.message}`);
  }
  return (await device.whyFull()) ?? thrown;
}

/**
 * Frees the buffers of undone work, because refused ones are invalid and may wait in a pool for reuse. Later errors of
 * the same work are dropped.
 */
async function dropUndoneWork(device: EngineDevice): Promise<void> {
  flushBackend();
  freeDecodeBuffers();
  trimPool();
  await device.checkAll().catch((late) => {
    if (!(late instanceof LabError)) throw late;
  });
}

// The disk cache of a run's frozen features.

const GIGABYTE = 1e9;

/** @returns undefined if the cache is off, or if the disk cannot be read, which is reported as a warning */
export async function runFeatures(
  { featureFiles, model, hash, device }: Lab,
  { config, table, doneSteps: step }: Run,
  tell: (alarm: Alarm) => void,
): Promise<FeatureDiskCache | undefined> {
  if (featureFiles === undefined || config.featureDisk === 0) return undefined;
  const warn = (thrown: unknown): void => {
    const message = `Features are not stored on disk: ${toLabError(thrown, "storage").message}`;
    tell({ id: "features-not-kept", step, severity: "warning", message });
  };
  const maxTiles = Math.min(config.maxTiles, model.tiling.maxTiles);
  const tiling = { ...model.tiling, maxTiles, resizeTwice: config.resizeTwice };
  const { vendor, architecture, description } = device.report;
  const origin = {
    model: hash,
    storage: model.storage,
    features: config.featureStorage,
    tiling,
    computedBy: {
      vendor,
      architecture,
      description,
      // Features of other forms differ in the last bits.
      forms: table?.entries.map(({ bucket, form }) => [bucket, form]) ?? [],
    },
  };
  try {
    return await openFeatureDiskCache(featureFiles, origin, config.featureDisk * GIGABYTE, warn);
  } catch (thrown) {
    warn(thrown);
    return undefined;
  }
}
