/** Golden set of a whole model, the text part: token ids, prompts, labels, decoded answers and their ends. */
import { isRecord, readJson } from "../../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { openSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { buildPrompt, type Prompt } from "../../../src/engine/text/prompt.ts";
import { prediction, type StopRule, stopRule } from "../../../src/engine/text/template.ts";
import { openTokenizer, type Tokenizer } from "../../../src/engine/text/tokenizer.ts";
import { compareArrays, EXACT, missed } from "../compare.ts";
import type { ParityRow } from "../row.ts";
import { type GoldenCase, type GoldenGreedy, readCases } from "./sa2va-cases.ts";

/** Label of positions that are not supervised. */
const IGNORED = -100;

/** Rows for ids of named tokens, prompts, answers, labels and greedy texts of every case. */
export async function* sa2vaTextParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const cases = await readCases(folder);
  const configSource = folder.get("config.json");
  if (configSource === undefined) {
    yield missed("config.json", "configuration", "the golden folder has no config.json");
    return;
  }
  const config = parseSa2vaConfig(await readJson(configSource));
  const tokenizer = await openTokenizer(folder);
  const stop = stopRule(tokenizer, config.template);
  const names = Object.keys(cases.tokenIds);
  const found = names.map((name) => tokenizer.find(name) ?? -1);
  yield compareArrays("tokens", "ids of named tokens", Object.values(cases.tokenIds), found, EXACT);
  yield sameText("tokens", "template", cases.template.replaceAll("-", "_"), config.template);
  yield sameText("tokens", "stop words", cases.stopWords.join(" "), stop.words.join(" "));
  yield compareArrays("tokens", "visual tokens per tile", [cases.tokensPerTile], [config.tokensPerTile], EXACT);
  for (const golden of cases.cases) {
    const request = { text: golden.text, tiles: cases.tiles, regionTokenCounts: golden.regionTokens };
    let prompt: Prompt;
    try {
      prompt = buildPrompt(tokenizer, config, request);
    } catch (thrown) {
      yield missed(golden.name, "prompt", (thrown as Error).message);
      continue;
    }
    yield* promptRows(folder, tokenizer, golden, prompt);
  }
  const limit = await maxCompletionLength(folder);
  for (const greedy of cases.greedy) yield* greedyRows(tokenizer, stop, greedy, limit);
}

async function* promptRows(
  folder: ByteFolder,
  tokenizer: Tokenizer,
  golden: GoldenCase,
  prompt: Prompt,
): AsyncGenerator<ParityRow> {
  const answer = tokenizer.encode(golden.answer);
  const ids = [...prompt.ids, ...answer];
  yield sameText(golden.name, "prompt text", golden.promptString, prompt.full);
  yield compareArrays(golden.name, "prompt ids", golden.promptIds, prompt.ids, EXACT);
  yield compareArrays(golden.name, "answer ids", golden.answerIds, answer, EXACT);
  const segs = ids.flatMap((id, at) => (at >= prompt.ids.length && id === tokenizer.special.seg ? [at] : []));
  yield compareArrays(golden.name, "[SEG] positions", golden.segPositions, segs, EXACT);
  const source = folder.get(`golden_llm_${golden.name}.safetensors`);
  if (source === undefined) return;
  const arrays = await openSafetensors(source);
  const labels = ids.map((id, at) => (at < prompt.ids.length ? IGNORED : id));
  yield compareArrays(golden.name, "input_ids", await arrays.read("input_ids"), ids, EXACT);
  yield compareArrays(golden.name, "labels", await arrays.read("labels"), labels, EXACT);
}

function* greedyRows(
  tokenizer: Tokenizer,
  stop: StopRule,
  greedy: GoldenGreedy,
  limit: number | undefined,
): Generator<ParityRow> {
  yield sameText(`greedy ${greedy.name}`, "prediction", greedy.prediction, prediction(tokenizer, greedy.ids));
  const first = greedy.ids.findIndex((_, at) => stop.reached(greedy.ids.slice(0, at + 1)));
  // A run that reached the length limit may end without a stop.
  const length = first < 0 && greedy.ids.length === limit ? greedy.ids.length : first + 1;
  yield compareArrays(`greedy ${greedy.name}`, "ids until the stop rule fires", [greedy.ids.length], [length], EXACT);
}

async function maxCompletionLength(folder: ByteFolder): Promise<number | undefined> {
  const source = folder.get("generation_config.json");
  const json = source === undefined ? undefined : await readJson(source);
  return isRecord(json) && typeof json.max_new_tokens === "number" ? json.max_new_tokens : undefined;
}

function sameText(name: string, what: string, expected: string, got: string): ParityRow {
  const pass = expected === got;
  const error = pass ? 0 : 1;
  const note = `expected ${JSON.stringify(expected).slice(0, 120)}, got ${JSON.stringify(got).slice(0, 120)}`;
  return { case: name, what, maxAbs: error, maxRel: error, tolerance: "exact", pass, ...(pass ? {} : { note }) };
}
