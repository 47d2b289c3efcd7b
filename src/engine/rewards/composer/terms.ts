/**
 * The terms that need nothing but the rollout itself, with weight 0; the composer fills the weights in. A value that
 * cannot be computed is null with the reason, never 0.
 */
import { iouTerm } from "../iou.ts";
import type { Meteor } from "../meteor/meteor.ts";
import type { RewardTerm } from "../term.ts";
import type { RolloutFacts } from "../types.ts";
import { boxIou, centreScore } from "./mask-terms.ts";
import type { RewardPlan, TermName } from "./plan.ts";
import { leakedWords, lengthCost, repetitionCost } from "./text-costs.ts";

/** Everything but judge and user, in the order of the matrix. */
export function rolloutTerms(facts: RolloutFacts, plan: RewardPlan, meteor: Meteor): RewardTerm[] {
  return [
    overlapTerm(facts, plan),
    captionTerm(facts, meteor),
    confidenceTerm(facts),
    auxiliary("box", facts, boxIou),
    auxiliary("centre", facts, centreScore),
    ...costs(facts, plan),
  ];
}

function missing(name: TermName, note: string): RewardTerm {
  return { name, value: null, weight: 0, note };
}

/**
 * IoU of given and predicted mask in the form of the plan; no mask at all is worth 0
 * (docs/spec/rewards.md#4-reward-hacking, Empty generations).
 */
function overlapTerm({ given, predicted }: RolloutFacts, plan: RewardPlan): RewardTerm {
  if (given === null) return missing("iou", "no given mask in the file");
  return iouTerm(given, predicted, { shape: plan.iouShape, emptyPairValue: plan.emptyPair, weight: 0 });
}

/** METEOR of the generated caption against the caption of the row; nothing said is worth 0. */
function captionTerm({ caption, reference }: RolloutFacts, meteor: Meteor): RewardTerm {
  if (reference === null) return missing("meteor", "no reference caption in the file");
  const detail = meteor.score(reference, caption ?? "");
  const term: RewardTerm = { name: "meteor", value: detail.score, weight: 0, meteor: detail };
  if (caption === null) return { ...term, note: "empty mask" };
  if (detail.hypothesis.length === 0) return { ...term, note: "empty caption" };
  if (detail.reference.length === 0) return { ...term, note: "empty reference" };
  return term;
}

function confidenceTerm({ confidence, predicted }: RolloutFacts): RewardTerm {
  if (confidence !== null) return { name: "confidence", value: confidence, weight: 0 };
  if (predicted === null) return { name: "confidence", value: 0, weight: 0, note: "no mask" };
  return missing("confidence", "the mask's probabilities are not known");
}

/** An auxiliary term of both masks; like IoU it is 0 when nothing was predicted. */
function auxiliary(
  name: "box" | "centre",
  { given, predicted }: RolloutFacts,
  measure: (given: NonNullable<RolloutFacts["given"]>, predicted: NonNullable<RolloutFacts["given"]>) => number | null,
): RewardTerm {
  if (given === null) return missing(name, "no given mask in the file");
  if (predicted === null) return { name, value: 0, weight: 0, note: "no mask" };
  const value = measure(given, predicted);
  return value === null ? { name, value: 0, weight: 0, note: "empty mask" } : { name, value, weight: 0 };
}

function costs({ caption, reference }: RolloutFacts, plan: RewardPlan): RewardTerm[] {
  const text = caption ?? "";
  const leaked = leakedWords(text, plan.leakWords);
  return [
    reference === null
      ? missing("length", "no reference caption in the file")
      : { name: "length", value: lengthCost(text, reference, plan.lengthRatio), weight: 0 },
    { name: "repetition", value: repetitionCost(text, plan.repetitionGram), weight: 0 },
    leaked.length === 0
      ? { name: "leak", value: 0, weight: 0 }
      : { name: "leak", value: 1, weight: 0, note: leaked.join(", ") },
  ];
}
