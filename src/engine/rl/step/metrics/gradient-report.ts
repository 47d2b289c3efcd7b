/** Signal-to-noise of a loop's gradient and the share of each reward term; computed in steps of the gradient report. */
import type { LabConfig } from "../../../config/table.ts";
import { partOf } from "../../../gpu/flat/layout.ts";
import type { Tensor } from "../../../gpu/tf.ts";
import type { ParameterSet } from "../../../model/weights/weights.ts";
import type { LoopId } from "../../../runs/rollouts/records.ts";
import type { GroupAdvantages } from "../../objective/advantages.ts";
import { termAdvantages } from "../../objective/group-advantages.ts";
import type { LossSettings } from "../../objective/loss-types.ts";
import { GradientSum } from "../../optim/gradient-sum.ts";
import { adamCoefficients, mapSet, member } from "../../optim/optimiser.ts";
import { adamOf, type TrainingState } from "../../optim/training-state.ts";
import type { LossGroup, LossReadback } from "../group.ts";

// Which loss terms moved the weights. AdamW's step is linear in the gradient for given second moments, so it is the sum
// of one part per term of this step, of a part from the first moments of earlier steps, and of the decay.

/** The gradient of one term of a loop, before any clip; owned by the list. */
export interface TermGradient {
  readonly loop: LoopId;
  readonly term: string;
  readonly sum: GradientSum;
}

interface MeasuredUpdate {
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
  const { layout } = state.adam;
  const { second } = state.adam.held();
  // From the arenas, tensor by tensor: a copy of all second moments would be the largest array of the report.
  const secondOf = new Map(
    layout.arenas.flatMap(({ segments }, at) =>
      segments.map((segment) => [
        segment.name,
        () => partOf(second[at] as Tensor, segment).reshape([...segment.shape]),
      ]),
    ),
  );
  const moved = new GradientSum(layout);
  const scaled = new GradientSum(layout);
  const metrics: Record<string, number> = {};
  try {
    moved.add(mapSet(state.params, (after, name) => after.sub(member(before, name))));
    // The update times the derivative of the update by the gradient.
    scaled.add(
      mapSet(state.params, (after, name) => {
        const own = rate * (settings.rateFactor?.(name) ?? 1);
        const { stepSize } = adamCoefficients(state.adam.step, own, settings, false);
        const divisor = (secondOf.get(name) as () => Tensor)().sqrt().mul(rootScale).add(settings.eps);
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
  }
}

/** Whether a step measures its gradients. @param step from 1 */
export function gradientReportDue({ gradientReport }: Pick<LabConfig, "gradientReport">, step: number): boolean {
  return gradientReport > 0 && (step - 1) % gradientReport === 0;
}

/**
 * Norm of a sum of group gradients, relative to the expected norm for independent groups of the same spread around 0.
 * @param squares squared norm of each group's gradient
 * @param norm norm of their sum
 * @returns null where it is not defined: below two groups, without spread, or not finite
 */
export function signalToNoise(squares: readonly number[], norm: number): number | null {
  const count = squares.length;
  const total = squares.reduce((sum, square) => sum + square, 0);
  const variance = (total - norm ** 2 / count) / (count - 1);
  // Equal groups differ by rounding only.
  if (count < 2 || !(variance > 1e-6 * total) || !Number.isFinite(variance)) return null;
  return norm / Math.sqrt(count * variance);
}

interface ReportedPass {
  readonly loop: LoopId;
  /** Values before the pass. */
  readonly groups: readonly LossGroup[];
  readonly settings: LossSettings;
  readonly readbacks: readonly LossReadback[];
  readonly config: LabConfig;
  readonly step: number;
}

/**
 * Gradients of the loop's reward terms and of the penalty, which acts without a reward; owned by the caller. At ratio 1
 * gradients are linear in the advantages, so those of the terms and of the penalty sum to the loop's.
 * @param gradientOf the gradient of changed groups under changed settings, with or without auxiliary losses
 */
export async function termGradients(
  { loop, groups, settings, readbacks, config, step }: ReportedPass,
  gradientOf: (groups: readonly LossGroup[], settings: LossSettings, auxiliary: boolean) => Promise<GradientSum>,
): Promise<TermGradient[]> {
  const found: TermGradient[] = [];
  const withAdvantages = (of: (at: number, own: GroupAdvantages) => readonly number[]): LossGroup[] =>
    groups.map((group, at) => ({ ...group, advantages: { ...group.advantages, values: of(at, group.advantages) } }));
  const rewardsAlone = { ...settings, beta: 0, entropyCoef: 0 };
  const learns = groups.some(({ policyGradient }) => policyGradient !== false);
  const shares = learns
    ? termAdvantages(
        groups,
        groups.map(({ advantages }) => advantages),
        config,
        step,
      )
    : new Map<string, number[][]>();
  for (const [term, advantages] of shares) {
    const changed = withAdvantages((at) => advantages[at] as readonly number[]);
    found.push({ loop, term, sum: await gradientOf(changed, rewardsAlone, false) });
  }
  const auxiliary = readbacks.some((readback) => Object.keys(readback.auxiliary).length > 0);
  if (settings.beta > 0 || settings.entropyCoef > 0 || auxiliary) {
    const still = withAdvantages((_, own) => own.values.map(() => 0));
    found.push({ loop, term: "penalty", sum: await gradientOf(still, settings, true) });
  }
  return found;
}
