/**
 * AdamW with decoupled decay (1711.05101), torch's order of operations: decay the weight at the current rate, update the
 * moments, step. The step count is an integer and the bias corrections are computed from it in double precision, so that
 * a resumed run continues bit for bit (docs/spec/grpo.md#17-optimiser-schedule-accumulation-clipping,
 * docs/spec/grpo.md#22-facts-about-tfjs-that-touch-this-code).
 */
import { badInput, LabError } from "../../errors.ts";
import { FlatLayout, type Segment } from "../../gpu/flat/layout.ts";
import { type Flats, gather, scatter } from "../../gpu/flat/moves.ts";
import { adamwPass } from "../../gpu/flat/passes.ts";
import type { AdamwNumbers } from "../../gpu/kernels/optimiser.ts";
import { tf } from "../../gpu/tf.ts";
import type { ParameterSet } from "../../model/weights/weights.ts";
import { GradientSum } from "./gradient-sum.ts";
import { disposeSet, member, zerosSet } from "./parameter-sets.ts";

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

  /** Copies of the first or second moments by name; owned by the caller. */
  moments(which: "first" | "second"): ParameterSet {
    return scatter(this.layout, this.held()[which], true);
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
