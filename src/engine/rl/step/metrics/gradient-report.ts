/** Signal-to-noise of a loop's gradient and the share of each reward term; computed in steps of the gradient report. */
import type { LabConfig } from "../../../config/table.ts";
import type { LoopId } from "../../../runs/rollouts/records.ts";
import type { GroupScores } from "../../objective/advantages.ts";
import { termAdvantages } from "../../objective/group-advantages.ts";
import type { LossSettings } from "../../objective/loss-types.ts";
import type { GradientSum } from "../../optim/gradient-sum.ts";
import type { PassGroup } from "../group.ts";
import type { LossReadback } from "../loss-inputs.ts";
import type { TermGradient } from "./update-shares.ts";

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

export interface ReportedPass {
  readonly loop: LoopId;
  /** Values before the pass. */
  readonly groups: readonly PassGroup[];
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
  gradientOf: (groups: readonly PassGroup[], settings: LossSettings, auxiliary: boolean) => Promise<GradientSum>,
): Promise<TermGradient[]> {
  const found: TermGradient[] = [];
  const withAdvantages = (of: (at: number, own: GroupScores) => readonly number[]): PassGroup[] =>
    groups.map((group, at) => ({ ...group, scores: { ...group.scores, advantages: of(at, group.scores) } }));
  const rewardsAlone = { ...settings, beta: 0, entropyCoefficient: 0 };
  const scores = groups.map((group) => group.scores);
  const learns = groups.some(({ policyGradient }) => policyGradient !== false);
  const shares = learns ? termAdvantages(groups, scores, config, step) : new Map<string, number[][]>();
  for (const [term, advantages] of shares) {
    const changed = withAdvantages((at) => advantages[at] as readonly number[]);
    found.push({ loop, term, sum: await gradientOf(changed, rewardsAlone, false) });
  }
  const auxiliary = readbacks.some((readback) => Object.keys(readback.auxiliary).length > 0);
  if (settings.beta > 0 || settings.entropyCoefficient > 0 || auxiliary) {
    const still = withAdvantages((_, own) => own.advantages.map(() => 0));
    found.push({ loop, term: "penalty", sum: await gradientOf(still, settings, true) });
  }
  return found;
}
