/** The parts of one row by role; each column is read once. */
import { badInput, dropUnseen } from "../errors.ts";
import { captionsOf, type RowCaptions, readTurns } from "./captions.ts";
import type { Adapter, Role } from "./tables/schema.ts";
import { isBinaryCell, type Table } from "./tables/table.ts";

/** Maximum bytes of a text that is stored as binary. */
const MAX_TEXT_BYTES = 2 ** 21;

/** Reads the value of a role in a row: a list with one value per item if there is a list on the path. */
export type ReadPart = (role: Role) => Promise<unknown>;

/** Reader of one row's parts. @throws LabError as Table.cell does */
export function rowParts(table: Table, row: number): ReadPart {
  const cells = new Map<number, Promise<unknown>>();
  return async ({ column, path }) => {
    let cell = cells.get(column);
    if (cell === undefined) {
      cell = table.cell(column, row);
      cells.set(column, cell);
    }
    return follow(await cell, path);
  };
}

function follow(cell: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined || cell === null || cell === undefined) return cell;
  if (Array.isArray(cell)) return (cell as unknown[]).map((item) => follow(item, path));
  if (typeof cell !== "object" || !Object.hasOwn(cell, name)) return undefined;
  return follow((cell as Readonly<Record<string, unknown>>)[name], rest);
}

/**
 * The captions of a row's masks.
 * @param masks number of masks of the row
 * @throws LabError("bad-input") when the row has no text for any mask
 */
export async function rowCaptions(cell: unknown, { text }: Adapter, masks: number): Promise<RowCaptions> {
  const texts = text.each && Array.isArray(cell) ? await textEach(cell as unknown[], masks) : await textOf(cell, masks);
  if (texts === undefined) throw badInput("the row has no text");
  if (texts.fatal !== undefined) throw badInput(texts.fatal);
  if (texts.captions.every((caption) => caption === undefined)) throw badInput("the row has no answer");
  return texts;
}

/** The caption of each mask from the item of the same index; an item may hold several texts. */
async function textEach(items: readonly unknown[], masks: number): Promise<RowCaptions> {
  const captions: (string | undefined)[] = [];
  for (const item of items.slice(0, masks)) captions.push((await textOf(item, 1))?.captions[0] ?? "");
  while (captions.length < masks) captions.push(undefined);
  return { captions };
}

async function textOf(cell: unknown, masks: number): Promise<RowCaptions | undefined> {
  if (cell === null || cell === undefined) return undefined;
  if (isBinaryCell(cell)) {
    if (cell.length > MAX_TEXT_BYTES)
      throw badInput(`the text has ${cell.length} bytes, more than the ${MAX_TEXT_BYTES} allowed`);
    return textOf(new TextDecoder().decode(await cell.read()), masks);
  }
  const turns = readTurns(cell);
  if (turns !== undefined && turns.length > 0) return captionsOf(turns, masks);
  if (typeof cell === "string") return captionsOf([{ role: "gpt", value: cell }], masks);
  if (!Array.isArray(cell) || cell.length === 0) return undefined;
  const texts = (cell as unknown[]).map((value) => (typeof value === "string" ? value : ""));
  const answers = texts.map((value) => ({ role: "gpt" as const, value }));
  const given = answers.filter(({ value }) => value.trim() !== "");
  if (masks > 1 || given.length === 0 || texts.some((text) => text.includes("<Prompt")))
    return captionsOf(answers, masks);
  const found = captionsOf(given.slice(0, 1), 1);
  if (given.length === 1) return found;
  return { ...found, remark: `the row has 1 mask and ${given.length} texts; the first is used` };
}

/** Maximum labels of a row, and characters of one. */
const MAX_LABELS = 1024;
const MAX_LABEL = 1024;

/**
 * The labels in a cell: a text or a list of texts, without blank ones.
 * @throws LabError("bad-input") for too many or too long labels
 */
export function readLabels(cell: unknown): string[] {
  const list: unknown[] = Array.isArray(cell) ? cell : [cell];
  const labels = list.filter((label): label is string => typeof label === "string" && label.trim() !== "");
  if (labels.length > MAX_LABELS || labels.some((label) => label.length > MAX_LABEL)) {
    throw badInput(`the row has more than ${MAX_LABELS} labels, or a label of more than ${MAX_LABEL} characters`);
  }
  return labels.map(dropUnseen);
}
