/** RefCOCO, RefCOCO+ and RefCOCOg: a mask for every sentence (docs/spec/evaluation.md#15-counting). */
import { maskMetrics, overlapOf, segmentTask, sentenceIou } from "./masks.ts";
import { regionRows } from "./rows.ts";
import { type PublishedScore, publishedScores, type Suite } from "./suite.ts";

const CARD = "model card of ByteDance/Sa2VA (InternVL2.5 weights)";
const LISA = "LISA paper, fine-tuned on RefCOCO";
const GLAMM = "GLaMM paper, fine-tuned";

function referring(name: string, what: string, published: Readonly<Record<string, readonly PublishedScore[]>>): Suite {
  return {
    name,
    what: `${what}, masks for referring expressions`,
    rule: "all masks of a sentence united; no mask counts as an empty mask; truth is the union of its polygons",
    split: "val",
    judged: false,
    published,
    open: (folder, split, signal) => regionRows(folder, split, signal, true),
    task: segmentTask,
    metrics: maskMetrics,
    score: (row) => sentenceIou(overlapOf(row)),
  };
}

const scores = (source: string, entries: Readonly<Record<string, number>>): PublishedScore[] =>
  publishedScores(source, "cIoU", entries);

export const refcoco = referring("refcoco", "RefCOCO (UNC)", {
  val: [
    ...scores(CARD, { "Sa2VA-1B": 79.6, "Sa2VA-4B": 82.4, "Sa2VA-8B": 82.6, "Sa2VA-26B": 82.9 }),
    ...scores(LISA, { "LISA-7B": 74.9 }),
    ...scores(GLAMM, { GLaMM: 79.5 }),
  ],
  testA: [...scores(LISA, { "LISA-7B": 79.1 }), ...scores(GLAMM, { GLaMM: 83.2 })],
  testB: [...scores(LISA, { "LISA-7B": 72.3 }), ...scores(GLAMM, { GLaMM: 76.9 })],
});

export const refcocoPlus = referring("refcoco+", "RefCOCO+ (UNC)", {
  val: [
    ...scores(CARD, { "Sa2VA-1B": 73.6, "Sa2VA-4B": 77.6, "Sa2VA-8B": 78.0, "Sa2VA-26B": 79.3 }),
    ...scores(LISA, { "LISA-7B": 65.1 }),
    ...scores(GLAMM, { GLaMM: 72.6 }),
  ],
  testA: [...scores(LISA, { "LISA-7B": 70.8 }), ...scores(GLAMM, { GLaMM: 78.7 })],
  testB: [...scores(LISA, { "LISA-7B": 58.1 }), ...scores(GLAMM, { GLaMM: 64.6 })],
});

export const refcocog = referring("refcocog", "RefCOCOg (UMD)", {
  val: [
    ...scores(CARD, { "Sa2VA-1B": 77.7, "Sa2VA-4B": 79.7, "Sa2VA-8B": 80.3, "Sa2VA-26B": 81.2 }),
    ...scores(LISA, { "LISA-7B": 67.9 }),
    ...scores(GLAMM, { GLaMM: 74.2 }),
  ],
  test: [...scores(LISA, { "LISA-7B": 70.6 }), ...scores(GLAMM, { GLaMM: 74.9 })],
});
