import { counted, percent, within } from "../../app/styles/format.ts";
import { MASK_POLICIES } from "../../engine/config/groups/mask.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import { aboutLoop } from "../../engine/rl/loops/abouts.ts";
import type { GroupRecord, RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import { isWholeSet } from "../../engine/runs/rollouts/rollout-facts.ts";
import { whatIf } from "../rollout-tools/what-if.ts";

/** Largest difference between a recomputed and a stored advantage, relative to 1. */
const SAME = 1e-6;

/** Decimals of an advantage. */
export const DECIMALS = 3;

/** The advantage as a formula. */
interface AdvantageText {
  /** Without the result: (0.8700 − 0.3980 (group)) ÷ (0.5018 (batch) + 0.0001 (ε)). */
  readonly text: string;
  /** All rewards of the group are equal: there is nothing to compute. */
  readonly zeroSpread: boolean;
}

/**
 * How a rollout's advantage was computed; null if the formula does not give the stored value: a run of another version,
 * or one with parts normalised one by one.
 * @param groups of its loop and step
 */
export function advantageText(
  rollout: RolloutRecord,
  groups: readonly GroupRecord[],
  config: LabConfig,
): AdvantageText | null {
  const own = scoresOf(groups, config)?.[groups.findIndex(({ group }) => group === rollout.group)];
  const advantage = own?.values[rollout.index];
  const { reward } = rollout;
  const known = advantage !== undefined && Math.abs(advantage - rollout.advantage) <= SAME;
  if (own === undefined || !known || reward === null || config.multiObjectiveAggregation !== "sum_then_normalize")
    return null;
  const { scaleRewards, advantageEps } = config;
  const divisor = scaleRewards === "none" ? 1 : own.stdUsed + advantageEps;
  // The mean of all rewards of the group, or of the others.
  const subtracted = reward - advantage * divisor;
  const group = groups.find((one) => one.group === rollout.group);
  const weighted = group !== undefined && isWholeSet(group) ? ", weighted by probability" : "";
  const [mean, of] = Math.abs(subtracted - own.mean) <= SAME ? [own.mean, "group"] : [subtracted, "others"];
  const decimals = decimalsOf(reward - mean, own.stdUsed);
  const centred = `${within(reward, decimals)} − ${within(mean, decimals)} (${of}${weighted})`;
  const eps = advantageEps === 0 ? "" : ` + ${advantageEps} (ε)`;
  const divided = `(${centred}) ÷ (${within(own.stdUsed, decimals)} (${scaleRewards})${eps})`;
  return { text: scaleRewards === "none" ? centred : divided, zeroSpread: own.zeroSpread };
}

/** Decimals that leave three digits of the smallest of these; those of an advantage at least. */
function decimalsOf(...sizes: readonly number[]): number {
  // Below, a difference is a rounding error.
  const known = sizes.map(Math.abs).filter((size) => size > 1e-9);
  return Math.max(DECIMALS, 2 - Math.floor(Math.log10(Math.min(1, ...known))));
}

/** What the update does with the actions of a rollout. */
export function effectText({ loop, advantage, actions, truncated }: RolloutRecord, config: LabConfig): string {
  if (config[`loop${loop}Weight`] === 0) return `Loop ${loop} has weight 0, so this rollout has no effect`;
  const text = aboutLoop(loop).samples === "text";
  if (text && truncated && config.maskTruncatedCompletions)
    return "Truncated and masked, so this rollout has no effect";
  const effect = MASK_POLICIES.find(({ value }) => value === config.maskPolicy)?.effect;
  if (!text && effect !== undefined) return effect;
  if (advantage === 0) {
    return config.beta > 0 ? "Only the KL penalty acts on this rollout" : "This rollout adds no policy gradient";
  }
  const { topEntropyQuantile: share } = config;
  const some = share < 1 ? `, only those among the ${percent(share)} most uncertain` : "";
  const things = counted(actions.length, text ? "token" : "action");
  return `${advantage > 0 ? "Raises" : "Lowers"} the probability of its ${things}${some}`;
}

/** Null if the record lacks an input; then there is no formula to show. */
function scoresOf(groups: readonly GroupRecord[], config: LabConfig) {
  try {
    return whatIf(groups, config).advantages;
  } catch {
    // The What if tab says what is missing.
    return null;
  }
}
