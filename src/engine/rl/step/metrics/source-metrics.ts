/** Rewards and draws of a step by source of the mix, and how many groups dynamic sampling has replaced. */
import type { LoopId } from "../../../runs/rollouts/records.ts";
import type { GroupScores } from "../../objective/advantages.ts";
import type { RowOrder } from "../data-order.ts";
import type { Group } from "../group.ts";

/** @param scores scores of the groups; without a mix there are no metrics */
export function sourceMetrics(
  loop: LoopId,
  groups: readonly Pick<Group, "row">[],
  scores: readonly Pick<GroupScores, "mean" | "zeroSpread">[],
  { source }: Pick<RowOrder, "source">,
): Record<string, number> {
  const found = new Map<string, Pick<GroupScores, "mean" | "zeroSpread">[]>();
  for (const [at, { row }] of groups.entries()) {
    const name = source(row.summary.id);
    const own = scores[at];
    if (name !== null && own !== undefined) found.set(name, [...(found.get(name) ?? []), own]);
  }
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return Object.fromEntries(
    [...found].flatMap(([name, own]) => {
      const rewards = own.flatMap((one) => (Number.isNaN(one.mean) ? [] : [one.mean]));
      return [
        [`loop${loop}/source_groups/${name}`, own.length],
        ...(rewards.length === 0 ? [] : [[`loop${loop}/source_reward/${name}`, mean(rewards)] as const]),
        [`loop${loop}/source_zero_std/${name}`, mean(own.map(({ zeroSpread }) => Number(zeroSpread)))],
      ] as const;
    }),
  );
}
