/** Counting of referring segmentation, compared with recorded evaluators. */
import { isRecord } from "../../../src/engine/bytes/json.ts";
import { clustersBy } from "../../../src/engine/eval/bootstrap.ts";
import { type GresRow, gresIou, gresMetrics, gresPixels, gresRow } from "../../../src/plugins/suites/grefcoco.ts";
import { overlapOf } from "../../../src/plugins/suites/masks.ts";
import type { AnsweredItem } from "../../../src/plugins/suites/suite.ts";
import { CaseCheck } from "../case-check.ts";
import type { ParityRow } from "../row.ts";
import { type Json, object, objects } from "./golden.ts";
import { maskRow, suiteValues } from "./suite-values.ts";

const TOLERANCE = 1e-9;
/** The originals add 1e-5 to a union; their printed values are float32. */
const PRINTED = 3e-6;

/** Rows of a picture. @param most maximum masks of an answer that count */
function rowsOf(image: Json, most?: number): AnsweredItem[] {
  return objects(image.sentences).map(({ target, prediction }) =>
    maskRow(String(image.image), target, Array.isArray(prediction) ? prediction.slice(0, most) : null),
  );
}

export function* referringRows(json: Json): Iterable<ParityRow> {
  const images = objects(json.images);
  for (const image of images) {
    const check = new CaseCheck(`iou/res.json image ${String(image.image)}`, TOLERANCE);
    yield check.run(() => {
      const counts = (most?: number): object[] =>
        rowsOf(image, most).map((row) => {
          const { intersection: i, union: u } = overlapOf(row);
          return { i, u };
        });
      const [first, all] = [counts(1), counts()];
      for (const [at, item] of objects(image.sentences).entries()) {
        check.equal("first mask", item.first, first[at], `sentence ${at}`);
        check.equal("all masks", item.merged, all[at], `sentence ${at}`);
      }
    });
  }
  const expected = object(json.expected);
  const kept = object(expected.sa2vaOld).images;
  const old = images
    .filter(({ image }) => Array.isArray(kept) && kept.includes(image))
    .flatMap((image) => rowsOf(image, 1));
  const rows = images.flatMap((image) => rowsOf(image));
  yield* scoreRows("sa2va-2024", object(expected.sa2vaOld), () => {
    // Rows without a mask add 0 to gIoU and nothing to the pixels.
    const answered = old.filter(({ answer }) => (answer.masks ?? []).length > 0);
    const scores = scoresOf(answered);
    return { ...scores, gIoU: (scores.gIoU * answered.length) / old.length };
  });
  yield* scoreRows("sa2va-2025-10", object(expected.sa2vaNew), () => scoresOf(rows));
  const precision = object(expected.precisionAt);
  const check = new CaseCheck("iou/res.json P@x", TOLERANCE);
  yield check.run(() => {
    const found = suiteValues("refcoco", rows);
    check.equal("sentences", precision.denominator, rows.length);
    for (const [bound, counts] of Object.entries(object(precision.counts))) {
      check.close("P@x", Number(object(counts).ge) / rows.length, found[`P@${bound}`] ?? null);
    }
  });
}

type Scores = Readonly<Record<"intersection" | "union" | "cIoU" | "gIoU", number>>;

/** Pixels of all rows, and the suite's scores of them. */
function scoresOf(rows: readonly AnsweredItem[]): Scores {
  const { cIoU = Number.NaN, gIoU = Number.NaN } = suiteValues("refcoco", rows);
  const overlaps = rows.map(overlapOf);
  const sum = (key: "intersection" | "union"): number => overlaps.reduce((all, overlap) => all + overlap[key], 0);
  return { intersection: sum("intersection"), union: sum("union"), cIoU, gIoU };
}

function* scoreRows(rule: string, wanted: Json, scores: () => Scores): Iterable<ParityRow> {
  const check = new CaseCheck(`iou/res.json ${rule}`, TOLERANCE);
  yield check.run(() => compareScores(check, wanted, scores()));
  const loose = new CaseCheck(`iou/res.json ${rule} as printed`, PRINTED);
  yield loose.run(() => compareScores(loose, object(wanted.asPrinted), scores()));
}

function compareScores(check: CaseCheck, wanted: Json, scores: Scores): void {
  check.equal("intersection", wanted.intersection, scores.intersection);
  check.equal("union", wanted.union, scores.union);
  check.close("cIoU", wanted.cIoU, scores.cIoU);
  check.close("gIoU", wanted.gIoU, scores.gIoU);
}

export function* gresRows(json: Json): Iterable<ParityRow> {
  const items = objects(json.items);
  const answered = items.map(({ noTarget, target, prediction }, at) =>
    maskRow(String(at), noTarget === true ? null : target, [prediction]),
  );
  const counted = answered.map(gresRow);
  const stated = counted.map((row, at): GresRow => ({ ...row, declared: items[at]?.declaredNoTarget === true }));
  const each = new CaseCheck("iou/gref.json sentences", TOLERANCE);
  yield each.run(() => {
    for (const [at, row] of stated.entries()) {
      const wanted = object(items[at]?.expected);
      const { intersection: i, union: u } = gresPixels(row);
      each.equal("pixels", { i: wanted.i, u: wanted.u }, { i, u }, `sentence ${at}`);
      each.close("IoU", wanted.iou, gresIou(row));
    }
  });
  for (const [name, rows] of Object.entries({ reLA: stated, reLAUnder50PixelsIsNoTarget: counted })) {
    const wanted = object(json.expected)[name];
    if (!isRecord(wanted)) continue;
    const check = new CaseCheck(`iou/gref.json ${name}`, TOLERANCE);
    yield check.run(() => {
      const every = rows.map((_, at) => at);
      const metrics = gresMetrics(rows, clustersBy(every.map(String)));
      const found = new Map(metrics.map(({ name: metric, statistic }) => [metric, statistic(every)]));
      for (const [key, value] of Object.entries(wanted)) {
        // Accuracies are recorded as shares, the others in percent.
        const unit = key.endsWith("_acc") ? 1 : 100;
        check.close(key, value, unit * (found.get(key.replace("_", "-")) ?? Number.NaN));
      }
    });
  }
  // Recorded only from the original's float32 tensors.
  const check = new CaseCheck("iou/gref.json sa2va-2025-10 as printed", PRINTED);
  yield check.run(() => {
    const rows = items.map(({ target, prediction }, at) => maskRow(String(at), target, [prediction]));
    compareScores(check, object(object(json.expected).sa2vaNew), scoresOf(rows));
  });
}
