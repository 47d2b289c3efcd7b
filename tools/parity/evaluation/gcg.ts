/** Grounded conversations against the released script: IoU matrices, matches, mIoU, AP, recall. */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { parseRle } from "../../../src/engine/data/mask/rle.ts";
import { clustersBy } from "../../../src/engine/eval/bootstrap.ts";
import {
  averagePrecision,
  type GcgPicture,
  iouMatrix,
  matchedLabels,
  pictureMiou,
} from "../../../src/plugins/suites/benchmarks/gcg.ts";
import { gcgPicture } from "../../../src/plugins/suites/gcg.ts";
import type { AnsweredItem } from "../../../src/plugins/suites/suite.ts";
import { CaseCheck } from "../case-check.ts";
import type { ParityRow } from "../row.ts";
import { goldenJson, type Json, masks, object, objects, pictureId, text, texts } from "./golden.ts";
import { itemOf, suiteValues } from "./suite-values.ts";

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
  const answered = items.map((item) => rowOf(item, truth, captions));
  const pictures = answered.map(gcgPicture);
  const matrices = pictures.map(iouMatrix);
  const rows = items.map((item, at) => {
    const check = new CaseCheck(`gcg/predictions.json ${pictureId(item.id)} (${text(item.name)})`, TOLERANCE);
    const [wanted, matrix] = [object(item.expected), matrices[at] as number[][]];
    return check.run(() => {
      const expected = Array.isArray(wanted.iou) ? (wanted.iou as number[][]) : [];
      for (const [row, values] of matrix.entries()) {
        for (const [column, value] of values.entries()) check.close("IoU", expected[row]?.[column] ?? null, value);
      }
      check.close("mIoU", wanted.mIoU, pictureMiou(matrix));
      check.equal("matches", wanted.matches, matchedLabels(pictures[at] as GcgPicture, matrix, similarity));
    });
  });
  const expected = object(predictions.expected);
  const check = new CaseCheck("gcg/predictions.json all", TOLERANCE);
  const all = check.run(() => {
    const found = suiteValues("gcg", answered, { meteor: () => 0, similarity: { name: "table", of: similarity } });
    const coco = object(expected.coco);
    check.close("AP50", coco.AP50, found.AP50 ?? null);
    const clusters = clustersBy(items.map(({ id }) => String(pictureId(id))));
    check.close("AP75", coco.AP75, averagePrecision(pictures, matrices, clusters, 0.75)(items.map((_, at) => at)));
    check.close("mIoU", expected.mIoU, found.mIoU ?? null);
    const recall = found["Recall (table)"] ?? Number.NaN;
    const labels = answered.reduce((sum, { item }) => sum + (item.labels?.length ?? 0), 0);
    check.close("recall", expected.recall, recall);
    check.close("found", expected.truePositives, recall * labels);
    check.equal("labels", expected.groundTruthPhrases, labels);
  });
  return [...rows, all];
}

/** A picture with an answer of these phrases. */
function rowOf(item: Json, truth: Json, captions: Json): AnsweredItem {
  const id = pictureId(item.id);
  const prediction = object(item.prediction);
  const of = (json: Json): Json[] => objects(json.annotations).filter((one) => one.image_id === id);
  const labels = of(captions).flatMap((one) => texts(one.labels));
  const said = texts(prediction.phrases).map((phrase) => `<p> ${phrase} </p> [SEG]`);
  return {
    item: itemOf(String(id), { pictureId: id, masks: of(truth).map((one) => parseRle(one.segmentation)), labels }),
    answer: { text: said.join(" and "), masks: masks(prediction.pred_masks) ?? [] },
  };
}
