/** Identifies the data set from its columns; names of folders are only compared with the result. */
import { type Column, itemOf } from "./column-type.ts";
import { isRle, isTurns } from "./schema.ts";

/** A published data set with these columns, or "other". */
export interface Layout {
  readonly family: "gar" | "dam" | "other";
  /** Display text, with the evidence. */
  readonly what: string;
}

/** The published data set with these columns. */
export function layoutOf(columns: readonly Column[]): Layout {
  const find = (name: string): Column | undefined => columns.find((column) => column.name === name);
  const [conversations, rle] = [find("conversations"), find("mask_rle")];
  if (find("pickle") !== undefined && find("__key__") !== undefined) {
    return {
      family: "dam",
      what: "pictures of describe-anything without its annotations.json (columns pickle and __key__)",
    };
  }
  const isMask = rle !== undefined && isRle(rle.type);
  if (isMask && conversations !== undefined && isTurns(conversations.type) && find("image") !== undefined) {
    return itemOf(rle.type) === undefined
      ? { family: "gar", what: "Grasp-Any-Region Fine-Grained (conversations beside mask_rle, a struct)" }
      : { family: "gar", what: "Grasp-Any-Region Relation (conversations beside mask_rle, a list)" };
  }
  if (isMask && find("caption") !== undefined) {
    return { family: "dam", what: "describe-anything (a caption beside mask_rle)" };
  }
  return { family: "other", what: "no known published data set" };
}

/** Common names of the data sets. */
const CLAIMS: readonly (readonly [Exclude<Layout["family"], "other">, string, RegExp])[] = [
  ["dam", "describe-anything", /describe[-_ ]?anything|\bdam\b|dlc[-_]?bench/i],
  ["gar", "Grasp-Any-Region", /grasp[-_ ]?any[-_ ]?region|\bgar\b|(fine-grained|relation|seed)-dataset/i],
];

/** Identity of a data set. */
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
