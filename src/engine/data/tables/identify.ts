/** Identifies the data set from its columns; names of folders are only compared with the result. */

import { isRle, isRleList, isTurns } from "./schema.ts";
import { type Column, fieldsOf, itemOf } from "./table.ts";

/** A published data set with these columns, or "other". */
export interface Layout {
  readonly family: "gar" | "dam" | "refcoco" | "other";
  /** Short name, such as `gar-relation`; empty for "other". */
  readonly label: string;
  /** Display text, with the evidence. */
  readonly what: string;
}

type Find = (name: string) => Column | undefined;

/** Published layouts in the order in which they are tried (docs/spec/evaluation.md#52-telling-them-apart-by-schema-detectcasesjson). */
const LAYOUTS: readonly (Layout & { readonly fits: (find: Find, columns: readonly Column[]) => boolean })[] = [
  {
    family: "dam",
    label: "dam-arrow",
    what: "pictures of describe-anything without its annotations.json (columns pickle and __key__)",
    fits: (find) => has(find, "pickle", "__key__") && !has(find, "0.jpg"),
  },
  {
    family: "dam",
    label: "dam-sav-arrow",
    what: "video frames of describe-anything without its annotations.json (columns 0.jpg, pickle and __key__)",
    fits: (find) => has(find, "pickle", "__key__"),
  },
  {
    family: "gar",
    label: "gar-fine-grained",
    what: "Grasp-Any-Region Fine-Grained (conversations beside mask_rle, a struct)",
    fits: (find) => isGar(find) && isRunColumn(find("mask_rle")) && !isRleList(find("mask_rle")?.type ?? NULL),
  },
  {
    family: "gar",
    label: "gar-relation",
    what: "Grasp-Any-Region Relation (conversations beside mask_rle, a list)",
    fits: (find) => isGar(find) && isRunColumn(find("mask_rle")),
  },
  {
    family: "gar",
    label: "gar-seed",
    what: "Grasp-Any-Region Seed (conversations without a mask: no loop can use it)",
    fits: (find, columns) =>
      isGar(find) && columns.every(({ name, type }) => type.kind === "null" || !/mask|segment/.test(name)),
  },
  {
    family: "dam",
    label: "dam",
    what: "describe-anything (a caption beside mask_rle)",
    fits: (find) => isRunColumn(find("mask_rle")) && has(find, "caption"),
  },
  {
    family: "refcoco",
    label: "refcoco-lmms",
    what: "RefCOCO as captions (answer beside a flat segmentation): one polygon only and partitions mixed, not for cIoU",
    fits: (find) => has(find, "question_id", "answer", "segmentation"),
  },
  {
    family: "refcoco",
    label: "refcoco-jxu124",
    what: "RefCOCO with annotations as JSON text (ref_id beside raw_anns): not read, use the refs file",
    fits: (find) => has(find, "ref_id") && (has(find, "raw_anns") || has(find, "anns")),
  },
  {
    family: "refcoco",
    label: "refcoco-benchmark",
    what: "RefCOCO per picture (ref_list beside image_info): not read, use the refs file",
    fits: (find) => has(find, "ref_list", "image_info"),
  },
  {
    family: "refcoco",
    label: "refcoco-m",
    what: "RefCOCO-M (samples of mask and sentences): masks that differ from RefCOCO's",
    fits: (find) => {
      const fields = fieldsOf(itemOf(find("samples")?.type ?? NULL)?.type ?? NULL).map(({ name }) => name);
      // If the fields of the samples are unknown, the other columns decide.
      return has(find, "samples", "image_id", "file_name") && (fields.length === 0 || fields.includes("mask"));
    },
  },
];

const NULL = { kind: "null" } as const;

function has(find: Find, ...names: readonly string[]): boolean {
  return names.every((name) => find(name) !== undefined);
}

function isGar(find: Find): boolean {
  const conversations = find("conversations");
  return conversations !== undefined && isTurns(conversations.type) && has(find, "image");
}

function isRunColumn(column: Column | undefined): boolean {
  return column !== undefined && isRle(column.type);
}

/** The published data set with these columns. */
export function layoutOf(columns: readonly Column[]): Layout {
  const find: Find = (name) => columns.find((column) => column.name === name);
  const found = LAYOUTS.find(({ fits }) => fits(find, columns));
  if (found === undefined) return { family: "other", label: "", what: "no known published data set" };
  const { family, label, what } = found;
  return { family, label, what };
}

/** Common names of the data sets. */
const CLAIMS: readonly (readonly [Exclude<Layout["family"], "other">, string, RegExp])[] = [
  ["dam", "describe-anything", /describe[-_ ]?anything|\bdam\b|dlc[-_]?bench/i],
  ["gar", "Grasp-Any-Region", /grasp[-_ ]?any[-_ ]?region|\bgar\b|(fine-grained|relation|seed)-dataset/i],
];

export interface Identity {
  /** One sentence: the columns, and the description of the data set. */
  readonly what: string;
  /** One sentence when a name suggests another data set. */
  readonly conflict: string | undefined;
}

/**
 * Compares the columns of all files with the names of folders and files.
 * @param names names of the opened folders and files
 * @param description description in dataset_info.json
 */
export function identify(layouts: readonly Layout[], names: readonly string[], description = ""): Identity {
  const kinds = [...new Set(layouts.map(({ what }) => what))];
  const said = description === "" ? "" : `, described as "${description}"`;
  const what = `columns as in ${kinds.length === 0 ? "no file" : kinds.join(" and ")}${said}`;
  const families = new Set(layouts.map(({ family }) => family));
  const claimed = CLAIMS.filter(([, , pattern]) => names.some((name) => pattern.test(name)));
  const [wrong] = claimed;
  if (layouts.length === 0 || wrong === undefined || claimed.some(([family]) => families.has(family))) {
    return { what, conflict: undefined };
  }
  return { what, conflict: `the name suggests ${wrong[1]}, but the rows have ${what}; the columns decide` };
}
