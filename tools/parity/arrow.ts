import { toHex } from "../../src/engine/bytes/hash.ts";
import { isRecord, readJson } from "../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import { type ArrowTable, openArrow } from "../../src/engine/data/arrow/arrow-table.ts";
import { type Cell, isBinaryCell, typeName } from "../../src/engine/data/tables/table.ts";
import type { ParityRow } from "./row.ts";

const EXPECTED = ".expected.json";

/**
 * Reads every `*.arrow` of a golden folder and compares fields, schema metadata, rows per batch, row count and values
 * with `<name>.arrow.expected.json`. A file without expectations passes when it is recognised as something else and
 * named; it fails when it reads as Arrow, because then nothing was compared.
 */
export async function* arrowParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  for (const path of folder.paths) {
    const source = path.endsWith(".arrow") ? folder.get(path) : undefined;
    if (source === undefined) continue;
    const expected = folder.get(path + EXPECTED);
    let table: ArrowTable;
    try {
      table = await openArrow(source);
    } catch (thrown) {
      const note = thrown instanceof Error ? thrown.message : String(thrown);
      yield result(path, "recognised as not being a shard", expected === undefined ? 0 : 1, 1, note);
      continue;
    }
    if (expected === undefined) {
      yield result(path, "expectations", 1, 1, `reads as Arrow, and there is no ${path}${EXPECTED}`);
      continue;
    }
    const json = await readJson(expected);
    if (!isRecord(json)) {
      yield result(path, "expectations", 1, 1, `${path}${EXPECTED} is not an object`);
      continue;
    }
    yield* compare(path, table, json);
  }
}

async function* compare(path: string, table: ArrowTable, json: Record<string, unknown>): AsyncGenerator<ParityRow> {
  if (table.problem !== undefined) yield result(path, "complete file", 1, 1, table.problem);
  if (Array.isArray(json.fields)) {
    const fields = table.columns.map(({ name, type, nullable }) => ({ name, type: typeName(type), nullable }));
    yield same(path, "fields", json.fields.map(plainField), fields.map(plainField));
  }
  if (isRecord(json.schemaMetadata)) {
    yield same(path, "schema metadata", sorted(json.schemaMetadata), sorted(Object.fromEntries(table.index.metadata)));
  }
  if (Array.isArray(json.batchRows)) {
    yield same(
      path,
      "rows per batch",
      json.batchRows,
      table.index.batches.map((batch) => batch.rows),
    );
  }
  if (typeof json.numRows === "number") yield same(path, "row count", json.numRows, table.rows);
  const rows = Array.isArray(json.rows) ? json.rows.filter(isRecord) : [];
  const wrong: string[] = [];
  let compared = 0;
  for (const [row, expected] of rows.entries()) {
    for (const [column, { name }] of table.columns.entries()) {
      if (!(name in expected)) continue;
      compared++;
      const got = await cellText(table, column, row);
      if (!equal(expected[name], got))
        wrong.push(`row ${row} ${name}: expected ${clip(expected[name])}, got ${clip(got)}`);
    }
  }
  if (rows.length > 0) {
    const what = `${compared} values of ${rows.length} rows`;
    yield result(path, what, compared === 0 ? 1 : wrong.length, Math.max(1, compared), wrong.slice(0, 3).join("; "));
  }
}

/** A cell in the notation of the expectations, or a sentence if it could not be read. */
async function cellText(table: ArrowTable, column: number, row: number): Promise<unknown> {
  try {
    return await plain(await table.cell(column, row));
  } catch (thrown) {
    return thrown instanceof Error ? `unreadable: ${thrown.message}` : thrown;
  }
}

/** A cell in the notation of the expectations: 64-bit integers as text, binary as hexadecimal. */
async function plain(cell: Cell): Promise<unknown> {
  if (typeof cell === "bigint") return cell.toString();
  if (isBinaryCell(cell)) return toHex(await cell.read());
  if (Array.isArray(cell)) return Promise.all(cell.map((item: Cell) => plain(item)));
  if (typeof cell === "object" && cell !== null) {
    const entries = Object.entries(cell).map(async ([key, value]) => [key, await plain(value as Cell)] as const);
    return Object.fromEntries(await Promise.all(entries));
  }
  return cell;
}

/** Deep equality; a number and its text are equal, because 64-bit integers may have either form. */
function equal(expected: unknown, got: unknown): boolean {
  if (Array.isArray(expected)) {
    return Array.isArray(got) && got.length === expected.length && expected.every((item, at) => equal(item, got[at]));
  }
  if (isRecord(expected)) {
    if (!isRecord(got)) return false;
    const keys = Object.keys(expected);
    return keys.length === Object.keys(got).length && keys.every((key) => equal(expected[key], got[key]));
  }
  if (expected === null || got === null) return expected === got;
  return (
    expected === got || (typeof expected !== "object" && typeof got !== "object" && String(expected) === String(got))
  );
}

/** A field and its type in one notation: library words for the same type are unified, names of list items dropped. */
function plainField(field: unknown): unknown {
  if (!isRecord(field)) return field;
  const type = String(field.type)
    .toLowerCase()
    .replaceAll("string", "utf8")
    .replace(/\bdouble\b/g, "float64")
    .replace(/\bfloat\b/g, "float32")
    .replace(/<(?:item|element)\s*:\s*/g, "<")
    .replace(/\s+/g, "");
  return { name: field.name, type, nullable: field.nullable };
}

function sorted(record: Record<string, unknown>): unknown {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}

function same(path: string, what: string, expected: unknown, got: unknown): ParityRow {
  const equalText = JSON.stringify(expected) === JSON.stringify(got);
  return result(path, what, equalText ? 0 : 1, 1, equalText ? "" : `expected ${clip(expected)}, got ${clip(got)}`);
}

function result(path: string, what: string, wrong: number, of: number, note: string): ParityRow {
  const row = { case: path, what, maxAbs: wrong, maxRel: wrong / of, tolerance: "exact", pass: wrong === 0 };
  return note === "" ? row : { ...row, note };
}

function clip(value: unknown): string {
  const shown = JSON.stringify(value) ?? String(value);
  return shown.length > 160 ? `${shown.slice(0, 157)}...` : shown;
}
