import type { LabConfig } from "../../../engine/config/table.ts";
import { whatIf } from "../../../engine/rl/step/what-if.ts";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/records.ts";
import { fixed, signed } from "../../styles/format.ts";

/** Largest difference between a recomputed and a stored advantage, relative to 1. */
const SAME = 1e-6;

/** The advantage as a formula. */
export interface AdvantageText {
  /** Without the result: 0.870 − 0.398 (group) = +0.472 ÷ 0.502 (batch). */
  readonly text: string;
  /** All rewards of the group are equal: there is nothing to compute. */
  readonly zeroSpread: boolean;
}

/**
 * How a rollout's advantage came about; null where the formula does not give the stored value: a run of another version,
 * or one with parts normalised one by one.
 * @param groups of its loop and step
 */
export function advantageText(
  rollout: RolloutRecord,
  groups: readonly GroupRecord[],
  config: LabConfig,
): AdvantageText | null {
  const own = scoresOf(groups, config)?.[groups.findIndex(({ group }) => group === rollout.group)];
  const advantage = own?.advantages[rollout.index];
  const { reward } = rollout;
  const known = advantage !== undefined && Math.abs(advantage - rollout.advantage) <= SAME;
  if (own === undefined || !known || reward === null || config.rewardAggregation !== "sum_then_normalize") return null;
  const { scaleRewards, advantageEps, advantageBaseline } = config;
  // The mean of the other rewards in place of the mean of all.
  const factor = advantageBaseline === "leave-one-out" ? own.present / (own.present - 1) : 1;
  const divisor = scaleRewards === "none" ? "" : ` ÷ ${fixed(own.stdUsed + advantageEps, 3)} (${scaleRewards})`;
  return {
    text: `${fixed(reward, 3)} − ${fixed(own.mean, 3)} (group) = ${signed((reward - own.mean) * factor, 3)}${divisor}`,
    zeroSpread: own.zeroSpread,
  };
}

/** Null where the record does not suffice: then there is no formula to show. */
function scoresOf(groups: readonly GroupRecord[], config: LabConfig) {
  try {
    return whatIf(groups, config).scores;
  } catch {
    // The What if tab says what is missing.
    return null;
  }
}
