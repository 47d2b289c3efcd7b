import { isRecord, readJson } from "../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import { badInput } from "../../src/engine/errors.ts";
import { METEOR_DEFAULTS, Meteor, porterStem } from "../../src/engine/rewards/meteor/meteor.ts";
import { meteorTokens } from "../../src/engine/rewards/meteor/tokens.ts";
import { parseWordnet, type Wordnet } from "../../src/engine/rewards/wordnet.ts";
import { CaseCheck } from "./case-check.ts";
import type { ParityRow } from "./row.ts";

type Json = Record<string, unknown>;

const TOLERANCE = 1e-12;

/**
 * Runs every JSON file of a golden METEOR folder through the scorer: pairs with alignment, several references and
 * other parameters, tokens, stems and synonym sets, distinguished by content. One row per pair, variant and token case;
 * one row for all stems or synonym sets of a file, whose `maxAbs` counts the words that differ.
 * @param deps.wordnet the bytes of the WordNet table
 */
export async function* meteorParity(
  folder: ByteFolder,
  deps: { readonly wordnet: Uint8Array },
): AsyncGenerator<ParityRow> {
  const wordnet = parseWordnet(deps.wordnet);
  const meteor = new Meteor(wordnet);
  for (const [path, json] of await jsonFiles(folder)) {
    const kinds = kindsOf(json);
    if (kinds.length === 0) {
      const check = new CaseCheck(path, TOLERANCE);
      yield check.failed("no pairs, variants, tokens, stems or synonyms of METEOR in it");
    }
    for (const kind of kinds) yield* kind(path, json, wordnet, meteor);
  }
}

type Kind = (path: string, json: Json, wordnet: Wordnet, meteor: Meteor) => Generator<ParityRow>;

function kindsOf(json: Json): Kind[] {
  const cases = items(json, "cases");
  const kinds: Kind[] = [];
  if (cases.some((item) => "hypothesis" in item && "reference" in item)) kinds.push(checkPairs);
  if (cases.some((item) => "text" in item && "tokens" in item)) kinds.push(checkTokens);
  if (items(json, "multi").length > 0) kinds.push(checkSeveral);
  if (items(json, "parameters").length > 0) kinds.push(checkParameters);
  if (isRecord(json.stems)) kinds.push(checkStems);
  if (isRecord(json.lemmas) || Array.isArray(json.none)) kinds.push(checkSynonyms);
  return kinds;
}

function* checkPairs(path: string, json: Json, wordnet: Wordnet, meteor: Meteor): Generator<ParityRow> {
  for (const [at, item] of items(json, "cases").entries()) {
    const check = new CaseCheck(`${path} ${String(item.id ?? at)}`, TOLERANCE);
    yield check.run(() => {
      const detail = meteor.score(text(item.reference), text(item.hypothesis));
      check.equal("reference tokens", item.referenceTokens, detail.reference);
      check.equal("hypothesis tokens", item.hypothesisTokens, detail.hypothesis);
      check.equal("reference length", item.referenceLength, detail.reference.length);
      check.equal("hypothesis length", item.hypothesisLength, detail.hypothesis.length);
      // Newer databases have only a recorded score.
      if (wordnet.version === "3.1" && item.scoreWordNet31 !== undefined) {
        check.close("score with WordNet 3.1", item.scoreWordNet31, detail.score);
        return;
      }
      for (const stage of ["exact", "stem", "synonym"] as const) {
        check.equal(`${stage} matches`, item[stage], detail.matches.filter((match) => match[2] === stage).length);
      }
      check.equal("matches", item.matches, detail.matches.length);
      check.equal("chunks", item.chunks, detail.chunks);
      check.equal(
        "alignment",
        item.alignment,
        detail.matches.map(([hypothesis, reference]) => [hypothesis, reference]),
      );
      check.close("precision", item.precision, detail.precision);
      check.close("recall", item.recall, detail.recall);
      check.close("F-mean", item.fmean, detail.fMean);
      check.close("score", item.score, detail.score);
    });
  }
}

function* checkTokens(path: string, json: Json): Generator<ParityRow> {
  for (const [at, item] of items(json, "cases").entries()) {
    if (!("tokens" in item)) continue;
    const check = new CaseCheck(`${path} case ${at}`, TOLERANCE);
    yield check.run(() => check.equal("tokens", item.tokens, meteorTokens(text(item.text))));
  }
}

function* checkSeveral(path: string, json: Json, _wordnet: Wordnet, meteor: Meteor): Generator<ParityRow> {
  for (const [at, item] of items(json, "multi").entries()) {
    const check = new CaseCheck(`${path} several references ${at}`, TOLERANCE);
    yield check.run(() => {
      const references = list(item.references).map(text);
      const hypothesis = text(item.hypothesis);
      check.close("score", item.score, meteor.scoreBest(references, hypothesis).score);
      for (const [which, score] of list(item.each).entries()) {
        check.close(`score of reference ${which}`, score, meteor.score(text(references[which]), hypothesis).score);
      }
    });
  }
}

function* checkParameters(path: string, json: Json, wordnet: Wordnet): Generator<ParityRow> {
  for (const [at, item] of items(json, "parameters").entries()) {
    const check = new CaseCheck(`${path} parameters ${at}`, TOLERANCE);
    yield check.run(() => {
      const number = (value: unknown, otherwise: number): number => (typeof value === "number" ? value : otherwise);
      const meteor = new Meteor(wordnet, {
        alpha: number(item.alpha, METEOR_DEFAULTS.alpha),
        beta: number(item.beta, METEOR_DEFAULTS.beta),
        gamma: number(item.gamma, METEOR_DEFAULTS.gamma),
      });
      check.close("score", item.score, meteor.score(text(item.reference), text(item.hypothesis)).score);
    });
  }
}

function* checkStems(path: string, json: Json): Generator<ParityRow> {
  const check = new CaseCheck(`${path} stems`, TOLERANCE);
  yield check.run(() => {
    for (const [word, stem] of Object.entries(json.stems as Json)) {
      check.equal("stems", stem, porterStem(word), JSON.stringify(word));
    }
  });
}

function* checkSynonyms(path: string, json: Json, wordnet: Wordnet): Generator<ParityRow> {
  const check = new CaseCheck(`${path} synonyms`, TOLERANCE);
  yield check.run(() => {
    for (const [word, names] of Object.entries(isRecord(json.lemmas) ? json.lemmas : {})) {
      check.equal("synonym sets", list(names).map(text).sort(), [...wordnet.lemmas(word)].sort(), JSON.stringify(word));
    }
    for (const word of list(json.none).map(text)) {
      check.equal("words without synonyms", [], [...wordnet.lemmas(word)], JSON.stringify(word));
    }
  });
}

async function jsonFiles(folder: ByteFolder): Promise<[string, Json][]> {
  const files: [string, Json][] = [];
  for (const path of folder.paths) {
    const source = path.endsWith(".json") ? folder.get(path) : undefined;
    if (source === undefined) continue;
    const json = await readJson(source);
    files.push([path, isRecord(json) ? json : {}]);
  }
  return files;
}

function items(json: Json, key: string): Json[] {
  return list(json[key]).filter(isRecord);
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  if (typeof value !== "string") throw badInput(`${JSON.stringify(value)} is given where a text is expected`);
  return value;
}
