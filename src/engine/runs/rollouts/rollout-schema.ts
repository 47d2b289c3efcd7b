/** Schema of a stored rollout for views and scoring: types, ranges of step, loop and numbers, and masks that decode. */
import * as z from "zod/mini";
import { type Rle, rleRuns } from "../../data/mask/rle.ts";
import { LOOP_IDS } from "../../rl/loops/abouts.ts";
import type { GroupRecord, RolloutRecord } from "./records.ts";

const count = z.number().check(z.int(), z.gte(0));
/** NaN and infinities are valid: a reward may be missing, a ratio may overflow. */
const number = z.custom<number>((value) => typeof value === "number", "no number");
const numberOrNull = z.nullable(number);
const text = z.string();
const loop = z.literal(LOOP_IDS);
const texts = z.array(text);

const mask = z.custom<Rle>((value) => {
  const { counts, size } = (value ?? {}) as Partial<Rle>;
  if (typeof counts !== "string" || !Array.isArray(size)) return false;
  // Throws its own message if it does not decode.
  rleRuns(value as Rle);
  return true;
}, "no mask");

const TERM = z.looseObject({
  name: text,
  value: numberOrNull,
  weight: number,
  note: z.optional(text),
  iou: z.optional(z.looseObject({ intersection: number, union: number })),
  meteor: z.optional(z.looseObject({ hypothesis: texts, reference: texts, matches: z.array(z.array(z.unknown())) })),
  judge: z.optional(z.looseObject({ answers: z.array(z.looseObject({ question: text, choices: texts })), raw: texts })),
});

const ACTION = z.looseObject({
  label: text,
  id: z.number().check(z.int()),
  logp: number,
  oldLogp: number,
  refLogp: numberOrNull,
  ratio: number,
  kl: numberOrNull,
  entropy: number,
  clipped: z.boolean(),
});

const ROLLOUT = z.looseObject({
  id: text,
  step: count,
  loop,
  group: count,
  index: count,
  rowId: text,
  imageId: text,
  prompt: text,
  completion: text,
  caption: text,
  referenceCaption: text,
  captionPrime: z.nullable(text),
  givenMask: mask,
  predictedMask: z.nullable(mask),
  greedyMask: z.nullable(mask),
  reward: numberOrNull,
  terms: z.array(TERM),
  advantage: number,
  actions: z.array(ACTION),
  truncated: z.boolean(),
});

const HEADER = z.looseObject({ rewardMean: number, rewardStd: number, zeroSpread: z.boolean() });

/** @throws Error naming the first invalid field, LabError for a mask that does not decode */
export function checkRollout(header: Omit<GroupRecord, "rollouts">, rollout: RolloutRecord): void {
  for (const [schema, value] of [
    [HEADER, header],
    [ROLLOUT, rollout],
  ] as const) {
    const issue = schema.safeParse(value).error?.issues[0];
    if (issue !== undefined) throw new Error(`"${issue.path.join(".")}" is ${issue.message}`);
  }
}
