/** `cases.json` of a whole-model golden folder, validated once. */
import { isRecord, readJson } from "../../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { badInput } from "../../../src/engine/errors.ts";

export interface GoldenCase {
  readonly name: string;
  readonly text: string;
  /** With its stop word. */
  readonly answer: string;
  readonly promptIds: readonly number[];
  readonly answerIds: readonly number[];
  readonly promptString: string;
  /** [SEG] positions in prompt + answer. */
  readonly segPositions: readonly number[];
  readonly lossBase: number | undefined;
  readonly lossLora: number | undefined;
  /** Visual tokens of each region that the prompt marks. */
  readonly regionTokens: readonly number[];
}

export interface GoldenGreedy {
  readonly name: string;
  readonly ids: readonly number[];
  readonly prediction: string;
  readonly logprobs: readonly number[];
}

export interface GoldenCases {
  readonly tiles: number;
  readonly tokensPerTile: number;
  readonly template: string;
  readonly stopWords: readonly string[];
  readonly tokenIds: Readonly<Record<string, number>>;
  readonly cases: readonly GoldenCase[];
  readonly greedy: readonly GoldenGreedy[];
  /** `train`, unchanged. */
  readonly train: Readonly<Record<string, unknown>>;
}

/** @throws LabError("bad-input") when the file is absent or a field is missing */
export async function readCases(folder: ByteFolder): Promise<GoldenCases> {
  const source = folder.get("cases.json");
  if (source === undefined) throw badInput("The golden folder has no cases.json");
  const json = record(await readJson(source), "cases.json");
  const preprocess = record(json.preprocess, "preprocess");
  const regionTokens = list(json.regions ?? []).map((item) =>
    number(record(item, "region").grid_tokens, "grid_tokens"),
  );
  return {
    tiles: number(preprocess.tiles, "preprocess.tiles"),
    tokensPerTile: number(preprocess.tokens_per_tile, "preprocess.tokens_per_tile"),
    template: String(json.template),
    stopWords: list(json.stop_words).map(String),
    tokenIds: record(json.token_ids, "token_ids") as Record<string, number>,
    cases: list(json.cases).map((item) => parseCase(record(item, "case"), regionTokens)),
    greedy: Object.entries(record(json.greedy ?? {}, "greedy")).map(([name, value]) => {
      const entry = record(value, name);
      return {
        name,
        ids: numbers(entry.ids),
        prediction: String(entry.prediction),
        logprobs: numbers(entry.logprobs ?? []),
      };
    }),
    train: record(json.train ?? {}, "train"),
  };
}

/**
 * The case whose masks the SAM2 and training arrays belong to: the one named "refseg" if it has a [SEG], else the first
 * that has one.
 */
export function segmentedCase(cases: readonly GoldenCase[]): GoldenCase | undefined {
  const found = cases.filter((item) => item.segPositions.length > 0);
  return found.find((item) => item.name === "refseg") ?? found[0];
}

function parseCase(json: Record<string, unknown>, regionTokens: readonly number[]): GoldenCase {
  // A case that marks regions names the tile from which they are taken; the others have null there.
  const marked = json.vp_overall_mask !== null && json.vp_overall_mask !== undefined;
  return {
    name: String(json.name),
    text: String(json.text),
    answer: String(json.answer),
    promptIds: numbers(json.prompt_ids),
    answerIds: numbers(json.answer_ids),
    promptString: String(json.prompt_string),
    segPositions: numbers(json.seg_positions ?? []),
    lossBase: optional(json.sft_loss_base),
    lossLora: optional(json.sft_loss_lora),
    regionTokens: marked ? regionTokens : [],
  };
}

function record(value: unknown, what: string): Record<string, unknown> {
  if (!isRecord(value)) throw badInput(`cases.json: ${what} is not an object`, what);
  return value;
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw badInput("cases.json: a list is missing");
  return value;
}

function numbers(value: unknown): number[] {
  return list(value).map((item) => number(item, "a list of numbers"));
}

function number(value: unknown, what: string): number {
  if (typeof value !== "number") throw badInput(`cases.json: ${what} is not a number`, what);
  return value;
}

function optional(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
