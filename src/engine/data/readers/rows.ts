/** Lists, lines and objects of records whose fields are columns: `{image, mask, caption}` in any form that tables support. */
import { isRecord } from "../../bytes/json.ts";
import { shortened } from "../../errors.ts";
import type { Records } from "../records/records.ts";
import { rolesFound } from "../tables/schema.ts";
import { type Cell, type Column, type ColumnType, type Table, valueMeter } from "../tables/table.ts";
import { type Reader, remembered, type Sign, takeCost } from "./reader.ts";

export const rows: Reader = {
  label: "rows",
  what: "records of picture, mask and text",
  recognise: (sign) => {
    const roles = rolesFound(columnsOf(examplesIn(sign)));
    // The user can name the third column of a list.
    if (roles.length < (sign.shape === "object" ? 3 : 2)) return undefined;
    return `records with ${roles.slice(0, -1).join(", ")} and ${roles.at(-1)}`;
  },
  open: async ({ records, sign }) => ({ table: rowTable(records, examplesIn(sign)) }),
};

/** Records at the start of a file; for an object, the values under its first keys. */
function examplesIn({ examples, values }: Sign): Sign["examples"] {
  return [...examples, ...values.flatMap(({ value }) => (isRecord(value) ? [value] : []))];
}

/** The fields of the first record as text, for files of an unknown kind. */
export function fieldsText({ first, keys, values }: Sign): string {
  if (first !== undefined) return listed(Object.keys(first), 12);
  if (values.length === 0) return "nothing";
  const item = values[0]?.item ?? values[0]?.value;
  return `${listed(keys, 8)}${isRecord(item) && Object.keys(item).length > 0 ? ` (${listed(Object.keys(item), 8)})` : ""}`;
}

/** Maximum characters of a field's name in a sentence. */
const LONGEST_NAME = 40;

function listed(names: readonly string[], most: number): string {
  return shortened(
    names
      .slice(0, most)
      .map((name) => shortened(name, LONGEST_NAME))
      .join(", "),
    3 * LONGEST_NAME,
  );
}

/** Number of cached rows. */
const KEPT = 16;

function rowTable(records: Records, examples: Sign["examples"]): Table {
  const columns = columnsOf(examples);
  const names = namesOf(examples);
  const row = remembered(KEPT, (index) => records.item(index));
  return {
    columns,
    rows: records.length,
    batches: 1,
    problem: records.problem,
    cell: async (column, index, pass) => {
      const item = await row(index);
      const name = names[column];
      const value = isRecord(item) && name !== undefined && Object.hasOwn(item, name) ? item[name] : null;
      takeCost(value, valueMeter(pass));
      return value as Cell;
    },
  };
}

function namesOf(examples: Sign["examples"]): string[] {
  return [...new Set(examples.flatMap((item) => Object.keys(item)))];
}

/** Columns with types from examples. */
export function columnsOf(examples: Sign["examples"]): Column[] {
  const names = namesOf(examples);
  const budgets = examples.map((): Budget => ({ left: MOST_INSPECTED }));
  return names.map((name): Column => {
    const types = examples.map((item, at) =>
      typeOf(Object.hasOwn(item, name) ? item[name] : null, budgets[at] as Budget),
    );
    return { name, type: types.reduce(joined, NULL), nullable: true };
  });
}

const NULL: ColumnType = { kind: "null" };
/** Number of a list's items that are inspected. */
const LIST_ITEMS = 8;
/** Maximum inspected values of a record; values of a pickle may share parts endlessly. */
const MOST_INSPECTED = 4096;

/** Remaining values of a record that may be inspected. */
interface Budget {
  left: number;
}

function typeOf(value: unknown, budget: Budget): ColumnType {
  if (--budget.left < 0) return NULL;
  if (typeof value === "string") return { kind: "text", layout: "small" };
  if (typeof value === "boolean") return { kind: "bool" };
  if (typeof value === "number") {
    return Number.isInteger(value) ? { kind: "int", bits: 64, signed: true } : { kind: "float", bits: 64 };
  }
  if (Array.isArray(value)) {
    const items = (value as unknown[]).slice(0, LIST_ITEMS);
    const type = items.map((item) => typeOf(item, budget)).reduce(joined, NULL);
    return { kind: "list", item: { name: "item", type, nullable: true }, layout: "small" };
  }
  if (!isRecord(value)) return NULL;
  const fields = Object.entries(value).map(
    ([name, inner]): Column => ({ name, type: typeOf(inner, budget), nullable: true }),
  );
  return { kind: "struct", fields };
}

/** One type for two values: the first if they have nothing in common, such as polygons and run lengths. */
function joined(a: ColumnType, b: ColumnType): ColumnType {
  if (a.kind === "null") return b;
  if (a.kind === "int" && b.kind === "float") return b;
  if (a.kind === "list" && b.kind === "list") {
    return { ...a, item: { ...a.item, type: joined(a.item.type, b.item.type) } };
  }
  if (a.kind !== "struct" || b.kind !== "struct") return a;
  const fields = new Map(a.fields.map((field) => [field.name, field]));
  for (const field of b.fields) {
    const known = fields.get(field.name);
    fields.set(field.name, known === undefined ? field : { ...field, type: joined(known.type, field.type) });
  }
  return { kind: "struct", fields: [...fields.values()] };
}
