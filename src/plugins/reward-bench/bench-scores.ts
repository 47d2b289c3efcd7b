/** Rewards and advantages of the bench's groups, as in a run. */
import { addTo } from "../../engine/bytes/collections.ts";
import type { ScoredRollout } from "../../engine/rewards/types.ts";
import { stepAdvantages } from "../../engine/rl/objective/group-advantages.ts";
import type { BenchGroup } from "./bench-group.ts";

/** Settings that advantages depend on. */
type AdvantageConfig = Parameters<typeof stepAdvantages>[1];

/** @param scores one per rollout. The advantages are for a batch of this group alone; see `withAdvantages` */
export function scoredGroup(group: BenchGroup, scores: readonly ScoredRollout[], config: AdvantageConfig): BenchGroup {
  const rollouts = group.rollouts.map((rollout, at) => {
    const { reward = null, terms = [] } = scores[at] ?? {};
    return { ...rollout, reward, terms };
  });
  return withAdvantages([{ ...group, rollouts }], config)[0] as BenchGroup;
}

/** The groups with their advantages, computed as in a step with the groups of the same loop and batch; shuffled in the control. */
export function withAdvantages(groups: readonly BenchGroup[], config: AdvantageConfig): readonly BenchGroup[] {
  const batches = new Map<string, BenchGroup[]>();
  for (const group of groups) {
    addTo(batches, `${group.loop} ${group.batch}`, group);
  }
  const found = new Map<BenchGroup, BenchGroup>();
  for (const own of batches.values()) {
    for (const [at, { mean, std, zeroSpread, values: advantages }] of stepAdvantages(
      own,
      config,
      ({ step }) => step,
    ).entries()) {
      const group = own[at] as BenchGroup;
      const rollouts = group.rollouts.map((rollout, n) => ({ ...rollout, advantage: advantages[n] ?? 0 }));
      found.set(group, { ...group, rewardMean: mean, rewardStd: std, zeroSpread, rollouts });
    }
  }
  return groups.map((group) => found.get(group) as BenchGroup);
}
