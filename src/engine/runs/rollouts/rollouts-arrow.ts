/**
 * Rollouts as an Arrow IPC stream with one row per rollout, readable by pandas and Hugging Face datasets. Columns of
 * the group repeat in its rows. Numbers are doubles, so that nothing is rounded; null is missing, NaN is NaN.
 */

import {
  Bool,
  type Data,
  type DataType,
  Float64,
  Int32,
  List,
  makeData,
  RecordBatch,
  Struct,
  Table,
  tableToIPC,
  Utf8,
} from "apache-arrow";
import { memorySource } from "../../bytes/source.ts";
import { openArrow } from "../../data/arrow/arrow-table.ts";
import { parseRle } from "../../data/mask/rle.ts";
import type { Cell, Table as DataTable } from "../../data/tables/table.ts";
import { badInput, LabError } from "../../errors.ts";
import type { RewardTerm } from "../../rewards/term.ts";
import { parseExactJson } from "../numbers-json.ts";
import { type ActionRecord, checkRollout, type GroupRecord, type LoopId, type RolloutRecord } from "./records.ts";
import {
  type actionCell,
  type COLUMNS,
  FORMER_FIELDS,
  type RolloutRow,
  readerOf,
  rolloutSchema,
} from "./rollout-columns.ts";

/** Terms that have a column in every file, so that the files of all steps have the same columns. */
const USUAL_TERMS = ["iou", "meteor"];

/** Continuation marker and a length of zero. */
const END_OF_STREAM = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/** The stream of a step. Groups without rollouts are left out. */
export function groupsToArrow(groups: readonly GroupRecord[]): Uint8Array {
  const rows = groups.flatMap((group) => group.rollouts.map((rollout): RolloutRow => ({ ...rollout, groupOf: group })));
  const names = new Set(USUAL_TERMS);
  for (const row of rows) for (const term of row.terms) names.add(term.name);
  const terms = [...names].sort();
  const clips = rows.some(({ frames }) => frames !== undefined);
  const schema = rolloutSchema(terms, clips);
  const columns = schema.fields.map(({ name, type }) => columnData(type as DataType, rows.map(readerOf(name))));
  const struct = makeData({ type: new Struct(schema.fields), length: rows.length, nullCount: 0, children: columns });
  return tableToIPC(new Table([new RecordBatch(schema, struct)]), "stream");
}

/**
 * Groups of a stream, in the order in which they were written. Uses the reader of shards, which checks every length;
 * the library's reader trusts them and would exhaust memory on a damaged file.
 * @throws LabError("bad-input") naming `path` when the bytes are not rollouts of the lab
 */
export async function groupsFromArrow(bytes: Uint8Array, path: string): Promise<readonly GroupRecord[]> {
  const groups: { header: Omit<GroupRecord, "rollouts">; rollouts: RolloutRecord[] }[] = [];
  try {
    // Without this check, a stream cut between two batches would look complete.
    if (!endsWith(bytes, END_OF_STREAM)) throw new Error("it does not end as an Arrow stream does");
    const table = await openArrow(memorySource(path, bytes));
    if (table.problem !== undefined) throw new Error(table.problem);
    for (let n = 0; n < table.rows; n++) {
      const { header, rollout } = fromRow(await rowOf(table, n));
      checkRollout(header, rollout);
      const last = groups.at(-1);
      const same =
        last?.header.group === header.group && last.header.loop === header.loop && last.header.step === header.step;
      if (last !== undefined && same) last.rollouts.push(rollout);
      else groups.push({ header, rollouts: [rollout] });
    }
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.message : String(thrown);
    throw badInput(`${path} holds no rollouts that can be read (${cause}); the file is kept`, path, thrown);
  }
  return groups.map(({ header, rollouts }) => ({ ...header, rollouts }));
}

/** Cells of a row by column name. */
async function rowOf(table: DataTable, row: number): Promise<ReadonlyMap<string, Cell>> {
  const cells = new Map<string, Cell>();
  for (const [at, { name }] of table.columns.entries()) cells.set(name, await table.cell(at, row));
  return cells;
}

function fromRow(cells: ReadonlyMap<string, Cell>): { header: Omit<GroupRecord, "rollouts">; rollout: RolloutRecord } {
  const cell = <T>(name: keyof typeof COLUMNS): T => {
    const value = cells.get(name);
    if (value === undefined) throw new Error(`there is no column "${name}"`);
    return value as T;
  };
  const mask = (name: "given_mask" | "predicted_mask" | "greedy_mask") => {
    const value = cell<{ counts: string; size: readonly number[] } | null>(name);
    if (value === null) return null;
    return parseRle(value);
  };
  const step = cell<number>("step");
  const loop = cell<LoopId>("loop");
  const group = cell<number>("group");
  const rowId = cell<string>("row_id");
  const given = mask("given_mask");
  if (given === null) throw new Error("a row has no given_mask");
  return {
    header: {
      step,
      loop,
      group,
      rowId,
      rewardMean: cell("group_reward_mean"),
      rewardStd: cell("group_reward_std"),
      zeroSpread: cell("group_zero_spread"),
      ...inputFacts(cells),
    },
    rollout: {
      id: cell("id"),
      step,
      loop,
      group,
      index: cell("index"),
      rowId,
      imageId: cell("image_id"),
      prompt: cell("prompt"),
      completion: cell("completion"),
      caption: cell("caption"),
      referenceCaption: cell("reference_caption"),
      captionPrime: cell("caption_prime"),
      givenMask: given,
      predictedMask: mask("predicted_mask"),
      greedyMask: mask("greedy_mask"),
      reward: cell("reward"),
      terms: parseExactJson(cell("terms_json"), "terms_json") as unknown as readonly RewardTerm[],
      advantage: cell("advantage"),
      actions: cell<readonly Readonly<Record<string, unknown>>[]>("actions").map(toAction),
      truncated: cell("truncated"),
      ...clipFrames(cells),
    },
  };
}

/** Maximum tokens of a prompt, far above any context length; a limit for damaged files. */
const MOST_PROMPT_IDS = 2 ** 20;

/** Token ids of prompt and answer and the hash of the pixels, as far as the file has them. */
function inputFacts(cells: ReadonlyMap<string, Cell>): Pick<GroupRecord, "promptIds" | "answerIds" | "pixels"> {
  const runs = (cells.get("prompt_runs") ?? null) as readonly number[] | null;
  const answerIds = (cells.get("answer_ids") ?? null) as readonly number[] | null;
  const pixels = (cells.get("pixels") ?? null) as string | null;
  return {
    ...(runs === null ? {} : { promptIds: fromRuns(runs) }),
    ...(answerIds === null ? {} : { answerIds }),
    ...(pixels === null ? {} : { pixels }),
  };
}

/** Number of frames of a clip, which must divide the given mask. */
function clipFrames(cells: ReadonlyMap<string, Cell>): Pick<RolloutRecord, "frames"> {
  const frames = cells.get("frames") ?? null;
  if (frames === null) return {};
  const { size } = cells.get("given_mask") as { size: readonly [number, number] };
  if (typeof frames === "number" && Number.isInteger(frames) && frames >= 1 && size[0] % frames === 0)
    return { frames };
  throw new Error(`frames is ${JSON.stringify(frames)}, which does not divide a mask of ${size[0]} rows`);
}

/** Inverse of the pairs of id and repetitions. */
function fromRuns(runs: readonly number[]): number[] {
  const ids: number[] = [];
  for (let at = 0; at + 1 < runs.length; at += 2) {
    const [id, times] = [runs[at] as number, runs[at + 1] as number];
    if (!(times >= 1 && ids.length + times <= MOST_PROMPT_IDS)) throw new Error("prompt_runs holds no runs of tokens");
    for (let n = 0; n < times; n++) ids.push(id);
  }
  return ids;
}

type ActionCell = ReturnType<typeof actionCell>;

function toAction(cell: Readonly<Record<string, unknown>>): ActionRecord {
  const fields = Object.entries(cell).map(([name, value]) => [FORMER_FIELDS[name] ?? name, value] as const);
  const {
    label,
    id,
    logp,
    sampling_logp: samplingLogp,
    ref_logp: refLogp,
    ratio,
    kl,
    entropy,
    clipped,
  } = Object.fromEntries(fields) as ActionCell;
  if (
    typeof label !== "string" ||
    [id, logp, samplingLogp, ratio, entropy].some((value) => typeof value !== "number")
  ) {
    throw new Error("an action lacks its label or a number");
  }
  return { label, id, logp, samplingLogp, refLogp, ratio, kl, entropy, clipped };
}

function endsWith(bytes: Uint8Array, end: readonly number[]): boolean {
  return bytes.length >= end.length && end.every((byte, at) => bytes[bytes.length - end.length + at] === byte);
}

// Arrow columns from plain values. The library's builders compile code from text, which the content security policy
// forbids, so this module lays out the buffers of the Arrow columnar format.

/**
 * The column of `values`, null where a value is null or undefined. Structs take objects, lists take arrays.
 * @throws LabError("internal") for a type other than Utf8, Int32, Float64, Bool, Struct and List
 */
export function columnData(type: DataType, values: readonly unknown[]): Data {
  const length = values.length;
  const nullBitmap = bits(values, (value) => value !== null && value !== undefined);
  const nullCount = values.filter((value) => value === null || value === undefined).length;
  const common = { length, nullCount, nullBitmap };
  if (type instanceof Utf8) {
    const texts = values.map((value) => new TextEncoder().encode(typeof value === "string" ? value : ""));
    return makeData({ type, ...common, ...joined(texts) });
  }
  if (type instanceof Int32)
    return makeData({ type, ...common, data: Int32Array.from(values, (value) => Number(value)) });
  if (type instanceof Float64) {
    const data = Float64Array.from(values, (value) => (value === null || value === undefined ? 0 : Number(value)));
    return makeData({ type, ...common, data });
  }
  if (type instanceof Bool) return makeData({ type, ...common, data: bits(values, (value) => value === true) });
  if (type instanceof Struct) {
    const children = type.children.map((field) =>
      columnData(
        field.type as DataType,
        values.map((value) => (value as Record<string, unknown> | null)?.[field.name]),
      ),
    );
    return makeData({ type, ...common, children });
  }
  if (type instanceof List) {
    const lists = values.map((value) => (value ?? []) as readonly unknown[]);
    const child = columnData(type.valueType as DataType, lists.flat(1));
    return makeData({ type, ...common, valueOffsets: offsets(lists), child });
  }
  throw new LabError("internal", `A column of type ${String(type)} cannot be written`);
}

/** One bit per value, the first in the lowest bit of the first byte. */
function bits(values: readonly unknown[], set: (value: unknown) => boolean): Uint8Array {
  const bitmap = new Uint8Array(Math.ceil(values.length / 64) * 8);
  for (const [at, value] of values.entries()) {
    if (set(value)) bitmap[at >> 3] = (bitmap[at >> 3] as number) | (1 << (at & 7));
  }
  return bitmap;
}

/** Start of each item, then the end of the last. */
function offsets(items: readonly { readonly length: number }[]): Int32Array {
  const starts = new Int32Array(items.length + 1);
  for (const [at, item] of items.entries()) starts[at + 1] = (starts[at] as number) + item.length;
  return starts;
}

function joined(texts: readonly Uint8Array[]): { valueOffsets: Int32Array; data: Uint8Array } {
  const valueOffsets = offsets(texts);
  const data = new Uint8Array(valueOffsets.at(-1) ?? 0);
  for (const [at, text] of texts.entries()) data.set(text, valueOffsets[at]);
  return { valueOffsets, data };
}
