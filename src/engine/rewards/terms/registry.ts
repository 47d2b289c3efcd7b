/** The reward terms, in the order of the matrix: settings, records, metrics and the page read them from here. */

import { PLUGIN_TERMS } from "../../../plugins/terms.ts";
import { type Rle, rleArea, rleBox, rleRuns } from "../../data/mask/rle.ts";
import { aboutLoop } from "../../rl/loops/abouts.ts";
import { meteorTokens } from "../meteor/tokens.ts";
import type { RewardTerm, RolloutFacts } from "../term.ts";
import { IOU, shapedIou } from "./iou.ts";
import {
  type IouBand,
  type Measured,
  NO_GIVEN,
  NO_REFERENCE,
  plainWords,
  type TermSpec,
  type TermTools,
} from "./spec.ts";

/** The judge's verdict, which the scorer requests. */
const JUDGE = {
  name: "judge",
  label: "Judge",
  help: "Score of the judge. Without a judge, METEOR takes its weight",
} as const satisfies TermSpec;

/** METEOR of the generated caption against the caption of the row. */
const METEOR = {
  name: "meteor",
  label: "METEOR",
  help: "METEOR of the generated caption against the caption of the row",
  measure: ({ caption, reference }, { meteor }: TermTools): Measured => {
    if (reference === null) return NO_REFERENCE;
    const measured = meteorOf(meteor, reference, caption ?? "");
    return caption === null ? { ...measured, note: "empty mask" } : measured;
  },
} as const satisfies TermSpec;

/** METEOR with its alignment, and a remark if a side has no words; an empty caption scores 0. */
export function meteorOf(meteor: TermTools["meteor"], reference: string, caption: string): Measured {
  const detail = meteor.score(reference, caption);
  const measured: Measured = { value: detail.score, meteor: detail };
  if (detail.hypothesis.length === 0) return { ...measured, note: "empty caption" };
  if (detail.reference.length === 0) return { ...measured, note: "empty reference" };
  return measured;
}

/**
 * What a caption is good for (CapRL): how many questions about the object a judge that reads nothing but the caption
 * answers correctly. Silence and a wrong statement earn the same, so guessing is free; the judge's own score punishes
 * wrong statements.
 */
const UTILITY = {
  name: "utility",
  label: "Caption utility",
  help: "Share of the judge's positive questions that are answered correctly from the caption alone. Without a judge, METEOR takes its weight",
} as const satisfies TermSpec;

/** The utility in a verdict of the judge, which is not asked again; missing where the verdict is. */
export function utilityOf({ judge, note }: RewardTerm): Measured {
  if (judge === undefined || judge.score === null) return { value: null, note: note ?? "no verdict" };
  const positive = judge.answers.filter(({ type }) => type === "positive");
  // An empty caption is not asked about.
  if (positive.length === 0) return { value: 0, ...(note === undefined ? {} : { note }) };
  const right = positive.filter(({ points }) => points === 1).length;
  return { value: right / positive.length, note: `${right} of ${positive.length} questions` };
}

const CENTRE = {
  name: "centre",
  label: "Centre",
  help: "1 minus the distance of the two mask centres, divided by the picture's diagonal",
  measure: maskPairTerm(centreScore),
} as const satisfies TermSpec;

/** 1 minus the distance of the centres of mass over the picture's diagonal, 0..1; null when a mask is empty. */
export function centreScore(a: Rle, b: Rle): number | null {
  const [p, q] = [centreOfMass(a), centreOfMass(b)];
  if (p === null || q === null) return null;
  const [height, width] = a.size;
  return 1 - Math.hypot(p[0] - q[0], p[1] - q[1]) / Math.hypot(height, width);
}

/** Mean (x, y) of a mask's pixels; null when it has none. */
export function centreOfMass(mask: Rle): readonly [number, number] | null {
  const height = mask.size[0];
  let [area, sumX, sumY, at] = [0, 0, 0, 0];
  for (const [index, run] of rleRuns(mask).entries()) {
    if (index % 2 === 1) {
      // Runs go down the columns and are cut at each column's end.
      for (let start = at; start < at + run; ) {
        const column = Math.floor(start / height);
        const end = Math.min(at + run, (column + 1) * height);
        const length = end - start;
        area += length;
        sumX += column * length;
        sumY += length * ((start - column * height + (end - 1 - column * height)) / 2);
        start = end;
      }
    }
    at += run;
  }
  return area === 0 ? null : [sumX / area, sumY / area];
}

/** Penalises captions that reveal the position (docs/spec/rewards.md#4-reward-hacking). */
const LEAK = {
  name: "leak",
  label: "Leak cost",
  help: "Penalty if a leak word occurs",
  cost: true,
  measure: ({ caption }, { settings }: TermTools): Measured => {
    const leaked = leakedWords(caption ?? "", settings.leakWords);
    return leaked.length === 0 ? { value: 0 } : { value: 1, note: leaked.join(", ") };
  },
} as const satisfies TermSpec;

/** Words and phrases of the list that occur in the caption as whole words, in the list's order. */
export function leakedWords(caption: string, list: string): string[] {
  const text = ` ${plainWords(caption).join(" ")} `;
  const phrases = list
    .split(/[,\n]/)
    .map((phrase) => plainWords(phrase).join(" "))
    .filter((phrase) => phrase !== "");
  return [...new Set(phrases)].filter((phrase) => text.includes(` ${phrase} `));
}

/** Penalises captions that repeat a phrase that scored well once (docs/spec/rewards.md#4-reward-hacking). */
const REPETITION = {
  name: "repetition",
  label: "Repetition cost",
  help: "Penalty for repeated word sequences",
  cost: true,
  measure: ({ caption }, { settings }: TermTools) => ({
    value: repetitionCost(caption ?? "", settings.repetitionGram),
  }),
} as const satisfies TermSpec;

/** Share of the caption's n-grams that occurred in it before; 0 for a caption of n words or fewer. */
export function repetitionCost(caption: string, n: number): number {
  const words = plainWords(caption);
  const runs = words.length - n + 1;
  if (runs < 2) return 0;
  const seen = new Set(Array.from({ length: runs }, (_, at) => words.slice(at, at + n).join(" ")));
  return 1 - seen.size / runs;
}

/**
 * The form that Seg-Zero and VideoSEG-O3 reward: an end token, and one [SEG] where a mask was asked for, none in a
 * caption. It says nothing about the content, so an empty answer that ends earns it; other terms prevent that.
 */
export const FORM = {
  name: "form",
  label: "Answer form",
  help: "Share of the conditions that the answer meets: an end token, and the expected number of [SEG] where it is sampled",
  measure: ({ loop, truncated, segments }): Measured => {
    const wanted = aboutLoop(loop).samples === "mask" ? 1 : 0;
    const faults = [
      ...(truncated ? ["no end token"] : []),
      ...(segments === undefined || segments === wanted ? [] : [`${segments} [SEG] instead of ${wanted}`]),
    ];
    const conditions = segments === undefined ? 1 : 2;
    const value = 1 - faults.length / conditions;
    return faults.length === 0 ? { value } : { value, note: faults.join(", ") };
  },
} as const satisfies TermSpec;

/**
 * A signed IoU: an overlap below the centre costs. Above the upper end it does not distinguish masks; add IoU where their
 * contours matter.
 */
const BANDED = {
  name: "banded",
  label: "Banded IoU",
  help: "Slope · (IoU − centre), clipped to the band: negative for overlaps below the centre, equal beyond the ends of the band",
  measure: ({ given, predicted }, { settings: { band, emptyPair } }: TermTools): Measured => {
    if (given === null) return NO_GIVEN;
    const { value, ...details } = shapedIou(given, predicted, "plain", emptyPair);
    return { ...details, value: value === null ? null : bandedIou(value, band) };
  },
} as const satisfies TermSpec;

/** @param iou 0..1 @returns low..high */
export function bandedIou(iou: number, { slope, centre, low, high }: IouBand): number {
  return Math.min(high, Math.max(low, slope * (iou - centre)));
}

/** Prevents long captions from gaining METEOR's recall (docs/spec/rewards.md#4-reward-hacking). */
const LENGTH = {
  name: "length",
  label: "Length cost",
  help: "Penalty for words beyond the free length",
  cost: true,
  measure: ({ caption, reference }, { settings }: TermTools): Measured =>
    reference === null ? NO_REFERENCE : { value: lengthCost(caption ?? "", reference, settings.lengthRatio) },
} as const satisfies TermSpec;

/**
 * 0 up to `ratio` times the reference's words, then linear up to 1 at `ratio + 1` times. A reference without words
 * counts as one word.
 */
export function lengthCost(caption: string, reference: string, ratio: number): number {
  const multiple = meteorTokens(caption).length / Math.max(1, meteorTokens(reference).length);
  return Math.min(1, Math.max(0, multiple - ratio));
}

/** Uses teacher forcing instead of decoding: every token of the caption contributes to the score of a mask. */
const LIKELIHOOD = {
  name: "likelihood",
  label: "Caption likelihood",
  help: "Likelihood of the row's caption given the predicted mask: the exponential of its mean log-probability per token",
  measure: (facts) => seen(facts, ({ likelihood }) => ({ value: likelihood })),
} as const satisfies TermSpec;

/** A mask that covers no visual token scores 0; with IoU, too, a missing mask scores 0. */
function seen(
  { predicted, likelihood }: RolloutFacts,
  term: (known: NonNullable<RolloutFacts["likelihood"]>) => Measured,
): Measured | undefined {
  if (likelihood === undefined) return undefined;
  if (likelihood !== null) return term(likelihood);
  return { value: 0, note: predicted === null ? "no mask" : "covers no visual token" };
}

const BOX = {
  name: "box",
  label: "Box IoU",
  help: "IoU of the two bounding boxes",
  measure: maskPairTerm(boxIou),
} as const satisfies TermSpec;

/** Overlap of the bounding boxes, 0..1; null when a mask is empty. */
export function boxIou(a: Rle, b: Rle): number | null {
  const [ax, ay, aw, ah] = rleBox(a);
  const [bx, by, bw, bh] = rleBox(b);
  if (aw * ah === 0 || bw * bh === 0) return null;
  const width = Math.max(0, Math.min(ax + aw, bx + bw) - Math.max(ax, bx));
  const height = Math.max(0, Math.min(ay + ah, by + bh) - Math.max(ay, by));
  return (width * height) / (aw * ah + bw * bh - width * height);
}

/**
 * gRefCOCO's no-target and target accuracy of one answer. Where every row has an object, any mask earns it; IoU prevents
 * masks on the wrong one.
 */
export const TARGET = {
  name: "target",
  label: "No target",
  help: "1 if the answer has a mask exactly where the row has an object, 0 for a mask without an object or an object without a mask",
  measure: ({ given, predicted }): Measured => {
    if (given === null) return NO_GIVEN;
    const [there, found] = [rleArea(given) > 0, predicted !== null && rleArea(predicted) > 0];
    if (there === found) return { value: 1 };
    return { value: 0, note: there ? "no mask for the object" : "a mask without an object" };
  },
} as const satisfies TermSpec;

/** Unlike the likelihood, it does not reward a mask for words that fit every object in the picture. */
const CONTRAST = {
  name: "contrast",
  label: "Caption contrast",
  help: "Probability of the row's caption given the predicted mask, relative to the captions of the picture's other objects",
  measure: (facts) =>
    seen(facts, ({ contrast }) =>
      contrast === null ? { value: null, note: "no other object in the picture" } : { value: contrast },
    ),
} as const satisfies TermSpec;

const CONFIDENCE = {
  name: "confidence",
  label: "Mask confidence",
  help: "Mean probability inside the predicted mask",
  measure: ({ confidence, predicted }): Measured => {
    if (confidence !== null) return { value: confidence };
    if (predicted === null) return { value: 0, note: "no mask" };
    return { value: null, note: "the mask's probabilities are not known" };
  },
} as const satisfies TermSpec;

/** The value of the custom reward, which the scorer computes in a sandbox. */
const USER = {
  name: "user",
  label: "Custom reward",
  help: "The function on the Rewards screen",
} as const satisfies TermSpec;

export const REWARD_TERMS = [
  IOU,
  ...PLUGIN_TERMS,
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

/** A measure of the given and the predicted mask; like IoU, it is 0 without a predicted mask. */
function maskPairTerm(compare: (given: Rle, predicted: Rle) => number | null) {
  return ({ given, predicted }: RolloutFacts): Measured => {
    if (given === null) return NO_GIVEN;
    if (predicted === null) return { value: 0, note: "no mask" };
    const value = compare(given, predicted);
    return value === null ? { value: 0, note: "empty mask" } : { value };
  };
}
