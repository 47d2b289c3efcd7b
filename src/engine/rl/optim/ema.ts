/**
 * Moving average of the trainable weights: the partner of the two loops
 * (docs/spec/grpo.md#16-moving-average-ema-model).
 */

import { FlatLayout } from "../../gpu/flat/layout.ts";
import { gather, scatter } from "../../gpu/flat/moves.ts";
import { movePass } from "../../gpu/flat/passes.ts";
import { summarise } from "../../gpu/kernels/summary.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { ParameterSet } from "../../model/weights/weights.ts";
import { member } from "./parameter-sets.ts";

/**
 * ema + (1 - decay)·(params - ema), after every optimiser step. In this form float32 still moves at decay 0.999.
 * Returns a new set owned by the caller; the caller also keeps both given sets.
 */
export function updateEma(ema: ParameterSet, params: ParameterSet, decay: number): ParameterSet {
  const { next, distance } = moveAverage(ema, params, decay);
  distance?.dispose();
  return next;
}

/**
 * The same, with the input of `emaDistance` if it is free.
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
