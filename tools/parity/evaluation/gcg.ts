/** Grounded conversations against the released script: IoU matrices, matches, mIoU, AP, recall. */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { parseRle } from "../../../src/engine/data/mask/rle.ts";
import {
  averagePrecision,
  type GcgPicture,
  gcgScores,
  iouMatrix,
  matchedLabels,
  pictureMiou,
} from "../../../src/engine/eval/benchmarks/gcg.ts";
import { CaseCheck } from "../case-check.ts";
import type { ParityRow } from "../row.ts";
import { goldenJson, type Json, masks, object, objects, text, texts } from "./golden.ts";

const TOLERANCE = 1e-9;

export async function gcgRows(folder: ByteFolder): Promise<ParityRow[]> {
  const [truth, captions, predictions] = await Promise.all([
    goldenJson(folder, "gcg/mask_gt.json"),
    goldenJson(folder, "gcg/caption_gt.json"),
    goldenJson(folder, "gcg/predictions.json"),
  ]);
  if (truth === undefined || captions === undefined || predictions === undefined) return [];
  const table = object(predictions.textSimilarity);
  const similarity = (label: string, phrase: string): number => {
    const value = table[`${label}|${phrase}`];
    return typeof value === "number" ? value : Number.NaN;
  };
  const items = objects(predictions.images);
  const pictures = items.map((item) => pictureOf(item, truth, captions));
  const rows = items.map((item, at) => {
    const check = new CaseCheck(`gcg/predictions.json ${text(item.id)} (${text(item.name)})`, TOLERANCE);
    return check.run(() => comparePicture(check, object(item.expected), pictures[at] as GcgPicture, similarity));
  });
  const expected = object(predictions.expected);
  const check = new CaseCheck("gcg/predictions.json all", TOLERANCE);
  const all = check.run(() => {
    const scores = gcgScores(pictures, similarity);
    const coco = object(expected.coco);
    check.close("AP50", coco.AP50, scores.ap50);
    const matrices = pictures.map(iouMatrix);
    check.close("AP75", coco.AP75, averagePrecision(pictures, matrices, 0.75));
    check.close("mIoU", expected.mIoU, scores.miou);
    check.close("recall", expected.recall, scores.recall);
    check.equal("found", expected.truePositives, scores.found);
    check.equal("labels", expected.groundTruthPhrases, scores.labels);
  });
  return [...rows, all];
}

function pictureOf(item: Json, truth: Json, captions: Json): GcgPicture {
  const id = text(item.id);
  const prediction = object(item.prediction);
  const of = (json: Json): Json[] => objects(json.annotations).filter((one) => one.image_id === id);
  return {
    id,
    masks: of(truth).map((one) => parseRle(one.segmentation)),
    labels: of(captions).flatMap((one) => texts(one.labels)),
    predictedMasks: masks(prediction.pred_masks) ?? [],
    predictedPhrases: texts(prediction.phrases),
  };
}

function comparePicture(
  check: CaseCheck,
  wanted: Json,
  picture: GcgPicture,
  similarity: (label: string, phrase: string) => number,
): void {
  const matrix = iouMatrix(picture);
  const expected = Array.isArray(wanted.iou) ? (wanted.iou as unknown[]) : [];
  for (const [row, values] of matrix.entries()) {
    const own = expected[row];
    for (const [column, value] of values.entries()) check.close("IoU", Array.isArray(own) ? own[column] : null, value);
  }
  check.close("mIoU", wanted.mIoU, pictureMiou(matrix));
  check.equal("matches", wanted.matches, matchedLabels(picture, matrix, similarity));
}
