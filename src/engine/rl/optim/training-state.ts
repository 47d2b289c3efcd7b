/** The state that a step changes: trainable weights, their moving average, moments and counters; and the update. */

import { needsReference, updatesPerStep } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import { badInput, LabError } from "../../errors.ts";
import { FlatLayout, readSet } from "../../gpu/flat/layout.ts";
import { isLanguageBlock } from "../../model/adapter/trainable.ts";
import { uploadTensors } from "../../model/weights/weight-pieces.ts";
import type { ParameterSet } from "../../model/weights/weights.ts";
import type { CheckpointState, TensorSet, TensorSource } from "../../runs/checkpoint/trainer-state.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";
import { perLoop } from "../loops/abouts.ts";
import type { EntropyControlState } from "../objective/entropy-control.ts";
import { GradientSum } from "./gradient-sum.ts";
import { inspectGradients, judgeGradients } from "./monitor.ts";
import {
  type AdamSettings,
  AdamState,
  applyAdamw,
  copySet,
  disposeSet,
  emaDistance,
  member,
  moveAverage,
  rampedDecay,
} from "./optimiser.ts";

// Clipping of the accumulated gradient over all trainable tensors together
// (docs/spec/grpo.md#17-optimiser-schedule-accumulation-clipping).

/** min(1, maxNorm / (norm + 1e-6)): a norm exactly at the limit is scaled by 0.999999. NaN stays NaN. */
export function clipFactor(norm: number, maxNorm: number): number {
  return Math.min(1, maxNorm / (norm + 1e-6));
}

// Sums the gradients of a step's loops, each clipped by its own norm or unchanged, and compares them. One clip of
// the sum would let a large gradient of one loop outweigh the other.

interface LoopNorm {
  readonly loop: LoopId;
  /** Before any clip. */
  readonly norm: number;
  /** Scale of the loop's gradient. */
  readonly factor: number;
}

export interface StepGradients {
  readonly sum: GradientSum;
  /** The loops in the sum; empty for a single unchanged gradient. */
  readonly loops: readonly LoopNorm[];
  /** Sum over the pairs of loops of the scalar product of their gradients, before any clip; 0 for a single gradient. */
  readonly dot: number;
}

/**
 * Sums the loops' gradients into the first. A loop with a non-finite norm is not scaled, so that the sum is not finite
 * either.
 */
export async function joinLoops(
  gradients: ReadonlyMap<LoopId, GradientSum>,
  { clipScope, maxGradNorm }: Pick<LabConfig, "clipScope" | "maxGradNorm">,
): Promise<StepGradients> {
  const [first, ...others] = [...gradients];
  if (first === undefined) throw new RangeError("A step has no loop");
  if (others.length === 0) return { sum: first[1], loops: [], dot: 0 };
  const loops: LoopNorm[] = [];
  for (const [loop, own] of gradients) {
    const { norm } = await inspectGradients(own, () => "all");
    const clips = clipScope === "loop" && maxGradNorm > 0 && Number.isFinite(norm);
    loops.push({ loop, norm, factor: clips ? clipFactor(norm, maxGradNorm) : 1 });
  }
  // Not computed from the norm of the sum: if one loop's norm is large, the other's share is lost in rounding.
  const sums = [...gradients.values()];
  let dot = 0;
  for (const [at, one] of sums.entries()) for (const other of sums.slice(at + 1)) dot += await one.dot(other);
  for (const [at, [, own]] of others.entries()) {
    first[1].merge(own, at === 0 ? (loops[0] as LoopNorm).factor : 1, (loops[at + 1] as LoopNorm).factor);
    own.dispose();
  }
  return { sum: first[1], loops, dot };
}

/**
 * Metrics of the loops' gradients, and the norm of their sum before any clip.
 * @param norm norm of the sum after the loops' clips
 */
export function gradientMetrics(
  { loops, dot }: Pick<StepGradients, "loops" | "dot">,
  norm: number,
): { readonly norm: number; readonly metrics: Readonly<Record<string, number>> } {
  const own = Object.fromEntries(
    loops.flatMap(({ loop, norm: before, factor }): [string, number][] => [
      [`loop${loop}/grad_norm`, before],
      [`loop${loop}/clip_factor`, factor],
    ]),
  );
  // If nothing was scaled, the norm of the sum is unchanged.
  const untouched = loops.every(({ factor }) => factor === 1);
  const squares = loops.reduce((sum, { norm: before }) => sum + before ** 2, 0);
  // Upper bound of the product, so that rounding cannot give a cosine above 1.
  const most = loops.reduce(
    (sum, one, at) => loops.slice(at + 1).reduce((all, { norm: n }) => all + one.norm * n, sum),
    0,
  );
  const cosine = most > 0 ? Math.min(1, Math.max(-1, dot / most)) : 0;
  const whole = Math.sqrt(Math.max(0, squares + 2 * cosine * most));
  // The cosine is defined for two gradients only.
  return { norm: untouched ? norm : whole, metrics: loops.length === 2 ? { ...own, grad_cosine: cosine } : own };
}

/** Owns every tensor in it. */
export interface TrainingState {
  /** θ. */
  params: ParameterSet;
  /** φ, the partner. */
  ema: ParameterSet;
  /** Weights at the start: the reference of the KL, unless the reference is synchronised or is the partner. */
  readonly start: ParameterSet;
  /** The synchronised reference; null before the first synchronisation. */
  reference: ParameterSet | null;
  /** The loops' entropy bonuses, if they follow a target. */
  entropy: Readonly<Record<LoopId, EntropyControlState>>;
  readonly adam: AdamState;
  /** Trainable tensors in a fixed order. */
  readonly names: readonly string[];
  readonly blockOf: (name: string) => string;
  readonly loraScale: number;
  /** Optimiser steps taken; skipped ones do not count. */
  optimiserSteps: number;
  skippedSteps: number;
}

/** An empty sum for the gradients of a step. */
export function gradientSum(state: TrainingState): GradientSum {
  return new GradientSum(state.adam.layout);
}

/** The entropy bonuses of a run's first update. */
export function freshEntropy({ entropyCoef }: LabConfig): TrainingState["entropy"] {
  const state = { coefficient: entropyCoef, lastEntropy: null };
  return perLoop(() => state);
}

/** Takes ownership of `params`; partner and reference start as copies. */
export function freshState(
  params: ParameterSet,
  blockOf: (name: string) => string,
  loraScale: number,
  entropy: TrainingState["entropy"] = perLoop(() => ({ coefficient: 0, lastEntropy: null })),
): TrainingState {
  return {
    params,
    ema: copySet(params),
    start: copySet(params),
    reference: null,
    entropy,
    adam: AdamState.fresh(params),
    names: Object.keys(params),
    blockOf,
    loraScale,
    optimiserSteps: 0,
    skippedSteps: 0,
  };
}

export function disposeState(state: TrainingState): void {
  disposeSet(state.params);
  disposeSet(state.ema);
  disposeSet(state.start);
  if (state.reference !== null) disposeSet(state.reference);
  state.adam.dispose();
}

/** Stops the run at a non-finite gradient. */
export class NonFiniteGradient extends LabError {
  /** Whether weights, moments and average are those before the step. */
  readonly whole: boolean;

  /** @param where names of the tensors with non-finite gradients */
  constructor(where: string, whole: boolean) {
    const left = whole
      ? "the weights before this step are kept"
      : "an earlier pass of this step has changed the weights, so they are not stored";
    super("gpu", `A gradient is not finite (${where}); ${left}`);
    this.whole = whole;
  }
}

export interface UpdateReport {
  /** False when a gradient was not finite: nothing was changed. */
  readonly stepped: boolean;
  readonly metrics: Readonly<Record<string, number>>;
  /** Names of tensors with non-finite gradients. */
  readonly nonFinite: readonly string[];
  /** Factor of the summed gradient from the clip of the sum. */
  readonly clip: number;
}

/**
 * Clip by global norm unless the loops were clipped one by one, AdamW, schedule, moving average, reference. Consumes
 * `gradients`.
 * @param beforeEma called between update and moving average
 * @param whole whether no earlier pass of the step has changed the state
 * @throws NonFiniteGradient when a gradient is not finite and `haltOnNan` is set; the state is unchanged
 */
export async function updateState(
  state: TrainingState,
  gradients: StepGradients,
  config: LabConfig,
  beforeEma: () => Promise<void>,
  whole = true,
): Promise<UpdateReport> {
  try {
    return await update(state, gradients, config, beforeEma, whole);
  } finally {
    gradients.sum.dispose();
  }
}

async function update(
  state: TrainingState,
  { sum: gradients, loops, dot }: StepGradients,
  config: LabConfig,
  beforeEma: () => Promise<void>,
  whole: boolean,
): Promise<UpdateReport> {
  const report = await inspectGradients(gradients, state.blockOf);
  const { norm, metrics: loopMetrics } = gradientMetrics({ loops, dot }, report.norm);
  const blocks = Object.fromEntries(Object.entries(report.blocks).map(([block, norm]) => [`grad_norm/${block}`, norm]));
  const rate = learningRate(config.learningRate, state.optimiserSteps, scheduleOf(config));
  const metrics: Record<string, number> = { grad_norm: norm, learning_rate: rate, ...blocks, ...loopMetrics };
  const verdict = judgeGradients(report, { haltOnNonFinite: config.haltOnNan });
  if (verdict !== "step") {
    if (verdict === "halt") throw new NonFiniteGradient(report.nonFiniteTensors.slice(0, 3).join(", "), whole);
    state.skippedSteps++;
    return {
      stepped: false,
      metrics: { ...metrics, skipped_steps: state.skippedSteps },
      nonFinite: report.nonFiniteTensors,
      clip: 1,
    };
  }
  const clipped = loops.some((loop) => loop.factor < 1);
  const apart = loops.length > 0 && config.clipScope === "loop";
  const factor = config.maxGradNorm === 0 || apart ? 1 : clipFactor(report.norm, config.maxGradNorm);
  const params = applyAdamw(state.params, gradients, state.adam, rate, adamOf(config, state.blockOf), factor);
  gradients.dispose();
  disposeSet(state.params);
  state.params = params;
  state.optimiserSteps++;

  await beforeEma();
  const decay = config.emaRamp ? rampedDecay(config.emaDecay, state.optimiserSteps) : config.emaDecay;
  const { next, distance } = moveAverage(state.ema, state.params, decay, state.adam.layout);
  disposeSet(state.ema);
  state.ema = next;
  synchronise(state, config);
  return {
    stepped: true,
    metrics: {
      ...metrics,
      grad_norm_clipped: Number(factor < 1 || clipped),
      skipped_steps: state.skippedSteps,
      "ema/decay": decay,
      "ema/distance": await emaDistance(state.ema, state.params, distance),
    },
    nonFinite: [],
    clip: factor,
  };
}

/** Mixes the policy into the reference when it is due (TR-DPO, 2404.09656). */
function synchronise(state: TrainingState, config: LabConfig): void {
  const { syncRefModel, refModelMixupAlpha, refModelSyncSteps } = config;
  const wanted = syncRefModel && config.reference === "start" && needsReference(config);
  if (!wanted || state.optimiserSteps % refModelSyncSteps !== 0) return;
  const before = state.reference;
  const mixed = moveAverage(before ?? state.start, state.params, 1 - refModelMixupAlpha, state.adam.layout);
  mixed.distance?.dispose();
  if (before !== null) disposeSet(before);
  state.reference = mixed.next;
}

export function adamOf(config: LabConfig, blockOf: (name: string) => string): AdamSettings {
  return {
    beta1: config.adamBeta1,
    beta2: config.adamBeta2,
    eps: config.adamEpsilon,
    weightDecay: config.weightDecay,
    rateFactor: (name) => {
      const block = blockOf(name);
      if (!isLanguageBlock(block)) return config.maskRateFactor;
      return block === "projector" ? config.projectorRateFactor : 1;
    },
  };
}

/** Maximum elements that are read back together, if no tensor is larger. */
const READ_ELEMENTS = 2 ** 22;

/** The state as a checkpoint's sets. Tensors are read back as they are asked for, so the state must not change meanwhile. */
export function stateSets(
  state: TrainingState,
): Pick<CheckpointState, "params" | "ema" | "reference" | "moments" | "optimiserStep"> {
  const { params, ema, reference, adam } = state;
  const newest: Batch = { names: [], values: new Map() };
  const set = (of: ParameterSet): TensorSet =>
    readBack(newest, of, (names) => Object.fromEntries(names.map((name) => [name, member(of, name).clone()])));
  const moments = (which: "first" | "second"): TensorSet =>
    readBack(newest, params, (names) => adam.moments(which, names));
  return {
    reference: reference === null ? null : set(reference),
    params: set(params),
    ema: set(ema),
    moments: { m: moments("first"), v: moments("second") },
    optimiserStep: adam.step,
  };
}

/** Tensors that were read back together. */
interface Batch {
  names: readonly string[];
  values: ReadonlyMap<string, Float32Array>;
}

/**
 * A set that is read back in batches of neighbours by name, the order of a file.
 * @param newest the only batch in host memory, replaced when a tensor of another one is read
 * @param shapes tensors with names and shapes of the set
 * @param tensorsOf tensors by their names, which are disposed of
 */
function readBack(
  newest: Batch,
  shapes: ParameterSet,
  tensorsOf: (names: readonly string[]) => ParameterSet,
): TensorSet {
  const batches: string[][] = [];
  let room = 0;
  for (const name of Object.keys(shapes).sort()) {
    const { size } = member(shapes, name);
    if (size > room) {
      batches.push([]);
      room = READ_ELEMENTS;
    }
    batches.at(-1)?.push(name);
    room -= size;
  }
  const read = async (name: string, names: readonly string[]): Promise<Float32Array<ArrayBuffer>> => {
    if (newest.names !== names) {
      newest.values = new Map();
      const tensors = tensorsOf(names);
      newest.values = await readSet(FlatLayout.of(tensors), tensors).finally(() => disposeSet(tensors));
      newest.names = names;
    }
    return newest.values.get(name) as Float32Array<ArrayBuffer>;
  };
  const batchOf = new Map(batches.flatMap((batch) => batch.map((name) => [name, batch] as const)));
  return new Map(
    Object.entries(shapes).map(([name, { shape }]): [string, TensorSource] => [
      name,
      { shape, read: () => read(name, batchOf.get(name) as readonly string[]) },
    ]),
  );
}

/**
 * The state of a checkpoint with its start. Takes ownership of `start`, and disposes of it after an error. Tensors are read
 * and uploaded one at a time.
 * @throws LabError("bad-input") when the checkpoint's tensors do not match the trainable set; errors of reading them
 */
export async function restoreState(
  start: ParameterSet,
  blockOf: (name: string) => string,
  loraScale: number,
  checkpoint: CheckpointState,
  counters: Pick<TrainingState, "optimiserSteps" | "skippedSteps" | "entropy">,
): Promise<TrainingState> {
  const names = Object.keys(start);
  const made: ParameterSet[] = [start];
  const load = async (set: TensorSet): Promise<ParameterSet> => {
    const own = names.map((name) => [name, set.get(name) as TensorSource] as const);
    const loaded = Object.fromEntries(await uploadTensors(own));
    made.push(loaded);
    return loaded;
  };
  const check = (set: TensorSet | null, what: string): void => {
    for (const [name, tensor] of Object.entries(start)) {
      const stored = set?.get(name);
      if (stored === undefined || String(stored.shape) !== String(tensor.shape)) {
        throw badInput(`The checkpoint's ${what} do not fit this model at "${name}"; nothing was changed`, name);
      }
    }
  };
  const { params, ema, moments, reference } = checkpoint;
  try {
    // Check all sets before any tensor is made.
    check(params, "weights");
    check(ema, "averages");
    check(moments.m, "moments");
    check(moments.v, "moments");
    if (reference) check(reference, "reference");
    const adam = new AdamState(checkpoint.optimiserStep, await load(moments.m), await load(moments.v));
    // The state owns them from here on.
    made.splice(1);
    try {
      return {
        params: await load(params),
        ema: await load(ema as TensorSet),
        start,
        reference: reference ? await load(reference) : null,
        adam,
        names,
        blockOf,
        loraScale,
        ...counters,
      };
    } catch (thrown) {
      adam.dispose();
      throw thrown;
    }
  } catch (thrown) {
    for (const set of made) disposeSet(set);
    throw thrown;
  }
}

// Learning-rate schedules; step 0 is the first optimiser step
// (docs/spec/grpo.md#17-optimiser-schedule-accumulation-clipping).

export type ScheduleSettings =
  | { readonly kind: "constant" }
  | {
      /** Hugging Face's rule: factor i / warmup, then half a cosine; with a warm-up the first step has rate 0. */
      readonly kind: "cosine";
      readonly warmupSteps: number;
      readonly totalSteps: number;
      /** Share of the base rate at which the cosine ends. */
      readonly floor: number;
      /** 0.5 is one descent. */
      readonly cycles: number;
    }
  | {
      /** torch's LinearLR from `startFactor`, then cosine annealing to `floor`. */
      readonly kind: "linear-then-cosine";
      readonly warmupSteps: number;
      readonly totalSteps: number;
      readonly startFactor: number;
      /** Share of the base rate at which the cosine ends. */
      readonly floor: number;
    };

/**
 * Rate of optimiser step `step` (from 0). Skipped steps do not count.
 * @throws LabError("bad-config") for a step that is not a whole number from 0
 */
export function learningRate(base: number, step: number, settings: ScheduleSettings): number {
  if (!Number.isInteger(step) || step < 0)
    throw new LabError("bad-config", `The schedule has no step ${step}; steps are whole numbers of at least 0`);
  return base * rateFactor(step, settings);
}

function rateFactor(step: number, settings: ScheduleSettings): number {
  if (settings.kind === "constant") return 1;
  const { warmupSteps, totalSteps } = settings;
  if (settings.kind === "linear-then-cosine") {
    if (step < warmupSteps) return settings.startFactor + (1 - settings.startFactor) * (step / warmupSteps);
    const span = Math.max(1, totalSteps - warmupSteps);
    return lifted(0.5 * (1 + Math.cos((Math.PI * (step - warmupSteps)) / span)), settings.floor);
  }
  if (step < warmupSteps) return step / Math.max(1, warmupSteps);
  const progress = (step - warmupSteps) / Math.max(1, totalSteps - warmupSteps);
  const cosine = 0.5 * (1 + Math.cos(Math.PI * settings.cycles * 2 * progress));
  return Math.max(0, lifted(cosine, settings.floor));
}

/** A factor of 0 … 1 in floor … 1. */
function lifted(factor: number, floor: number): number {
  return factor * (1 - floor) + floor;
}

/**
 * Schedule steps per step of the run; a supervised step has one update, whatever the number of passes over rollouts.
 */
function scheduleSteps(config: LabConfig): number {
  return config.mode !== "rl" ? 1 : updatesPerStep(config);
}

export function scheduleOf(config: LabConfig): ScheduleSettings {
  const { warmupSteps, minLrRate: floor } = config;
  const totalSteps = config.steps * scheduleSteps(config);
  if (config.lrSchedulerType === "constant") return { kind: "constant" };
  if (config.lrSchedulerType === "linear-then-cosine") {
    return { kind: "linear-then-cosine", warmupSteps, totalSteps, startFactor: 1 / Math.max(1, warmupSteps), floor };
  }
  return { kind: "cosine", warmupSteps, totalSteps, floor, cycles: 0.5 };
}
