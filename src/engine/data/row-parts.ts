/** The parts of one row by role; each column is read once. */
import { badInput, dropUnseen, quote } from "../errors.ts";
import { captionsOf, type RowCaptions, readTurns, smallestRegion, type Turn } from "./captions.ts";
import type { Adapter, Role } from "./tables/schema.ts";
import { isBinaryCell, type Table } from "./tables/table.ts";

/** Maximum bytes of a text that is stored as binary. */
const MAX_TEXT_BYTES = 2 ** 21;

/** Reads the value of a role in a row: a list with one value per item if there is a list on the path. */
type ReadPart = (role: Role) => Promise<unknown>;

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

type FirstRegion = () => Promise<number>;

/**
 * The captions of a row's masks.
 * @param masks number of masks of the row
 * @param first number of the data set's first region, asked if texts name regions by number, none of them 0
 * @throws LabError("bad-input") when the row has no text for any mask
 */
export async function rowCaptions(
  cell: unknown,
  { text }: Adapter,
  masks: number,
  first: FirstRegion,
): Promise<RowCaptions> {
  const texts =
    text.each && Array.isArray(cell)
      ? await textEach(cell as unknown[], masks, first)
      : await textOf(cell, masks, first);
  if (texts === undefined) throw badInput("the row has no text");
  if (texts.fatal !== undefined) throw badInput(texts.fatal);
  if (texts.captions.some((caption) => caption !== undefined)) return texts;
  const reason = texts.refused?.find((one) => one !== undefined);
  if (reason !== undefined) throw badInput(reason);
  const [pair] = texts.pairs ?? [];
  if (pair === undefined) throw badInput("the row has no answer");
  const more = (texts.pairs?.length ?? 1) - 1;
  const others = more === 0 ? "" : `, and ${more} more that ${more === 1 ? "gives" : "give"} none`;
  throw badInput(`no answer is the caption of a region: ${quote(pair.question, 80)} gives ${pair.became()}${others}`);
}

/** The caption of each mask from the item of the same index; an item may hold several texts. */
async function textEach(items: readonly unknown[], masks: number, first: FirstRegion): Promise<RowCaptions> {
  const captions: (string | undefined)[] = [];
  for (const item of items.slice(0, masks)) captions.push((await textOf(item, 1, first))?.captions[0] ?? "");
  while (captions.length < masks) captions.push(undefined);
  return { captions };
}

async function textOf(cell: unknown, masks: number, first: FirstRegion): Promise<RowCaptions | undefined> {
  const turns = await turnsOf(cell);
  if (turns === undefined) return undefined;
  const isPlain = turns.every(({ role }) => role === "gpt");
  const given = turns.filter(({ value }) => value.trim() !== "");
  // Of several captions of one mask the first that is not blank is used.
  const used =
    isPlain && masks === 1 && given.length > 0 && !given.some(({ value }) => /<prompt/i.test(value)) ? given : turns;
  const smallest = smallestRegion(used);
  return captionsOf(used, masks, Number.isFinite(smallest) && smallest > 0 ? await first() : smallest === 0 ? 0 : 1);
}

/**
 * The turns of a text cell; captions become answers without a question. Undefined without any text.
 * @throws LabError("bad-input") when it is too long
 */
export async function turnsOf(cell: unknown): Promise<readonly Turn[] | undefined> {
  if (cell === null || cell === undefined) return undefined;
  if (isBinaryCell(cell)) {
    if (cell.length > MAX_TEXT_BYTES)
      throw badInput(`the text has ${cell.length} bytes, more than the ${MAX_TEXT_BYTES} allowed`);
    return turnsOf(new TextDecoder().decode(await cell.read()));
  }
  const turns = readTurns(cell);
  if (turns !== undefined && turns.length > 0) return turns;
  if (typeof cell === "string") return [{ role: "gpt", value: cell }];
  if (!Array.isArray(cell) || cell.length === 0) return undefined;
  return (cell as unknown[]).map((value) => ({ role: "gpt", value: typeof value === "string" ? value : "" }));
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
