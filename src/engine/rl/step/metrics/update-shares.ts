/**
 * Which loss terms moved the weights. AdamW's step is linear in the gradient for given second moments, so it is the sum
 * of one part per term of this step, of a part from the first moments of earlier steps, and of the decay.
 */
import type { LabConfig } from "../../../config/table.ts";
import type { ParameterSet } from "../../../model/weights/weights.ts";
import type { LoopId } from "../../../runs/rollouts/records.ts";
import { GradientSum } from "../../optim/gradient-sum.ts";
import { adamCoefficients } from "../../optim/optimiser.ts";
import { disposeSet, mapSet, member } from "../../optim/parameter-sets.ts";
import { adamOf, type TrainingState } from "../../optim/training-state.ts";

/** The gradient of one term of a loop, before any clip; owned by the list. */
export interface TermGradient {
  readonly loop: LoopId;
  readonly term: string;
  readonly sum: GradientSum;
}

export interface MeasuredUpdate {
  /** Weights before the update. */
  readonly before: ParameterSet;
  /** After the update. */
  readonly state: TrainingState;
  readonly terms: readonly TermGradient[];
  /** Rate of the update. */
  readonly rate: number;
  /** Factor of a loop's gradient from all clips. */
  readonly factor: (loop: LoopId) => number;
}

/**
 * By loop and term: `update_share`, the projection of the term's part of the update onto the update, as a share of its
 * squared norm; and `update_cosine`, between the update and the descent direction of the term alone. `update_share/earlier`
 * is the rest: momentum of earlier steps, and decay. All shares add up to 1. Empty for an update of 0.
 */
export async function updateShares(update: MeasuredUpdate, config: LabConfig): Promise<Record<string, number>> {
  const { before, state, terms, rate, factor } = update;
  const settings = adamOf(config, state.blockOf);
  const { rootScale } = adamCoefficients(state.adam.step, 0, settings, false);
  const moved = new GradientSum(state.adam.layout);
  const scaled = new GradientSum(state.adam.layout);
  const second = state.adam.moments("second");
  const metrics: Record<string, number> = {};
  try {
    moved.add(mapSet(state.params, (after, name) => after.sub(member(before, name))));
    // The update times the derivative of the update by the gradient.
    scaled.add(
      mapSet(state.params, (after, name) => {
        const own = rate * (settings.rateFactor?.(name) ?? 1);
        const { stepSize } = adamCoefficients(state.adam.step, own, settings, false);
        const divisor = member(second, name).sqrt().mul(rootScale).add(settings.eps);
        return after
          .sub(member(before, name))
          .mul(-stepSize * (1 - settings.beta1))
          .div(divisor);
      }),
    );
    const square = await moved.dot(moved);
    if (!(square > 0)) return metrics;
    let rest = 1;
    for (const { loop, term, sum } of terms) {
      const share = (factor(loop) * (await scaled.dot(sum))) / square;
      const norm = Math.sqrt((await sum.dot(sum)) * square);
      metrics[`loop${loop}/update_share/${term}`] = share;
      metrics[`loop${loop}/update_cosine/${term}`] = norm > 0 ? -(await moved.dot(sum)) / norm : 0;
      rest -= share;
    }
    metrics["update_share/earlier"] = rest;
    return metrics;
  } finally {
    moved.dispose();
    scaled.dispose();
    disposeSet(second);
  }
}
