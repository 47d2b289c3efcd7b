/** What data set rows are from, told by their columns; names of folders are only compared with it. */
import { type Column, itemOf } from "./column-type.ts";
import { isRle, isTurns } from "./schema.ts";

/** Columns of a published data set, or of none that is known. */
export interface Layout {
  readonly family: "gar" | "dam" | "other";
  /** For people, the signs included. */
  readonly what: string;
}

/** Which published data set has such columns; the columns alone decide. */
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
  return { family: "other", what: "no published data set known here" };
}

/** Names under which the data sets go about. */
const CLAIMS: readonly (readonly [Exclude<Layout["family"], "other">, string, RegExp])[] = [
  ["dam", "describe-anything", /describe[-_ ]?anything|\bdam\b|dlc[-_]?bench/i],
  ["gar", "Grasp-Any-Region", /grasp[-_ ]?any[-_ ]?region|\bgar\b|(fine-grained|relation|seed)-dataset/i],
];

/** What the rows of a set are. */
export interface Identity {
  /** One sentence: the columns, and what the set says of itself. */
  readonly what: string;
  /** One sentence when a name stands for another data set. */
  readonly conflict: string | undefined;
}

/**
 * Compares the columns of all files with the names they go under.
 * @param names of the folders and files, as the person gave them
 * @param description what dataset_info.json says
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
  return { what, conflict: `the name says ${wrong[1]}, but the rows have ${what}; they are read as what they are` };
}
