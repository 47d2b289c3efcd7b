/**
 * AdamW with decoupled decay (1711.05101), torch's order of operations: decay the weight at the current rate, update the
 * moments, step. The step count is an integer and the bias corrections are computed from it in double precision, so that
 * a resumed run continues bit for bit (docs/spec/grpo.md#17-optimiser-schedule-accumulation-clipping,
 * docs/spec/grpo.md#22-facts-about-tfjs-that-touch-this-code).
 */
import { badInput, LabError } from "../../errors.ts";
import { FlatLayout } from "../../gpu/flat/layout.ts";
import { type Flats, gather, scatter } from "../../gpu/flat/moves.ts";
import { adamwPass } from "../../gpu/flat/passes.ts";
import { type AdamwNumbers, adamwUpdate } from "../../gpu/kernels/optimiser.ts";
import { customKernels } from "../../gpu/runtime/custom-kernels.ts";
import { suits } from "../../gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { ParameterSet } from "../../model/weights/weights.ts";
import { scaleGradients } from "./clip.ts";
import { GradientSum } from "./gradient-sum.ts";
import { disposeSet, keepSet, member, zerosSet } from "./parameter-sets.ts";

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
export function isBiasOrNorm(_name: string, rank: number): boolean {
  return rank < 2;
}

/** Moments of a parameter set; owns its tensors, which are in arenas after the first pass of custom kernels. */
export class AdamState {
  /** Updates done. */
  step: number;
  /** Layout of the moments in arenas; owned by the state. */
  readonly layout: FlatLayout;
  #sets: { m: ParameterSet; v: ParameterSet } | undefined;
  #flats: { m: Tensor[]; v: Tensor[] } | undefined;

  /** Takes ownership of the two sets. */
  constructor(step: number, first: ParameterSet, second: ParameterSet) {
    if (!Number.isInteger(step) || step < 0)
      throw badInput(`The optimiser state has step ${step}, it must be a whole number of at least 0`);
    this.step = step;
    this.layout = FlatLayout.of(first);
    this.#sets = { m: first, v: second };
  }

  /** Zero moments for these parameters. */
  static fresh(params: ParameterSet): AdamState {
    return new AdamState(0, zerosSet(params), zerosSet(params));
  }

  /** First moments; still owned by the state, until its next update. */
  get m(): ParameterSet {
    return this.#asSets().m;
  }

  /** Second moments; still owned by the state, until its next update. */
  get v(): ParameterSet {
    return this.#asSets().v;
  }

  /** Every tensor of the state, in either layout. */
  held(): { readonly first: Flats; readonly second: Flats; readonly tables: Flats } {
    return {
      first: this.#flats?.m ?? Object.values(this.#sets?.m ?? {}),
      second: this.#flats?.v ?? Object.values(this.#sets?.v ?? {}),
      tables: this.layout.tables,
    };
  }

  #asSets(): { m: ParameterSet; v: ParameterSet } {
    if (this.#sets === undefined) {
      const flats = this.#flats ?? { m: [], v: [] };
      const set = (which: Tensor[]): ParameterSet => keepSet(scatter(this.layout, which, true));
      this.#sets = { m: set(flats.m), v: set(flats.v) };
      tf.dispose([...flats.m, ...flats.v]);
      this.#flats = undefined;
    }
    return this.#sets;
  }

  /** The moments in the arenas of `layout`, for changes in place; owned by the state. */
  flats(): { readonly m: Flats; readonly v: Flats } {
    if (this.#flats === undefined) {
      const { m, v } = this.#asSets();
      const flat = (set: ParameterSet): Tensor[] => gather(this.layout, set, true).map((tensor) => tf.keep(tensor));
      this.#flats = { m: flat(m), v: flat(v) };
      disposeSet(m);
      disposeSet(v);
      this.#sets = undefined;
    }
    return this.#flats;
  }

  /** The state after one more update: takes ownership of the new sets and disposes the old ones. */
  advance(first: ParameterSet, second: ParameterSet): void {
    this.#end();
    this.#sets = { m: first, v: second };
    this.step += 1;
  }

  dispose(): void {
    this.#end();
    this.#sets = { m: {}, v: {} };
    this.layout.dispose();
  }

  #end(): void {
    for (const set of Object.values(this.#sets ?? {})) disposeSet(set);
    for (const flats of Object.values(this.#flats ?? {})) tf.dispose(flats);
    this.#sets = undefined;
    this.#flats = undefined;
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
  const noDecay = settings.noDecay ?? isBiasOrNorm;
  const given = grads instanceof GradientSum ? grads : undefined;
  const has = (name: string): boolean => given?.has(name) ?? (grads as ParameterSet)[name] !== undefined;
  const numbersOf = (name: string, rank: number): AdamCoefficients | undefined => {
    if (!has(name)) return undefined;
    const rate = lr * (settings.rateFactor?.(name) ?? 1);
    return adamCoefficients(state.step + 1, rate, settings, !noDecay(name, rank));
  };
  const ready =
    customKernels() && suits(...Object.values(params)) && (given === undefined || given.flats !== undefined);
  if (ready) return applyFlat(params, grads, state, settings, factor, numbersOf);
  const set = given === undefined ? (grads as ParameterSet) : given.tensors();
  const next = applyStock(params, set, state, settings, factor, numbersOf);
  if (given !== undefined) disposeSet(set);
  return next;
}

type NumbersOf = (name: string, rank: number) => AdamCoefficients | undefined;

function applyFlat(
  params: ParameterSet,
  grads: ParameterSet | GradientSum,
  state: AdamState,
  settings: AdamSettings,
  factor: number,
  numbersOf: NumbersOf,
): ParameterSet {
  const { layout } = state;
  for (const name of Object.keys(params)) {
    if (layout.segment(name) === undefined) throw new LabError("internal", `The optimiser has no moments of "${name}"`);
  }
  for (const { segments } of layout.arenas) for (const { name } of segments) member(params, name);
  const given = grads instanceof GradientSum ? grads.flats : undefined;
  const own = given === undefined ? gather(layout, grads as ParameterSet) : [];
  const before = gather(layout, params);
  const { m, v } = state.flats();
  const { rootScale } = adamCoefficients(state.step + 1, 0, settings, false);
  const { beta1, beta2, eps } = settings;
  const flats = { params: before, grads: given ?? own, first: m, second: v };
  const after = adamwPass(layout, flats, { beta1, beta2, eps, rootScale }, factor, ({ name, shape }) =>
    numbersOf(name, shape.length),
  );
  const next = scatter(layout, after);
  tf.dispose([...own, ...before, ...after]);
  state.step += 1;
  return next;
}

/** Tensor by tensor in stock ops. */
function applyStock(
  params: ParameterSet,
  grads: ParameterSet,
  state: AdamState,
  { beta1, beta2, eps }: AdamSettings,
  factor: number,
  numbersOf: NumbersOf,
): ParameterSet {
  const next: Record<string, Tensor> = {};
  const first: Record<string, Tensor> = {};
  const second: Record<string, Tensor> = {};
  const scaled = factor === 1 ? grads : scaleGradients(grads, factor);
  for (const [name, param] of Object.entries(params)) {
    const [m, v] = [member(state.m, name), member(state.v, name)];
    const numbers = numbersOf(name, param.rank);
    [next[name], first[name], second[name]] =
      numbers === undefined
        ? [param.clone(), m.clone(), v.clone()]
        : adamwUpdate(param, member(scaled, name), m, v, { beta1, beta2, eps, ...numbers });
  }
  if (scaled !== grads) disposeSet(scaled);
  state.advance(first, second);
  return next;
}
