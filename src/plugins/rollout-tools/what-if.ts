/**
 * Recomputes a finished step under other settings, without sampling: rewards, advantages and the loss of its first
 * pass.
 */
import { MASK_POLICIES } from "../../engine/config/groups/mask.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import { badInput } from "../../engine/errors.ts";
import { composeGroup } from "../../engine/rewards/composer/compose-group.ts";
import { rewardPlan } from "../../engine/rewards/composer/plan.ts";
import { aboutLoop } from "../../engine/rl/loops/abouts.ts";
import type { GroupAdvantages, Reward } from "../../engine/rl/objective/advantages.ts";
import { loopAdvantages } from "../../engine/rl/objective/group-advantages.ts";
import { type HostLoss, hostLoss, type LossData } from "../../engine/rl/objective/loss.ts";
import { lossSettingsOf } from "../../engine/rl/objective/loss-types.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";

/** The loss is the sum of its parts minus the entropy bonus. */
type LossSum = Pick<HostLoss, "loss" | "policy" | "klPenalty">;

export interface WhatIf {
  /** [groups][N] rewards recomposed from the stored terms. */
  readonly rewards: readonly (readonly Reward[])[];
  /** One per group, with the advantages. */
  readonly advantages: readonly GroupAdvantages[];
  /**
   * Sum over the groups; null before their log-probabilities are known, and with an adaptive entropy bonus, which is
   * not stored.
   */
  readonly loss: LossSum | null;
}

/**
 * @param groups all groups of one loop in one step, as they were stored
 * @param config the run's settings with changes to term weights, advantages, KL or loss; settings of sampling have no
 * effect
 * @throws LabError("bad-input") when the record lacks what the settings need, LabError("held") for a missing verdict
 */
export function whatIf(groups: readonly GroupRecord[], config: LabConfig): WhatIf {
  if (config.shuffleRewards) throw badInput("This run shuffled its rewards, so it has no what-if");
  const plan = rewardPlan(config);
  const rewarded = groups.map(({ loop, rollouts }) => ({
    loop,
    rollouts: composeGroup(
      rollouts.map(({ terms }) => terms),
      loop,
      plan,
    ).map((scored, n) => ({ ...scored, caption: rollouts[n]?.caption ?? null })),
    probabilities: probabilities({ loop, rollouts }, config),
  }));
  const advantages = loopAdvantages(rewarded, config);
  const known = groups.every(({ rollouts }) => rollouts.some(({ actions }) => actions.length > 0));
  return {
    rewards: rewarded.map(({ rollouts }) => rollouts.map(({ reward }) => reward)),
    advantages,
    loss: known && !config.useAdaptiveEntropy ? lossOf(groups, advantages, config) : null,
  };
}

/** Probabilities of a whole action set, which two mask policies enumerate; null for samples. */
function probabilities({ loop, rollouts }: Pick<GroupRecord, "loop" | "rollouts">, config: LabConfig): number[] | null {
  const enumerates = config.maskPolicy === "candidates" || config.maskPolicy === "proposals";
  if (!enumerates || aboutLoop(loop).samples !== "mask") return null;
  return rollouts.map(({ actions }) => Math.exp(actions[0]?.samplingLogp ?? Number.NEGATIVE_INFINITY));
}

function lossOf(groups: readonly GroupRecord[], advantages: readonly GroupAdvantages[], config: LabConfig): LossSum {
  const batches = groups.map((group, at) => arraysOf(group, advantages[at] as GroupAdvantages, config));
  const active = batches.reduce((sum, { mask }) => sum + Array.from(mask).reduce((count, m) => count + m, 0), 0);
  const text = groups[0] !== undefined && aboutLoop(groups[0].loop).samples === "text";
  const longest = text ? config.maxCompletionLength : Math.max(1, ...batches.map(({ tokens }) => tokens));
  const settings = lossSettingsOf(config, config.entropyCoef, groups.length, active, longest);
  const losses = batches.map((arrays, at) => {
    const own = probabilities(groups[at] as GroupRecord, config);
    return hostLoss({ ...arrays, rowWeights: own === null ? null : own.map((p) => p * own.length) }, settings);
  });
  const sum = (part: keyof LossSum): number => losses.reduce((total, own) => total + own[part], 0);
  return { loss: sum("loss"), policy: sum("policy"), klPenalty: sum("klPenalty") };
}

/** The arrays of the first pass, whose ratio is 1, except in the formula that divides by the reference. */
function arraysOf({ rollouts, loop }: GroupRecord, { values }: GroupAdvantages, config: LabConfig): LossData {
  const tokens = Math.max(1, ...rollouts.map(({ actions }) => actions.length));
  const [logps, refLogps, entropies, mask] = [0, 0, 0, 0].map(() => new Float64Array(rollouts.length * tokens)) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  const referred = rollouts.every(({ actions }) => actions.every(({ refLogp }) => refLogp !== null));
  if (!referred && (config.beta > 0 || config.objective === "notes")) {
    throw badInput("This run recorded no log-probabilities of the reference, which the KL term needs");
  }
  rollouts.forEach(({ actions, truncated }, n) => {
    actions.forEach((action, t) => {
      const i = n * tokens + t;
      logps[i] = action.logp;
      refLogps[i] = action.refLogp ?? 0;
      entropies[i] = action.entropy;
      mask[i] = truncated && config.maskTruncatedCompletions && aboutLoop(loop).samples === "text" ? 0 : 1;
    });
  });
  const supervised = MASK_POLICIES.find(({ value }) => value === config.maskPolicy)?.effect !== undefined;
  const imitates = supervised && aboutLoop(loop).samples === "mask";
  return {
    rows: rollouts.length,
    tokens,
    logps,
    oldLogps: config.objective === "notes" ? refLogps : null,
    refLogps: referred ? refLogps : null,
    entropies,
    mask,
    advantages: imitates ? rollouts.map(() => 0) : values,
  };
}
