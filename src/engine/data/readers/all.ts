/** All readers of records in the order of trial: the first one that recognises a file reads it. */
import { PLUGIN_READERS } from "../../../plugins/readers.ts";
import { cocoInstances, regionCaptions } from "./coco.ts";
import { has, type Reader, type Sign } from "./reader.ts";
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

/** Readers of plug-ins come first: their kinds of files also have the fields of a more general kind. */
export const READERS: readonly Reader[] = [
  ...PLUGIN_READERS.flatMap(({ readers }) => readers),
  regionCaptions,
  cocoInstances,
  ...WITHOUT_ROWS,
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
