/**
 * Settings of the group "reward": the matrix loop × term. A reward is the sum of weight · value over the terms of its
 * loop; costs are subtracted.
 */
import { type CostName, isCost, TERMS, type TermName, termSpec } from "../../rewards/terms/registry.ts";
import type { LoopAbout } from "../../rl/loops/about.ts";
import { LOOPS, type LoopId } from "../../rl/loops/abouts.ts";
import { float, type NumberSetting } from "../setting.ts";

/** Name of the setting with the weight of a term in a loop. */
type WeightKey<Loop extends number = number> = {
  [T in TermName]: `loop${Loop}${Capitalize<T>}${T extends CostName ? "Cost" : ""}`;
}[TermName];

export function weightKey(loop: LoopId, term: TermName): WeightKey<LoopId> {
  const name = `${term[0]?.toUpperCase()}${term.slice(1)}`;
  return `loop${loop}${name}${isCost(term) ? "Cost" : ""}` as WeightKey<LoopId>;
}

const entries = LOOPS.flatMap(({ id, terms }) =>
  TERMS.map((term): [string, NumberSetting] => {
    const { label, help, cost } = termSpec(term);
    const weights: Readonly<Partial<Record<TermName, number>>> = terms;
    return [
      weightKey(id, term),
      {
        group: "reward",
        ...float(`${label}, loop ${id}`, weights[term] ?? 0, [cost ? 0 : -10, 10, 0.05], { help }),
      },
    ];
  }),
);

/** Whether a term has a weight in any loop, whether the loop trains or not. */
export function hasWeight(config: Readonly<Record<WeightKey<LoopId>, number>>, term: TermName): boolean {
  return LOOPS.some(({ id }) => config[weightKey(id, term)] !== 0);
}

/** Whether a reward of the loop needs the likelihood of the row's caption. */
export function needsLikelihood(config: Readonly<Record<WeightKey<LoopId>, number>>, loop: LoopId): boolean {
  return config[weightKey(loop, "likelihood")] !== 0 || config[weightKey(loop, "contrast")] !== 0;
}

/** Names of the term weights of all loops; an optional loop counts only if its loop weight is above 0. */
export function weightKeys(
  config: Readonly<Partial<Record<`loop${LoopId}Weight`, unknown>>> = {},
): readonly WeightKey<LoopId>[] {
  const counted = LOOPS.filter(
    (loop: LoopAbout<LoopId>) => loop.optional !== true || Number(config[`loop${loop.id}Weight`] ?? 0) > 0,
  );
  return counted.flatMap(({ id }) => TERMS.map((term) => weightKey(id, term)));
}

export const REWARD_WEIGHTS = Object.fromEntries(entries) as Readonly<Record<WeightKey<LoopId>, NumberSetting>>;
