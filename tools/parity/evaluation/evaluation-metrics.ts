/** Scores of the evaluation golden set: masks, captions, grounded answers, DLC-Bench, words, intervals. */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { cleanRegionCaption, parseGcgAnswer } from "../../../src/plugins/suites/benchmarks/answer-text.ts";
import { cider } from "../../../src/plugins/suites/benchmarks/cider.ts";
import { wordIou } from "../../../src/plugins/suites/benchmarks/gcg.ts";
import { ptbTokens } from "../../../src/plugins/suites/benchmarks/ptb-tokens.ts";
import { CaseCheck } from "../case-check.ts";
import type { ParityRow } from "../row.ts";
import { clusterRows } from "./clusters.ts";
import { dlcRows } from "./dlc.ts";
import { gcgRows } from "./gcg.ts";
import { goldenJson, type Json, object, objects, text, texts } from "./golden.ts";
import { gresRows, referringRows } from "./referring.ts";

const TOLERANCE = 1e-9;
const CIDER_TOLERANCE = 1e-6;

/** Runs the existing score files; one row per case or set. */
export async function* evaluationParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const parts: readonly (readonly [path: string, rows: (json: Json) => Iterable<ParityRow>])[] = [
    ["iou/res.json", referringRows],
    ["iou/gref.json", gresRows],
    ["caption/cider.json", ciderRows],
    ["caption/ptb.json", tokenRows],
    ["caption/region_clean.json", cleanerRows],
    ["gcg/parse.json", answerRows],
    ["dlc/scores.json", dlcRows],
    ["semantic/siou.json", wordRows],
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
      const scores = cider(
        items.map((item) => ({
          references: texts(item.references).map(ptbTokens),
          hypothesis: ptbTokens(text(item.hypothesis)),
        })),
      );
      const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
      check.close("corpus", object(set.corpus).cider, mean);
      for (const [at, item] of items.entries()) check.close("items", item.cider, scores[at] as number);
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
    yield check.run(() => check.equal("glamm", item.glamm, cleanRegionCaption(text(item.text))));
  }
}

function* answerRows(json: Json): Iterable<ParityRow> {
  for (const item of objects(json.cases)) {
    const check = new CaseCheck(`gcg/parse.json ${JSON.stringify(item.text)}`, TOLERANCE);
    yield check.run(() => {
      const { caption, phrases } = parseGcgAnswer(text(item.text));
      check.equal("caption", item.caption, caption);
      check.equal("phrases", item.phrases, phrases);
    });
  }
}

/** Category names after their clean-up. */
function* wordRows(json: Json): Iterable<ParityRow> {
  for (const item of objects(json.cases)) {
    const check = new CaseCheck(`semantic/siou.json ${JSON.stringify(item.output)}`, TOLERANCE);
    const iou = wordIou(text(item.cleanedOutput), text(item.cleanedCategory));
    // The original fails where neither text has a word.
    const expected = item.error === "ZeroDivisionError" ? 0 : item.semanticIoU;
    yield check.run(() => check.close("S-IoU", expected, iou));
  }
}
