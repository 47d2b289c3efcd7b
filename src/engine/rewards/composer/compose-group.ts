/** Combines the terms of a group into rewards: adds the weights and handles missing verdicts as the plan requires. */

import { LabError } from "../../errors.ts";
import type { LoopId } from "../../rl/loops/abouts.ts";
import { composeReward } from "../compose.ts";
import type { RewardTerm } from "../term.ts";
import type { TermName } from "../terms/registry.ts";
import type { ScoredRollout } from "../types.ts";
import { actingWeights, type RewardPlan, type TermWeights } from "./plan.ts";

/** Terms that come from a verdict of the judge. */
const JUDGED = ["judge", "utility"] as const satisfies readonly TermName[];

/**
 * @param rows terms of each rollout of one group, weights not yet filled in; without a term "judge" there is no judge
 * @throws LabError("held") when a verdict is missing and the plan says pause
 */
export function composeGroup(
  rows: readonly (readonly RewardTerm[])[],
  loop: LoopId,
  plan: RewardPlan,
): readonly ScoredRollout[] {
  const judged = rows.some((terms) => terms.some((term) => term.name === "judge"));
  const weights = actingWeights(plan.weights[loop], judged);
  const asked = JUDGED.filter((name) => weights[name] !== 0);
  const failed = rows.flat().find(({ name, value }) => value === null && asked.some((term) => term === name));
  if (failed === undefined) return rows.map((terms) => composed(terms, weights));
  const reason = failed.note ?? "no verdict";
  switch (plan.missingVerdict) {
    case "drop":
      return rows.map((terms) => composed(terms, weights));
    case "group":
      return rows.map((terms) => ({ ...composed(terms, weights), reward: null }));
    case "meteor": {
      // The whole group uses METEOR; otherwise the missing verdict would distinguish one rollout from the others.
      const instead = actingWeights(weights, false);
      return rows.map((terms) => composed(terms, instead));
    }
    case "pause":
      throw new LabError("held", `The judge gave no verdict (${reason}); continue when it answers again`, {
        subject: "judge",
      });
  }
}

function composed(terms: readonly RewardTerm[], weights: TermWeights): ScoredRollout {
  const weighted = terms.map((term) => ({ ...term, weight: weights[term.name as TermName] ?? 0 }));
  // A weighted term that is absent counts as missing, like one without a value.
  const absent = Object.entries(weights).some(
    ([name, weight]) => weight !== 0 && !terms.some((term) => term.name === name),
  );
  return { reward: absent ? null : composeReward(weighted), terms: weighted };
}
