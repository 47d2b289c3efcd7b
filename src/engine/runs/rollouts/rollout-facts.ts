/** Facts about sampled or stored rollouts that rewards and screens use. */
import type { Rle } from "../../data/mask/rle.ts";
import type { RewardTerm } from "../../rewards/term.ts";
import { aboutLoop, type LoopId } from "../../rl/loops/abouts.ts";
import type { ActionRecord, GroupRecord, Rollout, RolloutRecord } from "./records.ts";

/** The generated text that is rewarded; null when there was nothing to describe. */
export function generatedText(loop: LoopId, rollout: Pick<Rollout, "caption" | "captionPrime">): string | null {
  return rollout[aboutLoop(loop).text];
}

/** Action names of the mask policies that choose among decoded masks; a group is the whole action set. */
const CHOICE = /^(candidate|proposal) \d+$/;

const isChoice = ({ actions }: Pick<RolloutRecord, "actions">): boolean =>
  actions.length === 1 && CHOICE.test((actions[0] as ActionRecord).label);

/** Whether the rollout's only action chooses one of the decoder's masks. */
export function choosesMask(rollout: Pick<RolloutRecord, "actions" | "chosen">): boolean {
  return rollout.chosen === true || isChoice(rollout);
}

/** Whether the rollouts are a whole action set: mean and spread of the group count each with its probability. */
export function isWholeSet({ rollouts }: { readonly rollouts: readonly Pick<RolloutRecord, "actions">[] }): boolean {
  return rollouts.length > 0 && rollouts.every(isChoice);
}

type MaskFields = Pick<RolloutRecord, "predictedMask" | "greedyMask" | "actions" | "chosen">;

/**
 * The mask that screens and reports draw. Loop 2: the policy's mask without exploration noise, or the chosen mask of a
 * policy that chooses among decoded masks (candidates, proposals, pathwise), which adds none. Otherwise the predicted mask.
 */
export function drawnMask(rollout: MaskFields): Rle | null {
  return choosesMask(rollout) ? rollout.predictedMask : (rollout.greedyMask ?? rollout.predictedMask);
}

/** Loop 2: the sampled mask, to which the reward belongs, where exploration noise made it differ; else null. */
export function noisyMask(rollout: MaskFields): Rle | null {
  const { predictedMask } = rollout;
  const drawn = drawnMask(rollout);
  return predictedMask === null || drawn === null || predictedMask.counts === drawn.counts ? null : predictedMask;
}

/** What a term adds to the reward: value times weight; null for a missing value. */
export function termContribution({ value, weight }: RewardTerm): number | null {
  return value === null ? null : value * weight;
}

/**
 * The group of a step to follow phase by phase: the loop's first whose rewards differ, else its first.
 * @param groups of a step so far
 * @param loop whose phase ran last; null after a phase of all loops, which stays at the last one
 */
export function groupToFollow(groups: readonly GroupRecord[], loop: LoopId | null): GroupRecord | undefined {
  const own = groups.filter((group) => group.loop === (loop ?? groups.at(-1)?.loop));
  const all = own.length > 0 ? own : groups;
  const teaches = ({ rollouts }: GroupRecord): boolean => rollouts.some(({ reward }) => reward !== rollouts[0]?.reward);
  return all.find(teaches) ?? all[0];
}
