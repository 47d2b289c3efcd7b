/** The reward terms, in the order of the matrix: settings, records, metrics and the page read them from here. */
import type { RewardTerm, RolloutFacts } from "../term.ts";
import { BANDED } from "./banded.ts";
import { BOX } from "./box.ts";
import { CENTRE } from "./centre.ts";
import { CONFIDENCE } from "./confidence.ts";
import { CONTRAST } from "./contrast.ts";
import { FORM } from "./form.ts";
import { F, J } from "./frames.ts";
import { IOU } from "./iou.ts";
import { JUDGE } from "./judge.ts";
import { LEAK } from "./leak.ts";
import { LENGTH } from "./length.ts";
import { LIKELIHOOD } from "./likelihood.ts";
import { METEOR } from "./meteor.ts";
import { REPETITION } from "./repetition.ts";
import type { TermSpec, TermTools } from "./spec.ts";
import { TARGET } from "./target.ts";
import { USER } from "./user.ts";
import { UTILITY } from "./utility.ts";

export const REWARD_TERMS = [
  IOU,
  J,
  F,
  METEOR,
  JUDGE,
  LIKELIHOOD,
  CONTRAST,
  CONFIDENCE,
  BOX,
  CENTRE,
  BANDED,
  TARGET,
  FORM,
  UTILITY,
  USER,
  // Costs.
  LENGTH,
  REPETITION,
  LEAK,
] as const;

export type TermName = (typeof REWARD_TERMS)[number]["name"];

/** Names of the terms that are subtracted. */
export type CostName = Extract<(typeof REWARD_TERMS)[number], { readonly cost: true }>["name"];

export const TERMS: readonly TermName[] = REWARD_TERMS.map(({ name }) => name);

/** The term of this name; undefined if this version does not have it. */
export function findTerm(name: string): TermSpec | undefined {
  return REWARD_TERMS.find((term) => term.name === name);
}

export function termSpec(name: TermName): TermSpec {
  return findTerm(name) as TermSpec;
}

export function isCost(name: TermName): boolean {
  return termSpec(name).cost === true;
}

/** The terms that need only the rollout, with weight 0; the composer sets the weights. */
export function measuredTerms(facts: RolloutFacts, tools: TermTools): RewardTerm[] {
  return REWARD_TERMS.flatMap((term: TermSpec): RewardTerm[] => {
    const measured = term.measure?.(facts, tools);
    if (measured === undefined) return [];
    const { value, ...details } = measured;
    return [{ name: term.name, value, weight: 0, ...details }];
  });
}
