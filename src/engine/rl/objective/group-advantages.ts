/** Advantages of the groups of one loop according to the settings, in a step and on the reward bench. */
import type { LabConfig } from "../../config/table.ts";
import { STREAM, uniform } from "../../gpu/random.ts";
import type { RewardTerm } from "../../rewards/term.ts";
import { plainWords } from "../../rewards/terms/spec.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";
import { aboutLoop } from "../loops/abouts.ts";
import {
  type AdvantageSettings,
  type GroupAdvantages,
  groupAdvantages,
  type Reward,
  type RewardGroup,
} from "./advantages.ts";

/** Settings that advantages depend on. */
export type AdvantageConfig = Pick<
  LabConfig,
  | "scaleRewards"
  | "advantageEps"
  | "advantageBaseline"
  | "multiObjectiveAggregation"
  | "captionWordsMin"
  | "captionWordsMax"
>;

function advantageSettings(config: AdvantageConfig): AdvantageSettings {
  return {
    scale: config.scaleRewards,
    eps: config.advantageEps,
    baseline: config.advantageBaseline,
    aggregation: config.multiObjectiveAggregation,
  };
}

/** Whether a group's advantages depend on the other groups of its batch. */
export function couplesGroups({ scaleRewards, multiObjectiveAggregation }: AdvantageConfig): boolean {
  return scaleRewards === "batch" || multiObjectiveAggregation === "normalize_then_sum";
}

/** A group whose rollouts have rewards, from a step or from the reward bench. */
interface RewardedGroup {
  readonly loop: LoopId;
  /** [N] with their captions, which the window of words needs. */
  readonly rollouts: readonly {
    readonly reward: Reward;
    readonly terms: readonly RewardTerm[];
    readonly caption: string | null;
  }[];
  /** [N] probabilities of a whole action set; null for independent samples. */
  readonly probabilities: readonly number[] | null;
}

/** Rewards of a group with the parts that have a weight. */
export function rewardGroup({
  rollouts,
  probabilities,
}: Pick<RewardedGroup, "rollouts" | "probabilities">): RewardGroup {
  const weighted = rollouts.flatMap(({ terms }) => terms.filter(({ weight }) => weight !== 0));
  const parts = [...new Map(weighted.map(({ name, weight }) => [name, weight]))].map(([name, weight]) => {
    const values = rollouts.map(({ reward, terms }): Reward => {
      return reward === null ? null : (terms.find((term) => term.name === name)?.value ?? null);
    });
    return { weight, values };
  });
  return { rewards: rollouts.map(({ reward }) => reward), probabilities, parts };
}

/**
 * Advantages without the control's shuffle.
 * @param groups all groups of one loop in a step
 */
export function loopAdvantages(groups: readonly RewardedGroup[], config: AdvantageConfig): GroupAdvantages[] {
  return groupAdvantages(groups.map(rewardGroup), advantageSettings(config)).map((own, at): GroupAdvantages => {
    const { loop, rollouts } = groups[at] as RewardedGroup;
    if (aboutLoop(loop).samples !== "text") return own;
    const inside = rollouts.map(({ caption }) => inWindow(caption ?? "", config));
    return { ...own, values: own.values.map((advantage, n) => (inside[n] === true ? advantage : 0)) };
  });
}

/** Whether a caption has as many words as the settings allow. */
function inWindow(caption: string, { captionWordsMin, captionWordsMax }: AdvantageConfig): boolean {
  if (captionWordsMin === 0 && captionWordsMax === 0) return true;
  const words = plainWords(caption).length;
  return words >= captionWordsMin && (captionWordsMax === 0 || words <= captionWordsMax);
}

/** A group of a step, with the address of its draws. */
type StepGroup = RewardedGroup & { readonly group: number };
type DrawnAt = Pick<StepGroup, "loop" | "group">;
type Control = Pick<LabConfig, "seed" | "shuffleRewards">;

/**
 * Advantages of training and of the reward bench. In the control experiment rewards are shuffled and the sign of each group is random. The
 * baseline and deviation of a whole action set depend on which action has which reward, so a permutation alone leaves a
 * nonzero mean gradient. A random sign leaves none, neither in the gradient nor in any odd function of it that the
 * optimiser applies.
 * @param groups all groups of one loop in a step, or in a batch of the bench
 * @param stepOf step of a group, for the control's draws
 */
export function stepAdvantages<T extends StepGroup>(
  groups: readonly T[],
  config: AdvantageConfig & Control,
  stepOf: (group: T) => number,
): GroupAdvantages[] {
  const rewarded = groups.map((own) => ({ ...own, rollouts: withTrained(own, config, stepOf(own)) }));
  const advantages = loopAdvantages(rewarded, config);
  if (!config.shuffleRewards) return advantages;
  return advantages.map((own, at): GroupAdvantages => {
    const group = groups[at] as T;
    if (coin(group, config, stepOf(group)) === 1) return own;
    return { ...own, values: own.values.map((advantage) => (advantage === 0 ? 0 : -advantage)) };
  });
}

/** Sign of a group's advantages; always 1 outside the control. */
export function coin(group: DrawnAt, { seed, shuffleRewards }: Control, step: number): 1 | -1 {
  return shuffleRewards && draw(group, seed, step, 0) >= 0.5 ? -1 : 1;
}

/**
 * Contribution of each weighted term to the advantages. Rewards are sums, so the contributions add up to the
 * advantages.
 * @param advantages result of `stepAdvantages` for the groups
 * @returns by term [group][n]
 */
export function termAdvantages(
  groups: readonly StepGroup[],
  advantages: readonly GroupAdvantages[],
  config: AdvantageConfig & Control,
  step: number,
): ReadonlyMap<string, readonly (readonly number[])[]> {
  const { advantageEps: eps, multiObjectiveAggregation, scaleRewards } = config;
  const apart = multiObjectiveAggregation === "normalize_then_sum";
  const rewarded = groups.map((own) => ({ ...own, rollouts: withTrained(own, config, step) }));
  const weighted = rewarded.flatMap(({ rollouts }) => rollouts.flatMap(({ terms }) => terms));
  const names = new Set(weighted.flatMap(({ name, weight }) => (weight === 0 ? [] : [name])));
  const ofTerm = (name: string): number[][] => {
    const alone = rewarded.map((own) => ({
      ...own,
      rollouts: own.rollouts.map(({ reward, terms, caption }) => {
        const term = terms.find((one) => one.name === name);
        const share = term === undefined ? 0 : term.weight * (term.value ?? 0);
        return { reward: reward === null ? null : share, terms: term === undefined ? [] : [term], caption };
      }),
    }));
    // Centred only; then divided by the divisor of the whole reward.
    return loopAdvantages(alone, { ...config, scaleRewards: "none" }).map((own, at) => {
      const whole = advantages[at] as GroupAdvantages;
      const silent = whole.values.every((advantage) => advantage === 0);
      const before = apart ? own.stdUsed + eps : 1;
      const divisor = !apart && scaleRewards === "none" ? 1 : whole.stdUsed + eps;
      const factor = silent ? 0 : (coin(groups[at] as StepGroup, config, step) * before) / divisor;
      return own.values.map((advantage) => advantage * factor);
    });
  };
  return new Map([...names].map((name) => [name, ofTerm(name)]));
}

/** The rollouts with the rewards that their actions learn from. */
function withTrained(group: StepGroup, config: Control, step: number): RewardedGroup["rollouts"] {
  const trained = trainedRollouts(group, config, step);
  return trained.map(({ reward, terms }, n) => ({ reward, terms, caption: group.rollouts[n]?.caption ?? null }));
}

/**
 * The rollouts (or their scores) whose rewards the actions learn from, in the order of the actions; permuted (Fisher–Yates) in the
 * control.
 */
export function trainedRollouts<T>(
  group: DrawnAt & { readonly rollouts: readonly T[] },
  { seed, shuffleRewards }: Control,
  step: number,
): readonly T[] {
  if (!shuffleRewards) return group.rollouts;
  const shuffled = [...group.rollouts];
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(draw(group, seed, step, last) * (last + 1));
    [shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T];
  }
  return shuffled;
}

function draw({ loop, group }: DrawnAt, seed: number, step: number, rollout: number): number {
  return uniform({ seed, step, loop, row: group, rollout, position: 0, stream: STREAM.shuffle });
}
