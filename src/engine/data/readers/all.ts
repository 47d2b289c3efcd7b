/** All readers of records in the order of trial: the first one that recognises a file reads it. */
import { PLUGIN_READERS } from "../../../plugins/readers.ts";
import { cocoInstances, regionCaptions } from "./coco.ts";
import { firstOf, has, type Reader, type Sign } from "./reader.ts";
import { rows } from "./rows.ts";

/** Known kinds of files without rows to train on; the message names them. */
const WITHOUT_ROWS: readonly Reader[] = [
  {
    label: "coco-empty",
    what: "COCO",
    recognise: ({ shape, keys, values }) =>
      shape === "object" &&
      keys.includes("images") &&
      values.some(({ key, value, item }) => key === "annotations" && Array.isArray(value) && item === undefined)
        ? "images and an empty list of annotations"
        : undefined,
    open: "it has no annotations, so there is no mask to train on",
  },
  {
    label: "coco-results",
    what: "COCO results",
    recognise: ({ first }) => {
      if (!Number.isInteger(first?.image_id) || Object.keys(first ?? {}).some((name) => PICTURE.test(name)))
        return undefined;
      const answer = ["segmentation", "bbox", "keypoints", "caption"].find((name) => has(first, name));
      if (answer === undefined || (answer !== "caption" && !has(first, "score"))) return undefined;
      return `records with image_id${answer === "caption" ? " and caption" : `, ${answer} and score`}`;
    },
    open: "answers of a model, without pictures. Score them with pycocotools; Train → Held-out shows those of a run",
  },
  {
    label: "coco-run-rows",
    what: "rows of a run beside its COCO results",
    recognise: (sign) =>
      has(firstOf(sign, "images"), "row_id") && firstOf(sign, "annotations") !== undefined
        ? "images with row_id"
        : undefined,
    open: "it has no pictures. Open the data of the run; Train → Held-out shows its answers",
  },
  {
    label: "texts-by-id",
    what: "texts by id: predicted captions or class names",
    recognise: ({ shape, values }) =>
      shape === "object" && values.length > 0 && values.every(({ value }) => typeof value === "string")
        ? "an object whose values are all text"
        : undefined,
    open: "it has neither pictures nor masks",
  },
  {
    label: "llava",
    what: "conversations about whole pictures (LLaVA form)",
    recognise: ({ first, examples }) =>
      has(first, "image", "conversations") &&
      !examples.flatMap(Object.keys).some((name) => /mask|segment|annotation/.test(name))
        ? "records with image and conversations and without masks"
        : undefined,
    open: "neither loop can use it: loop 1 needs a region to describe, loop 2 a mask to compare",
  },
];

/** Fields that hold or name a picture. */
const PICTURE = /image$|picture|file|path|url|bytes/i;

/**
 * Readers of plug-ins come first: their kinds of files also have the fields of a more general kind. So do known kinds
 * without rows.
 */
export const READERS: readonly Reader[] = [
  ...PLUGIN_READERS.flatMap(({ readers }) => readers),
  ...WITHOUT_ROWS,
  regionCaptions,
  cocoInstances,
  rows,
];

/** The reader of a file and the evidence for it; undefined when no reader recognises it. */
export function recogniseRecords(sign: Sign): { readonly reader: Reader; readonly reason: string } | undefined {
  for (const reader of READERS) {
    const reason = reader.recognise(sign);
    if (reason !== undefined) return { reader, reason };
  }
  return undefined;
}
