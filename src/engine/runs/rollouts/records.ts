/** Rollouts as the page shows them and as runs store them: types, ranges of step, loop and numbers, and masks that decode. */
import * as z from "zod/mini";
import type { Stored } from "../../bytes/json.ts";
import { type Rle, rleRuns } from "../../data/mask/rle.ts";
import type { RewardTerm } from "../../rewards/term.ts";
import { LOOP_IDS, type LoopId } from "../../rl/loops/abouts.ts";

export type { LoopId } from "../../rl/loops/abouts.ts";

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
  /** Token text, "cell 3,5" or "candidate 2". */
  label: text,
  /** Token id, cell index or candidate index. */
  id: z.number().check(z.int()),
  /** log π under the weights being updated, in the first pass of the update (nats). */
  logp: number,
  /** log π under the weights that sampled. */
  samplingLogp: number,
  /** log π under the reference; null if β = 0 and there was no reference pass. */
  refLogp: numberOrNull,
  /**
   * Ratio in the first pass: exp(logp - samplingLogp), at sequence level of the row's mean; with the formula of the design
   * notes, relative to refLogp.
   */
  ratio: number,
  /** k3 estimate against the reference (nats); null without a reference. */
  kl: numberOrNull,
  entropy: number,
  /** Whether clipping removed this action's gradient. */
  clipped: z.boolean(),
});

/**
 * One action of a completion: a token of a caption or answer (loops 1 and 3), or a grid cell or candidate of the mask
 * policy (loop 2).
 */
export type ActionRecord = Stored<typeof ACTION>;

const SAMPLED = z.looseObject({
  /** RegionSample.id of the row. */
  rowId: text,
  imageId: text,
  /** Prompt of the policy, image placeholder collapsed. */
  prompt: text,
  /** The policy's text: the caption (loop 1) or the teacher-forced answer (loop 2). */
  completion: text,
  /** Loop 1: the sampled caption. Loop 2: the caption the policy was given. */
  caption: text,
  /** The data set's caption of the row. */
  referenceCaption: text,
  /** Loop 2: the partner's caption of the policy's mask. */
  captionPrime: z.nullable(text),
  /** The data set's mask of the row. */
  givenMask: mask,
  /** Loop 1: mask′ of the partner. Loop 2: the policy's sampled mask. Null without a mask. */
  predictedMask: z.nullable(mask),
  /** Loop 2: the policy's mask without exploration noise, the same for all rollouts of a group; see `drawnMask`. */
  greedyMask: z.nullable(mask),
  reward: numberOrNull,
  terms: z.array(TERM),
  /** Reached the length limit without an end token. */
  truncated: z.boolean(),
});

const ROLLOUT = z.extend(SAMPLED, {
  /** `<step>-<loop>-<group>-<index>`. */
  id: text,
  step: count,
  loop,
  group: count,
  index: count,
  advantage: number,
  actions: z.array(ACTION),
});

/** What the schema leaves open. */
interface Unchecked {
  readonly terms: readonly RewardTerm[];
  /**
   * Loop 2: the action chooses one of the decoder's masks instead of adding noise to one. Never stored, because the
   * names of the actions say the same once the step is computed.
   */
  readonly chosen?: true;
}

/** One rollout, sampled and scored by its loop. */
export type Rollout = Omit<Stored<typeof SAMPLED>, "terms"> & Unchecked;

/** A rollout after its update, with everything needed to draw it and to recompute every number shown about it. */
export type RolloutRecord = Omit<Stored<typeof ROLLOUT>, "terms"> &
  Unchecked & {
    /** Number of frames stacked in each mask; absent for a picture. */
    readonly frames?: number;
  };

/** The G rollouts of one prompt. */
export interface GroupRecord {
  readonly step: number;
  readonly loop: LoopId;
  readonly group: number;
  readonly rowId: string;
  readonly rewardMean: number;
  readonly rewardStd: number;
  /** All rewards are equal: this group gives no learning signal. */
  readonly zeroSpread: boolean;
  /** Token ids of the policy's prompt, including visual tokens; absent for imported rollouts. */
  readonly promptIds?: readonly number[];
  /** Loop 2: token ids of the forced answer that follows the prompt; absent in loop 1. */
  readonly answerIds?: readonly number[];
  /** CRC-32 of the decoded picture's RGB bytes, 8 hexadecimal digits; absent before the update and in older files. */
  readonly pixels?: string;
  readonly rollouts: readonly RolloutRecord[];
  /** Of the running step, without advantages yet and without what later phases compute; never stored. */
  readonly unfinished?: true;
}

/** Flat metric name → value; names and meanings are in runs/metrics/metric-table.ts. NaN is kept, missing is absent. */
export type StepMetrics = Readonly<Record<string, number>>;

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
