/** Scores of the evaluation golden set: masks, captions, grounded answers, DLC-Bench, category names, standard errors. */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { cleanAnswer, cleanCategory, wordIou } from "../../../src/engine/eval/benchmarks/category-match.ts";
import { cider } from "../../../src/engine/eval/benchmarks/cider.ts";
import { dlcScores } from "../../../src/engine/eval/benchmarks/dlc.ts";
import { parseGcgAnswer } from "../../../src/engine/eval/benchmarks/gcg-answer.ts";
import { ptbTokens } from "../../../src/engine/eval/benchmarks/ptb-tokens.ts";
import { cleanRegionCaption } from "../../../src/engine/eval/benchmarks/region-text.ts";
import { CaseCheck } from "../case-check.ts";
import type { ParityRow } from "../row.ts";
import { clusterRows, dlcErrorRows } from "./clusters.ts";
import { gcgRows } from "./gcg.ts";
import { goldenJson, type Json, number, object, objects, text, texts } from "./golden.ts";
import { gresRows, referringRows } from "./referring.ts";

const TOLERANCE = 1e-9;
const CIDER_TOLERANCE = 1e-6;

/** Runs the score files that are there; one row per case or set. */
export async function* evaluationParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const parts: readonly (readonly [path: string, rows: (json: Json) => Iterable<ParityRow>])[] = [
    ["iou/res.json", referringRows],
    ["iou/gref.json", gresRows],
    ["caption/cider.json", ciderRows],
    ["caption/ptb.json", tokenRows],
    ["caption/region_clean.json", cleanerRows],
    ["gcg/parse.json", answerRows],
    ["dlc/scores.json", dlcRows],
    ["semantic/siou.json", categoryRows],
    ["stats/cluster.json", clusterRows],
  ];
  for (const [path, rows] of parts) {
    const json = await goldenJson(folder, path);
    if (json !== undefined) yield* rows(json);
  }
  yield* await gcgRows(folder);
}

function* ciderRows(json: Json): Iterable<ParityRow> {
  for (const set of objects(json.sets)) {
    const check = new CaseCheck(`caption/cider.json ${text(set.name)}`, CIDER_TOLERANCE);
    yield check.run(() => {
      const items = objects(set.items);
      const found = cider(
        items.map((item) => ({
          references: texts(item.references).map(ptbTokens),
          hypothesis: ptbTokens(text(item.hypothesis)),
        })),
      );
      check.close("corpus", object(set.corpus).cider, found.mean);
      for (const [at, item] of items.entries()) check.close("items", item.cider, found.scores[at] as number);
    });
  }
}

function* tokenRows(json: Json): Iterable<ParityRow> {
  for (const item of objects(json.cases)) {
    const check = new CaseCheck(`caption/ptb.json ${JSON.stringify(item.text)}`, TOLERANCE);
    yield check.run(() => check.equal("tokens", item.tokens, ptbTokens(text(item.text)).join(" ")));
  }
}

function* cleanerRows(json: Json): Iterable<ParityRow> {
  for (const item of objects(json.cases)) {
    const check = new CaseCheck(`caption/region_clean.json ${JSON.stringify(item.text)}`, TOLERANCE);
    yield check.run(() => {
      check.equal("sa2va-released", item.sa2vaReleased, cleanRegionCaption(text(item.text), "sa2va-released"));
      check.equal("sa2va-later", item.sa2vaLater, cleanRegionCaption(text(item.text), "sa2va-later"));
      check.equal("glamm", item.glamm, cleanRegionCaption(text(item.text), "glamm"));
    });
  }
}

function* answerRows(json: Json): Iterable<ParityRow> {
  for (const item of objects(json.cases)) {
    const check = new CaseCheck(`gcg/parse.json ${JSON.stringify(item.text)}`, TOLERANCE);
    yield check.run(() => {
      const { caption, phrases, masks } = parseGcgAnswer(text(item.text));
      check.equal("caption", item.caption, caption);
      check.equal("phrases", item.phrases, phrases);
      check.equal("masks", item.segCount, masks);
    });
  }
}

function* dlcRows(json: Json): Iterable<ParityRow> {
  for (const [name, value] of Object.entries(object(json.runs))) {
    const run = object(value);
    const check = new CaseCheck(`dlc/scores.json ${name}`, TOLERANCE);
    yield check.run(() => {
      const negative = run.negative as unknown[];
      const scores = dlcScores(
        (run.positive as unknown[]).map((positive, at) => ({
          positive: number(positive),
          negative: number(negative[at]),
        })),
      );
      const expected = object(run.expected);
      check.close("positive", expected.positive, scores.positive);
      check.close("negative", expected.negative, scores.negative);
      check.close("average", expected.benchmark, scores.average);
    });
  }
  yield* dlcErrorRows(json);
}

function* categoryRows(json: Json): Iterable<ParityRow> {
  for (const item of objects(json.cases)) {
    const check = new CaseCheck(`semantic/siou.json ${JSON.stringify(item.output)}`, TOLERANCE);
    yield check.run(() => {
      const [answer, category] = [cleanAnswer(text(item.output)), cleanCategory(text(item.category))];
      check.equal("answer", item.cleanedOutput, answer);
      check.equal("category", item.cleanedCategory, category);
      check.close("S-IoU", item.error === null ? item.semanticIoU : null, wordIou(answer, category));
    });
  }
}
