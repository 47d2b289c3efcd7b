/** Combines the terms of a group into rewards: adds the weights and handles missing verdicts as the plan requires. */
import { LabError } from "../../errors.ts";
import type { LoopId } from "../../rl/loops/abouts.ts";
import type { RewardTerm } from "../term.ts";
import type { TermName } from "../terms/registry.ts";
import type { ScoredRollout } from "../types.ts";
import { actingWeights, type RewardPlan, type TermWeights } from "./plan.ts";

/** Largest reward: sums and squares over a group stay finite, even in f32. */
const LARGEST = 1e12;

function tooLarge(name: string, value: number, weight: number): LabError {
  return new LabError(
    "held",
    `The reward term "${name}" of ${value} with weight ${weight} is beyond ${LARGEST}; lower one of them`,
    { subject: name },
  );
}

/**
 * Weighted sum of the terms of one rollout. A term that is missing (value null) and has a weight makes the whole reward
 * missing: a failed judge must never count as 0 (docs/spec/rewards.md#requirements-for-any-of-them). Terms of weight 0
 * are only shown and cannot make it missing.
 *
 * @returns the sum, or null when a needed part is missing or no term has a weight
 * @throws LabError("internal") when a value or weight is not finite, LabError("held") when the sum is too large to be
 *   averaged, each naming the term
 */
export function composeReward(terms: readonly RewardTerm[]): number | null {
  let sum = 0;
  let needed = 0;
  let missing = false;
  for (const { name, value, weight } of terms) {
    if (!Number.isFinite(weight) || (value !== null && !Number.isFinite(value))) {
      throw new LabError(
        "internal",
        `reward term "${name}" has value ${value} and weight ${weight}, not finite numbers`,
      );
    }
    if (weight === 0) continue;
    needed++;
    if (value === null) missing = true;
    else {
      sum += weight * value;
      if (Math.abs(sum) > LARGEST) throw tooLarge(name, value, weight);
    }
  }
  return missing || needed === 0 ? null : sum;
}

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

/**
 * Means over the draws that have a value. Details come from the first draw; the note lists a term's value for each
 * text.
 * @param draws [draw][rollout], at least one
 * @param texts texts in the same order; null where there was nothing to describe
 */
export function meanScores(
  draws: readonly (readonly ScoredRollout[])[],
  texts: readonly (readonly (string | null)[])[],
): readonly ScoredRollout[] {
  const [first = []] = draws;
  if (draws.length === 1) return first;
  return first.map(({ terms }, n): ScoredRollout => {
    const said = texts.map((own) => own[n] ?? null);
    return {
      reward: meanOf(draws.map((scored) => scored[n]?.reward ?? null)),
      terms: terms.map((term) => {
        const values = draws.map((scored) => scored[n]?.terms.find(({ name }) => name === term.name)?.value ?? null);
        if (values.every((value) => value === term.value)) return term;
        const note = said.map((text, at) => `“${text ?? ""}” ${values[at]?.toFixed(3) ?? "missing"}`).join(", ");
        return { ...term, value: meanOf(values), note: `mean over ${values.length} captions′: ${note}` };
      }),
    };
  });
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}
