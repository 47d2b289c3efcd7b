/**
 * Grounded conversations: one answer with several [SEG] about the whole picture, whose phrase i belongs to mask i
 * (docs/spec/evaluation.md#3-grounded-conversation-generation-glamm-grand-f).
 */
import { isRecord } from "../../engine/bytes/json.ts";
import { type Rle, rleIsEmpty } from "../../engine/data/mask/rle.ts";
import { idText, openCoco } from "../../engine/data/readers/coco.ts";
import { type Clusters, meanOf, ratio } from "../../engine/eval/bootstrap.ts";
import { parseGcgAnswer } from "./benchmarks/answer-text.ts";
import {
  averagePrecision,
  type GcgPicture,
  iouMatrix,
  matchedLabels,
  type PhraseSimilarity,
  pictureMiou,
  wordIou,
} from "./benchmarks/gcg.ts";
import { textMetrics } from "./captions.ts";
import { findFiles, onlyFile, pictureRows } from "./rows.ts";
import { type AnsweredItem, publishedScores, type Suite, type SuiteMetric, type SuiteTools } from "./suite.ts";

/** The published question, its blanks included. */
const QUESTION =
  "Could you please give me a brief description of the image? Please respond with interleaved     segmentation masks for the corresponding parts of the answer.";

const GLAMM = "GLaMM paper";
const PAPER = "Sa2VA paper, version 1";

export const gcg: Suite = {
  name: "gcg",
  what: "grounded conversations (GranD-f): captions with a mask for each phrase",
  rule: "counting of the released GCG script; recall with the text similarity named; empty masks left out",
  split: undefined,
  judged: false,
  similarity: true,
  published: {
    "": [
      ...publishedScores(PAPER, "AP50", { "Sa2VA-1B": 23.8, "Sa2VA-4B": 28.2, "Sa2VA-8B": 31.0, "Sa2VA-26B": 33.5 }),
      ...publishedScores(`${GLAMM}, val`, "AP50", { GLaMM: 30.8 }),
      ...publishedScores(`${GLAMM}, val`, "mIoU", { GLaMM: 66.3 }),
      ...publishedScores(`${GLAMM}, val, recall with BERT`, "Recall (BERT)", { GLaMM: 41.8 }),
      ...publishedScores(`${GLAMM}, val`, "CIDEr-D", { GLaMM: 47.2 }),
    ],
  },
  async open(folder, _split, signal) {
    const wanted = { "coco-instances": "true masks in COCO form", "gcg-caption-gt": "true captions with labels" };
    const found = await findFiles(folder, wanted, signal);
    const [masks, texts] = [onlyFile(found, "coco-instances"), onlyFile(found, "gcg-caption-gt")];
    const coco = await openCoco(masks.records);
    const at = texts.records.keys.indexOf("annotations");
    const entries: Parameters<typeof pictureRows>[1][number][] = [];
    const annotations = await texts.records.inside(at);
    for await (const [, value] of annotations?.each() ?? []) {
      if (!isRecord(value) || typeof value.caption !== "string" || !Array.isArray(value.labels)) continue;
      const { caption, labels } = value;
      const id = idText(value.image_id);
      entries.push({
        picture: coco.images.get(id)?.fileName,
        rows: async (read) => {
          const own: Rle[] = [];
          for (const place of coco.byImage.get(id) ?? [])
            own.push(await read((await coco.annotation(place)).segmentation));
          const pictureId = coco.images.get(id)?.id;
          return [{ id, pictureId, text: caption, masks: own, labels: labels.map(String) }];
        },
      });
    }
    return pictureRows(masks, entries, signal);
  },
  task: () => ({ kind: "ask", question: QUESTION, regions: [] }),
  metrics: gcgMetrics,
  score: (row) => pictureMiou(iouMatrix(gcgPicture(row))),
};

/** An answer as the metrics read it: every mask that is not empty, with the label or phrase of its index. */
export function gcgPicture({ item, answer }: AnsweredItem): GcgPicture {
  const { phrases } = parseGcgAnswer(answer.text ?? "");
  const masks = answer.masks ?? [];
  const filled = (all: readonly Rle[]): number[] => all.flatMap((mask, at) => (rleIsEmpty(mask) ? [] : [at]));
  const [kept, truths] = [filled(masks), filled(item.masks)];
  return {
    id: item.pictureId ?? item.id,
    masks: truths.map((at) => item.masks[at] as Rle),
    labels: truths.flatMap((at) => item.labels?.[at] ?? []),
    predictedMasks: kept.map((at) => masks[at] as Rle),
    predictedPhrases: [...kept.flatMap((at) => phrases[at] ?? []), ...phrases.slice(masks.length)],
  };
}

function gcgMetrics(rows: readonly AnsweredItem[], clusters: Clusters, tools: SuiteTools): SuiteMetric[] {
  const pictures = rows.map(gcgPicture);
  const matrices = pictures.map(iouMatrix);
  const matrix = (at: number): number[][] => matrices[at] as number[][];
  const recall = (name: string, of: PhraseSimilarity): SuiteMetric => ({
    name,
    statistic: ratio(pictures, clusters, (picture, at) => ({
      sum: matchedLabels(picture, matrix(at), of).length,
      // Labels of empty masks count as missed.
      weight: rows[at]?.item.labels?.length ?? 0,
    })),
  });
  const { similarity } = tools;
  return [
    { name: "AP50", statistic: averagePrecision(pictures, matrices, clusters) },
    { name: "mIoU", statistic: meanOf(pictures, clusters, (_, at) => pictureMiou(matrix(at))) },
    ...(similarity === undefined ? [] : [recall(`Recall (${similarity.name})`, similarity.of)]),
    recall("recall_iou (no text)", () => 1),
    recall("recall_exact (words)", wordIou),
    ...textMetrics(
      rows.map(({ item, answer }) => [item.text, parseGcgAnswer(answer.text ?? "").caption]),
      clusters,
      tools,
    ),
  ];
}
