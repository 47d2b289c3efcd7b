/**
 * AdamW with decoupled decay (1711.05101), torch's order of operations: decay the weight at the current rate, update the
 * moments, step. The step count is an integer and the bias corrections are computed from it in double precision, so that
 * a resumed run continues bit for bit (reference: grpo.md §17, §22).
 */
import { LabError } from "../errors.ts";
import { adamwUpdate } from "../gpu/kernels/optimiser.ts";
import type { tf } from "../gpu/tf.ts";
import type { ParameterSet } from "../model/weights.ts";
import { copySet, disposeSet, member, zerosSet } from "./parameter-sets.ts";

export interface AdamSettings {
  readonly beta1: number;
  readonly beta2: number;
  /** Added after the bias-corrected root. */
  readonly eps: number;
  readonly weightDecay: number;
  /** Tensors without decay; biases and norms when absent. */
  readonly noDecay?: (name: string, rank: number) => boolean;
  /** Factor of the rate for a tensor; 1 when absent. */
  readonly rateFactor?: (name: string) => number;
  /** Tensors that this step leaves alone, moments included: e.g. modules no loss of the step reaches. */
  readonly skip?: (name: string) => boolean;
}

/** Hugging Face's values. */
export const ADAM_DEFAULTS: AdamSettings = { beta1: 0.9, beta2: 0.999, eps: 1e-8, weightDecay: 0 };

/** Biases and norm gains: everything of rank 0 or 1. */
export function isBiasOrNorm(_name: string, rank: number): boolean {
  return rank < 2;
}

/** Moments of a parameter set; owns its tensors. */
export class AdamState {
  /** Updates done. */
  step: number;
  #first: ParameterSet;
  #second: ParameterSet;

  /** Takes over the two sets. */
  constructor(step: number, first: ParameterSet, second: ParameterSet) {
    if (!Number.isInteger(step) || step < 0)
      throw new LabError("bad-input", `The optimiser state has step ${step}, it must be a whole number from 0.`);
    this.step = step;
    this.#first = first;
    this.#second = second;
  }

  /** Zero moments for these parameters. */
  static fresh(params: ParameterSet): AdamState {
    return new AdamState(0, zerosSet(params), zerosSet(params));
  }

  /** First moments; still owned by the state. */
  get m(): ParameterSet {
    return this.#first;
  }

  /** Second moments; still owned by the state. */
  get v(): ParameterSet {
    return this.#second;
  }

  /** The state after one more update: takes over the new sets and ends the old ones. */
  advance(first: ParameterSet, second: ParameterSet): void {
    disposeSet(this.#first);
    disposeSet(this.#second);
    this.#first = first;
    this.#second = second;
    this.step += 1;
  }

  /** An independent state, e.g. for a trial that may be thrown away. */
  copy(): AdamState {
    return new AdamState(this.step, copySet(this.#first), copySet(this.#second));
  }

  dispose(): void {
    disposeSet(this.#first);
    disposeSet(this.#second);
    this.#first = {};
    this.#second = {};
  }
}

/** The numbers of one update, shared by the tensor and the double-precision version. */
export interface AdamCoefficients {
  /** Factor of the weight: 1 - lr·decay. */
  readonly keep: number;
  /** lr / (1 - β1^t) */
  readonly stepSize: number;
  /** 1 / sqrt(1 - β2^t) */
  readonly rootScale: number;
}

/** @param step number of this update, from 1 */
export function adamCoefficients(step: number, lr: number, settings: AdamSettings, decays: boolean): AdamCoefficients {
  return {
    keep: decays ? 1 - lr * settings.weightDecay : 1,
    stepSize: lr / (1 - settings.beta1 ** step),
    rootScale: 1 / Math.sqrt(1 - settings.beta2 ** step),
  };
}

/**
 * One update. Returns a new parameter set that belongs to the caller; `params` and `grads` stay the caller's to dispose;
 * the state advances in place. Tensors without a gradient, or skipped, come back unchanged.
 * @param lr rate of this step
 */
export function applyAdamw(
  params: ParameterSet,
  grads: ParameterSet,
  state: AdamState,
  lr: number,
  settings: AdamSettings,
): ParameterSet {
  const noDecay = settings.noDecay ?? isBiasOrNorm;
  const next: Record<string, tf.Tensor> = {};
  const first: Record<string, tf.Tensor> = {};
  const second: Record<string, tf.Tensor> = {};
  for (const [name, param] of Object.entries(params)) {
    const grad = grads[name];
    const [m, v] = [member(state.m, name), member(state.v, name)];
    if (grad === undefined || settings.skip?.(name) === true) {
      [next[name], first[name], second[name]] = [param.clone(), m.clone(), v.clone()];
      continue;
    }
    const rate = lr * (settings.rateFactor?.(name) ?? 1);
    const { keep, stepSize, rootScale } = adamCoefficients(state.step + 1, rate, settings, !noDecay(name, param.rank));
    const { beta1, beta2, eps } = settings;
    const numbers = { beta1, beta2, eps, keep, stepSize, rootScale };
    [next[name], first[name], second[name]] = adamwUpdate(param, grad, m, v, numbers);
  }
  state.advance(first, second);
  return next;
}

/** The same update of plain numbers in double precision, in place; the oracle of the tensor version. */
export function adamwInDouble(
  values: { param: Float64Array; m: Float64Array; v: Float64Array },
  grad: ArrayLike<number>,
  settings: AdamSettings,
  { keep, stepSize, rootScale }: AdamCoefficients,
): void {
  const { param, m, v } = values;
  for (let i = 0; i < param.length; i++) {
    const g = grad[i] as number;
    m[i] = settings.beta1 * (m[i] as number) + (1 - settings.beta1) * g;
    v[i] = settings.beta2 * (v[i] as number) + (1 - settings.beta2) * g * g;
    const root = Math.sqrt(v[i] as number) * rootScale + settings.eps;
    param[i] = keep * (param[i] as number) - (stepSize * (m[i] as number)) / root;
  }
}
