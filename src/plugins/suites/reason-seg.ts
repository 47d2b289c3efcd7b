/** ReasonSeg: a mask for a sentence that needs reasoning (docs/spec/evaluation.md#17-reasonseg-lisa-reasonseg). */
import type { ByteFolder } from "../../engine/bytes/source.ts";
import { inSplit, missingSplit } from "../../engine/data/file-splits.ts";
import { rleIsEmpty } from "../../engine/data/mask/rle.ts";
import { samplesOf } from "../../engine/data/readers/samples.ts";
import { badInput } from "../../engine/errors.ts";
import { mountArchives } from "../archives/mount.ts";
import { type ReasonRow, readReasonRow, reasonSamples } from "../data-sets/reason-seg.ts";
import { shapesMask } from "../data-sets/shapes.ts";
import { maskMetrics, overlapOf, segmentTask, sentenceIou } from "./masks.ts";
import { type PictureEntry, pictureRows } from "./rows.ts";
import { publishedScores, type Suite, type SuiteRows } from "./suite.ts";

const LISA = "LISA paper";
const SPLITS = ["train", "val", "test"];

export const reasonSeg: Suite = {
  name: "reasonseg",
  what: "ReasonSeg: masks for sentences that need reasoning",
  rule: "the first text; all masks of an answer united; no mask counts as an empty mask; ignored pixels removed from truth and answer",
  split: "val",
  judged: false,
  published: {
    val: [
      ...publishedScores(LISA, "gIoU", { "LISA-7B": 44.4, "LISA-7B, fine-tuned": 52.9, "LISA-13B, fine-tuned": 56.2 }),
      ...publishedScores(LISA, "cIoU", { "LISA-7B": 46.0, "LISA-7B, fine-tuned": 54.0, "LISA-13B, fine-tuned": 62.9 }),
    ],
  },
  open: openReasonSeg,
  task: (item, mode) =>
    mode === "free" && item.kind === "sentence"
      ? { kind: "ask", question: `${item.text} Please output segmentation mask.`, regions: [] }
      : segmentTask(item, mode),
  metrics: maskMetrics,
  score: (row) => sentenceIou(overlapOf(row)),
};

async function openReasonSeg(dropped: ByteFolder, split: string | undefined, signal?: AbortSignal): Promise<SuiteRows> {
  const { folder } = await mountArchives(dropped, signal);
  const all = reasonSamples(folder, samplesOf(folder.paths));
  // The directory of a picture names its split; a folder without such directories is the split itself.
  const splitOf = ({ picture }: { readonly picture: string }): string =>
    picture.split("/").findLast((part) => SPLITS.includes(part)) ?? "";
  const splits = all.map(splitOf).filter((name) => name !== "");
  const missing = splits.length === 0 ? undefined : missingSplit(splits, split ?? "val");
  if (missing !== undefined) throw badInput(`The suite cannot score the data: ${missing}`);
  const chosen = splits.length > 0 ? all.filter((sample) => inSplit(splitOf(sample), split ?? "val")) : all;
  const leftOut: string[] = chosen.length === all.length ? [] : [`${all.length - chosen.length} rows of other splits`];
  const entries = chosen.map(({ picture, json }): PictureEntry => {
    return { picture, rows: async (read) => itemsOf(json.name, await readReasonRow(json), read) };
  });
  const rows = await pictureRows({ folder, path: "" }, entries, signal);
  if (rows.items.length > 0) return { ...rows, leftOut: [...leftOut, ...rows.leftOut] };
  throw badInput("The suite needs pictures with JSON of shapes, is_sentence and text; the data have none");
}

async function itemsOf(
  id: string,
  row: ReasonRow | undefined,
  read: Parameters<PictureEntry["rows"]>[0],
): ReturnType<PictureEntry["rows"]> {
  if (row === undefined) return [];
  const { texts, isSentence, shapes } = row;
  const [text] = texts;
  if (text === undefined) throw badInput(`${id} has no text`);
  const [mask, ignore] = [await read(shapesMask(shapes, "target")), await read(shapesMask(shapes, "ignore"))];
  const kind = isSentence ? "sentence" : "name";
  return [{ id, text, kind, masks: [mask], ...(rleIsEmpty(ignore) ? {} : { ignore }) }];
}
