import { isRecord, readJson } from "../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import { badInput } from "../../src/engine/errors.ts";
import {
  type JudgeQuestion,
  parseAnswer,
  type ScoredChoice,
  scoreAnswers,
} from "../../src/engine/rewards/judge-score.ts";
import { CaseCheck } from "./case-check.ts";
import type { ParityRow } from "./row.ts";

type Json = Record<string, unknown>;

const TOLERANCE = 1e-12;

/**
 * Runs every JSON file of a golden judge folder through answer parsing and caption scoring, distinguished by content;
 * one row per case. Where the reference raised an exception or chose an index outside the choices, no verdict is
 * expected.
 * @param _deps unused; part of the common form of parity modules
 */
export async function* judgeParity(folder: ByteFolder, _deps?: unknown): AsyncGenerator<ParityRow> {
  for (const [path, cases] of await caseFiles(folder)) {
    if (cases.length === 0) yield new CaseCheck(path, TOLERANCE).failed("there are no judge cases in it");
    for (const [at, item] of cases.entries()) {
      const check = new CaseCheck(`${path} ${typeof item.name === "string" ? item.name : `case ${at}`}`, TOLERANCE);
      if (isParse(item)) yield check.run(() => checkParse(item, check));
      else if (isScore(item)) yield check.run(() => checkScore(item, check));
      else yield check.failed("the case is neither an answer with choices nor a list of questions");
    }
  }
}

function checkParse(item: Json, check: CaseCheck): void {
  const choices = (item.choices as unknown[]).map(text);
  const parsed = parseAnswer(text(item.response), choices);
  const got = parsed.kind === "choice" ? parsed.index : parsed.kind;
  const { index } = item;
  if (item.error !== undefined || (typeof index === "number" && index >= choices.length)) {
    check.equal("no verdict", "no-verdict", got);
  } else if (index !== undefined) check.equal("choice", index === null ? "none" : index, got);
}

function checkScore(item: Json, check: CaseCheck): void {
  const scored = scoreAnswers((item.questions as unknown[]).map(question), (item.responses as unknown[]).map(text));
  if (item.error !== undefined) {
    check.equal("no verdict", "no-verdict", scored.kind);
    return;
  }
  if (scored.kind === "no-verdict") throw badInput(`no verdict: ${scored.reason}`);
  check.close("score", item.score, scored.score);
  check.close("positive score", item.score_pos, scored.positive);
  check.close("negative score", item.score_neg, scored.negative);
  check.equal("negative questions", item.neg_valid_num, scored.negativeCount);
  check.equal("recognition", item.recognition_result, scored.recognised);
}

function question(value: unknown): JudgeQuestion {
  const type = isRecord(value) ? value.type : undefined;
  if (!isRecord(value) || (type !== "recognition" && type !== "positive" && type !== "negative")) {
    throw badInput("a question of the case has none of the types recognition, positive, negative");
  }
  if (!Array.isArray(value.choices)) throw badInput("a question of the case has no choices");
  return { type, question: text(value.question), choices: value.choices.map(choice) };
}

function choice(value: unknown): ScoredChoice {
  const [name, score]: unknown[] = Array.isArray(value) ? value : [];
  if (typeof score !== "number" && score !== "correct" && score !== "incorrect") {
    throw badInput(`the choice ${JSON.stringify(value)} has no score`);
  }
  return [text(name), score];
}

function isParse(item: Json): boolean {
  return "response" in item && Array.isArray(item.choices);
}

function isScore(item: Json): boolean {
  return Array.isArray(item.questions) && Array.isArray(item.responses);
}

async function caseFiles(folder: ByteFolder): Promise<[string, Json[]][]> {
  const files: [string, Json[]][] = [];
  for (const path of folder.paths) {
    const source = path.endsWith(".json") ? folder.get(path) : undefined;
    if (source === undefined) continue;
    const json = await readJson(source);
    files.push([path, isRecord(json) && Array.isArray(json.cases) ? json.cases.filter(isRecord) : []]);
  }
  return files;
}

function text(value: unknown): string {
  if (typeof value !== "string") throw badInput(`${JSON.stringify(value)} is given where a text is expected`);
  return value;
}
