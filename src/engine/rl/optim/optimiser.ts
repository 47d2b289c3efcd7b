/**
 * AdamW with decoupled decay (1711.05101), torch's order of operations: decay the weight at the current rate, update the
 * moments, step. The step count is an integer and the bias corrections are computed from it in double precision, so that
 * a resumed run continues bit for bit (docs/spec/grpo.md#17-optimiser-schedule-accumulation-clipping,
 * docs/spec/grpo.md#22-facts-about-tfjs-that-touch-this-code).
 */
import { badInput, LabError } from "../../errors.ts";
import { FlatLayout, type Flats, gather, type Segment, scatter } from "../../gpu/flat/layout.ts";
import { adamwPass, movePass } from "../../gpu/flat/passes.ts";
import type { AdamwNumbers } from "../../gpu/kernels/optimiser.ts";
import { summarise } from "../../gpu/kernels/summary.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { ParameterSet } from "../../model/weights/weights.ts";
import { GradientSum } from "./gradient-sum.ts";

// Whole sets of trainable tensors. Ownership rule of this folder: a function never disposes its arguments; a set that
// it returns is new and belongs to the caller, who frees the old one with `disposeSet`.

/** A new set with `change` applied to every tensor; `change` runs in its own tidy. */
export function mapSet(set: ParameterSet, change: (tensor: Tensor, name: string) => Tensor): ParameterSet {
  const result: Record<string, Tensor> = {};
  for (const [name, tensor] of Object.entries(set)) result[name] = tf.tidy(() => change(tensor, name));
  return result;
}

/** The gradients of a tape by name; it returns none for a tensor that the loss does not reach. */
export function reachedGradients(
  names: readonly string[],
  grads: readonly (Tensor | null | undefined)[],
): Record<string, Tensor> {
  return Object.fromEntries(names.flatMap((name, at) => (grads[at] == null ? [] : [[name, grads[at]]])));
}

/** An independent copy. tfjs tensors are immutable, so nothing is moved on the device. */
export function copySet(set: ParameterSet): ParameterSet {
  return mapSet(set, (tensor) => tensor.clone());
}

/** Zeros of the same shapes. */
function zerosSet(set: ParameterSet): ParameterSet {
  return mapSet(set, (tensor) => tf.zerosLike(tensor));
}

/** Disposes every tensor of a set. */
export function disposeSet(set: ParameterSet): void {
  tf.dispose(Object.values(set));
}

/** The tensor of that name. @throws LabError("internal") when the sets do not belong together */
export function member(set: ParameterSet, name: string): Tensor {
  const tensor = set[name];
  if (tensor === undefined)
    throw new LabError("internal", `The parameter set has no tensor "${name}"`, { subject: name });
  return tensor;
}

export interface AdamSettings extends Pick<AdamwNumbers, "beta1" | "beta2" | "eps"> {
  readonly weightDecay: number;
  /** Tensors without decay; biases and norms when absent. */
  readonly noDecay?: (name: string, rank: number) => boolean;
  /** Factor of the rate for a tensor; 1 when absent. */
  readonly rateFactor?: (name: string) => number;
}

/** Hugging Face's values. */
export const ADAM_DEFAULTS: AdamSettings = { beta1: 0.9, beta2: 0.999, eps: 1e-8, weightDecay: 0 };

/** Biases and norm gains: everything of rank 0 or 1. */
function isBiasOrNorm(_name: string, rank: number): boolean {
  return rank < 2;
}

/** Moments of a parameter set, in arenas; owns its tensors. */
export class AdamState {
  /** Updates done. */
  step: number;
  /** Layout of the moments; owned by the state. */
  readonly layout: FlatLayout;
  #first: Flats;
  #second: Flats;

  /** Takes ownership of the two sets. */
  constructor(step: number, first: ParameterSet, second: ParameterSet) {
    if (!Number.isInteger(step) || step < 0)
      throw badInput(`The optimiser state has step ${step}, it must be a whole number of at least 0`);
    this.step = step;
    this.layout = FlatLayout.of(first);
    const flat = (set: ParameterSet): Flats => {
      const flats = gather(this.layout, set, true).map((tensor) => tf.keep(tensor));
      disposeSet(set);
      return flats;
    };
    [this.#first, this.#second] = [flat(first), flat(second)];
  }

  /** Zero moments for these parameters. */
  static fresh(params: ParameterSet): AdamState {
    return new AdamState(0, zerosSet(params), zerosSet(params));
  }

  /** Copies of the first or second moments of these tensors, by default of all; owned by the caller. */
  moments(which: "first" | "second", names?: readonly string[]): ParameterSet {
    const wanted = names && new Set(names);
    return scatter(this.layout, this.held()[which], true, (name) => wanted?.has(name) ?? true);
  }

  /** Every tensor of the state. */
  held(): { readonly first: Flats; readonly second: Flats; readonly tables: Flats } {
    return { first: this.#first, second: this.#second, tables: this.layout.tables };
  }

  /** The state after one more update; frees what the new moments replace. */
  advance(first: Flats, second: Flats): void {
    for (const flat of [...first, ...second]) tf.keep(flat);
    tf.dispose([...this.#first, ...this.#second].filter((flat) => !first.includes(flat) && !second.includes(flat)));
    [this.#first, this.#second] = [first, second];
    this.step += 1;
  }

  dispose(): void {
    tf.dispose([...this.#first, ...this.#second]);
    [this.#first, this.#second] = [[], []];
    this.layout.dispose();
  }
}

/** The numbers of one update. */
export type AdamCoefficients = Pick<AdamwNumbers, "keep" | "stepSize" | "rootScale">;

/** @param step number of this update, from 1 */
export function adamCoefficients(step: number, lr: number, settings: AdamSettings, decays: boolean): AdamCoefficients {
  return {
    keep: decays ? 1 - lr * settings.weightDecay : 1,
    stepSize: lr / (1 - settings.beta1 ** step),
    rootScale: 1 / Math.sqrt(1 - settings.beta2 ** step),
  };
}

/**
 * One update. Returns a new parameter set owned by the caller, who also keeps `params` and `grads`; the state advances in
 * place. Tensors that have no gradient are returned unchanged.
 * @param lr learning rate of this step
 * @param factor multiplier of every gradient, from clipping
 */
export function applyAdamw(
  params: ParameterSet,
  grads: ParameterSet | GradientSum,
  state: AdamState,
  lr: number,
  settings: AdamSettings,
  factor = 1,
): ParameterSet {
  const { layout } = state;
  const noDecay = settings.noDecay ?? isBiasOrNorm;
  const given = grads instanceof GradientSum ? grads : undefined;
  for (const name of Object.keys(params)) {
    if (layout.segment(name) === undefined) throw new LabError("internal", `The optimiser has no moments of "${name}"`);
  }
  for (const { segments } of layout.arenas) for (const { name } of segments) member(params, name);
  const numbersOf = ({ name, shape }: Segment): AdamCoefficients | undefined => {
    if (!(given?.has(name) ?? (grads as ParameterSet)[name] !== undefined)) return undefined;
    const rate = lr * (settings.rateFactor?.(name) ?? 1);
    return adamCoefficients(state.step + 1, rate, settings, !noDecay(name, shape.length));
  };
  const gathered = given?.flats === undefined ? gather(layout, given === undefined ? (grads as ParameterSet) : {}) : [];
  const before = gather(layout, params);
  const { rootScale } = adamCoefficients(state.step + 1, 0, settings, false);
  const { beta1, beta2, eps } = settings;
  const flats = { ...state.held(), params: before, grads: given?.flats ?? gathered };
  const after = adamwPass(layout, flats, { beta1, beta2, eps, rootScale }, factor, numbersOf);
  const next = scatter(layout, after.params);
  state.advance(after.first, after.second);
  tf.dispose([...gathered, ...before, ...after.params]);
  return next;
}

// Moving average of the trainable weights: the partner of the two loops
// (docs/spec/grpo.md#16-moving-average-ema-model).

/**
 * ema + (1 - decay)·(params - ema), after every optimiser step. In this form float32 still moves at decay 0.999. The new
 * set is owned by the caller, who also keeps both given sets; `distance` is the input of `emaDistance` if it is free.
 * @param layout layout of both sets, if the caller has one
 */
export function moveAverage(
  ema: ParameterSet,
  params: ParameterSet,
  decay: number,
  layout?: FlatLayout,
): { readonly next: ParameterSet; readonly distance: Tensor | undefined } {
  for (const name of Object.keys(ema)) member(params, name);
  if (Object.keys(ema).length === 0) return { next: {}, distance: undefined };
  const places = layout ?? FlatLayout.of(ema);
  const [averages, goals] = [gather(places, ema), gather(places, params)];
  const { next, left } = movePass(places, averages, goals, 1 - decay);
  const set = scatter(places, next);
  tf.dispose([...averages, ...goals, ...next]);
  if (layout === undefined) places.dispose();
  return { next: set, distance: left };
}

/**
 * min(decay, (1 + t) / (10 + t)): lets the average follow the weights in a short run.
 * @param update number of this update, from 1
 */
export function rampedDecay(decay: number, update: number): number {
  return Math.min(decay, (1 + update) / (10 + update));
}

/** Norm of params - ema over all tensors; one read-back. @param known from `moveAverage`, consumed */
export async function emaDistance(ema: ParameterSet, params: ParameterSet, known?: Tensor): Promise<number> {
  const names = Object.keys(ema);
  if (names.length === 0) return 0;
  const summary =
    known ??
    summarise(
      names.map((name) => member(params, name)),
      names.map((name) => ema[name] as Tensor),
    );
  const numbers = await summary.data();
  summary.dispose();
  return Math.sqrt(names.reduce((sum, _, k) => sum + (numbers[3 * k] as number), 0));
}
