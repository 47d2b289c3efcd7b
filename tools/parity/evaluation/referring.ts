/** Counting of referring segmentation against recorded evaluators. */
import { isRecord } from "../../../src/engine/bytes/json.ts";
import { maskIou, parseRle, rleArea } from "../../../src/engine/data/mask/rle.ts";
import { declaresNoTarget, type GresRow, gresIou, gresScores } from "../../../src/engine/eval/benchmarks/gres.ts";
import {
  type Overlap,
  type ReferringRule,
  type ReferringScores,
  referringScores,
  sentenceOverlap,
} from "../../../src/engine/eval/benchmarks/referring.ts";
import { CaseCheck } from "../case-check.ts";
import type { ParityRow } from "../row.ts";
import { type Json, masks, object, objects } from "./golden.ts";

const TOLERANCE = 1e-9;
/** The originals add 1e-5 to a union; their printed values are float32. */
const PRINTED = 3e-6;

export function* referringRows(json: Json): Iterable<ParityRow> {
  const images = objects(json.images);
  const counted = (rule: ReferringRule, of: readonly Json[]): (Overlap | null)[] =>
    of.flatMap((image) =>
      objects(image.sentences).map((item) => sentenceOverlap(parseRle(item.target), masks(item.prediction), rule)),
    );
  for (const image of images) {
    const check = new CaseCheck(`iou/res.json image ${String(image.image)}`, TOLERANCE);
    yield check.run(() => {
      for (const [at, item] of objects(image.sentences).entries()) {
        const counts = ({ intersection: i, union: u }: Overlap): object => ({ i, u });
        const found = (rule: ReferringRule): Overlap =>
          sentenceOverlap(parseRle(item.target), masks(item.prediction), rule) ?? {
            intersection: 0,
            union: rleArea(parseRle(item.target)),
          };
        check.equal("first mask", item.first, counts(found("sa2va-2024")), `sentence ${at}`);
        check.equal("all masks", item.merged, counts(found("sa2va-2025-10")), `sentence ${at}`);
      }
    });
  }
  const expected = object(json.expected);
  const [old, current] = [object(expected.sa2vaOld), object(expected.sa2vaNew)];
  const kept = new Set(Array.isArray(old.images) ? (old.images as unknown[]) : []);
  const cases = [
    ["sa2va-2024", old, images.filter(({ image }) => kept.has(image))],
    ["sa2va-2025-10", current, images],
  ] as const;
  for (const [rule, wanted, of] of cases) {
    const check = new CaseCheck(`iou/res.json ${rule}`, TOLERANCE);
    yield check.run(() => compareScores(check, wanted, referringScores(counted(rule, of))));
    const printed = object(wanted.asPrinted);
    const loose = new CaseCheck(`iou/res.json ${rule} as printed`, PRINTED);
    yield loose.run(() => {
      const scores = referringScores(counted(rule, of));
      loose.close("cIoU", printed.cIoU, scores.ciou);
      loose.close("gIoU", printed.gIoU, scores.giou);
    });
  }
  const precision = object(expected.precisionAt);
  const check = new CaseCheck("iou/res.json P@x", TOLERANCE);
  yield check.run(() => {
    const scores = referringScores(counted("sa2va-2025-10", images));
    check.equal("sentences", precision.denominator, scores.sentences);
    for (const [bound, counts] of Object.entries(object(precision.counts))) {
      const share = scores.precision[bound];
      check.equal("P@x", object(counts).ge, share === undefined ? null : Math.round(share * scores.sentences), bound);
    }
  });
}

function compareScores(check: CaseCheck, wanted: Json, scores: ReferringScores): void {
  check.equal("intersection", wanted.intersection, scores.intersection);
  check.equal("union", wanted.union, scores.union);
  check.close("cIoU", wanted.cIoU, scores.ciou);
  check.close("gIoU", wanted.gIoU, scores.giou);
}

export function* gresRows(json: Json): Iterable<ParityRow> {
  const items = objects(json.items);
  const rowOf = (item: Json, declared: boolean): GresRow => {
    const { intersection, union } = maskIou(parseRle(item.target), parseRle(item.prediction));
    return { noTarget: item.noTarget === true, declared, intersection, union };
  };
  const each = new CaseCheck("iou/gref.json sentences", TOLERANCE);
  yield each.run(() => {
    for (const [at, item] of items.entries()) {
      const row = rowOf(item, item.declaredNoTarget === true);
      const wanted = object(item.expected);
      const counts = row.noTarget && row.declared ? { i: 0, u: 0 } : { i: row.intersection, u: row.union };
      each.equal("pixels", { i: wanted.i, u: wanted.u }, counts, `sentence ${at}`);
      each.close("IoU", wanted.iou, gresIou(row));
    }
  });
  const rules = {
    reLA: (item: Json) => item.declaredNoTarget === true,
    reLAUnder50PixelsIsNoTarget: (item: Json) => declaresNoTarget(rleArea(parseRle(item.prediction))),
  };
  for (const [name, declared] of Object.entries(rules)) {
    const wanted = object(json.expected)[name];
    if (!isRecord(wanted)) continue;
    const check = new CaseCheck(`iou/gref.json ${name}`, TOLERANCE);
    yield check.run(() => {
      const scores = gresScores(items.map((item) => rowOf(item, declared(item))));
      check.close("gIoU", wanted.gIoU, 100 * scores.giou);
      check.close("cIoU", wanted.cIoU, 100 * scores.ciou);
      check.close("T-acc", wanted.T_acc, scores.targetAccuracy);
      check.close("N-acc", wanted.N_acc, scores.noTargetAccuracy);
      for (const [bound, share] of Object.entries(scores.precision)) {
        check.close("Pr", wanted[`Pr@${bound}`], share === null ? null : 100 * share);
      }
    });
  }
  // Recorded from the original's float32 tensors only.
  const sa2va = object(object(json.expected).sa2vaNew);
  const check = new CaseCheck("iou/gref.json sa2va-2025-10 as printed", PRINTED);
  yield check.run(() => {
    const overlaps = items.map((item) =>
      sentenceOverlap(parseRle(item.target), [parseRle(item.prediction)], "sa2va-2025-10"),
    );
    compareScores(check, sa2va, referringScores(overlaps));
  });
}
