/** The columns of a rollout file: Arrow type, Hugging Face feature and source of the value. */
import { Bool, type DataType, Field, Float64, Int32, List, Schema, Struct, Utf8 } from "apache-arrow";
import type { Rle } from "../../data/mask/rle.ts";
import type { RewardTerm } from "../../rewards/term.ts";
import { exactJson, type Json } from "../numbers-json.ts";
import type { ActionRecord, GroupRecord, RolloutRecord } from "./records.ts";

const REWARD_PREFIX = "rewards/";

/** A rollout with its group. */
export type RolloutRow = RolloutRecord & { readonly groupOf: GroupRecord };

interface Column {
  readonly type: DataType;
  /** The feature as in `dataset_info.json`. */
  readonly feature: Json;
  readonly read: (row: RolloutRow) => unknown;
}

const value = (dtype: string): Json => ({ dtype, _type: "Value" });
const text = (read: Column["read"]): Column => ({ type: new Utf8(), feature: value("string"), read });
const whole = (read: Column["read"]): Column => ({ type: new Int32(), feature: value("int32"), read });
const real = (read: Column["read"]): Column => ({ type: new Float64(), feature: value("float64"), read });
const flag = (read: Column["read"]): Column => ({ type: new Bool(), feature: value("bool"), read });

const wholes = (read: (row: RolloutRow) => readonly number[] | null): Column => ({
  type: new List(new Field("item", new Int32(), true)),
  feature: [value("int32")],
  read,
});

const rle = (read: (row: RolloutRow) => Rle | null): Column => ({
  type: new Struct([
    new Field("counts", new Utf8(), true),
    new Field("size", new List(new Field("item", new Int32(), true)), true),
  ]),
  feature: { counts: value("string"), size: [value("int32")] },
  read: (row) => {
    const mask = read(row);
    return mask === null ? null : { counts: mask.counts, size: [...mask.size] };
  },
});

const ACTION = {
  label: text(() => null),
  id: whole(() => null),
  logp: real(() => null),
  sampling_logp: real(() => null),
  ref_logp: real(() => null),
  ratio: real(() => null),
  kl: real(() => null),
  entropy: real(() => null),
  clipped: flag(() => null),
} as const;

const actions: Column = {
  type: new List(
    new Field("item", new Struct(Object.entries(ACTION).map(([name, column]) => new Field(name, column.type, true)))),
  ),
  feature: [Object.fromEntries(Object.entries(ACTION).map(([name, column]) => [name, column.feature]))],
  read: (row) => row.actions.map(actionCell),
};

/** Fields of actions by the names under which earlier versions wrote them. */
export const FORMER_FIELDS: Readonly<Record<string, keyof typeof ACTION>> = { old_logp: "sampling_logp" };

export function actionCell({ samplingLogp: sampling_logp, refLogp: ref_logp, ...rest }: ActionRecord) {
  return { ...rest, sampling_logp, ref_logp } satisfies Record<keyof typeof ACTION, unknown>;
}

/** Every column but the `rewards/<name>` ones, in file order. */
export const COLUMNS = {
  id: text((row) => row.id),
  step: whole((row) => row.step),
  loop: whole((row) => row.loop),
  group: whole((row) => row.group),
  index: whole((row) => row.index),
  row_id: text((row) => row.rowId),
  image_id: text((row) => row.imageId),
  prompt: text((row) => row.prompt),
  completion: text((row) => row.completion),
  caption: text((row) => row.caption),
  reference_caption: text((row) => row.referenceCaption),
  caption_prime: text((row) => row.captionPrime),
  given_mask: rle((row) => row.givenMask),
  predicted_mask: rle((row) => row.predictedMask),
  greedy_mask: rle((row) => row.greedyMask),
  reward: real((row) => row.reward),
  advantage: real((row) => row.advantage),
  truncated: flag((row) => row.truncated),
  group_reward_mean: real((row) => row.groupOf.rewardMean),
  group_reward_std: real((row) => row.groupOf.rewardStd),
  group_zero_spread: flag((row) => row.groupOf.zeroSpread),
  prompt_runs: wholes((row) => (row.groupOf.promptIds === undefined ? null : toRuns(row.groupOf.promptIds))),
  answer_ids: wholes((row) => row.groupOf.answerIds ?? null),
  pixels: text((row) => row.groupOf.pixels ?? null),
  actions,
  terms_json: text((row) => exactJson(row.terms as unknown as Json)),
} as const satisfies Record<string, Column>;

/** Only in files with clips. */
const FRAMES: Readonly<Record<string, Column>> = { frames: whole((row) => row.frames ?? null) };

/** Reader of a term's column: its value, null if the rollout lacks the term or the value is missing. */
function readTerm(name: string): (row: RolloutRow) => number | null {
  return (row) => row.terms.find((term: RewardTerm) => term.name === name)?.value ?? null;
}

/** Reader of a column of `rolloutSchema`. */
export function readerOf(name: string): Column["read"] {
  const column = COLUMNS[name as keyof typeof COLUMNS] ?? FRAMES[name];
  return column?.read ?? readTerm(name.slice(REWARD_PREFIX.length));
}

/**
 * Schema with one `rewards/<name>` column per term, and the features that Hugging Face datasets reads.
 * @param clips whether some rollouts are of clips
 */
export function rolloutSchema(terms: readonly string[], clips: boolean): Schema {
  const columns: [string, Column][] = [
    ...Object.entries(COLUMNS),
    ...(clips ? Object.entries(FRAMES) : []),
    ...terms.map((name): [string, Column] => [`${REWARD_PREFIX}${name}`, real(readTerm(name))]),
  ];
  const features = Object.fromEntries(columns.map(([name, column]) => [name, column.feature]));
  return new Schema(
    columns.map(([name, column]) => new Field(name, column.type, true)),
    new Map([["huggingface", JSON.stringify({ info: { features } })]]),
  );
}

/** Token ids as pairs of id and repetitions, because there are runs of thousands of visual tokens. */
function toRuns(ids: readonly number[]): number[] {
  const runs: number[] = [];
  for (const id of ids) {
    if (runs.at(-2) === id) runs[runs.length - 1] = (runs.at(-1) as number) + 1;
    else runs.push(id, 1);
  }
  return runs;
}
