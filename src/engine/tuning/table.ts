/** The tuning table: the measured form of every bucket, with the adapter, browser and programs that it is valid for. */
import * as z from "zod/mini";
import { sha256Hex } from "../bytes/hash.ts";
import { checkShape, parseJson } from "../bytes/json.ts";
import { badInput, LabError, quote } from "../errors.ts";
import type { FormTable } from "../gpu/forms/active.ts";
import {
  ATTENTION_FORMS,
  type AttentionName,
  FORMER_FORMS,
  familyOf,
  PRODUCT_FORMS,
  type ProductName,
} from "../gpu/forms/records.ts";
import type { RunStore } from "../storage/store.ts";

const text = z.string().check(z.maxLength(500));
const seconds = z.number().check(z.gte(0), z.lte(1e6));
const ratio = z.number().check(z.gte(0), z.lte(1e6));

const ENTRY = z.object({
  bucket: z.string().check(z.maxLength(80)),
  form: z.string().check(z.maxLength(40)),
  /** The form that runs without a measurement. */
  reference: z.string().check(z.maxLength(40)),
  /** Time of one call; for attention, including its gradient. */
  seconds,
  /** Time as a share of the reference's. */
  ratio,
  /** Time as a share of stock's; null where stock has no form. */
  stock: z.nullable(ratio),
  /** Floating-point operations per second. */
  rate: z.number().check(z.gte(0), z.lte(1e18)),
});

const IDENTITY = z.object({ vendor: text, architecture: text, description: text, browser: text, kernels: text });

const TABLE = z.object({
  format: z.literal("sa2va-lab-forms/1"),
  of: IDENTITY,
  /** Measured multiply-add rate of the adapter in floating-point operations per second; null if not measured. */
  peak: z.nullable(z.number().check(z.gte(0), z.lte(1e18))),
  entries: z.array(ENTRY).check(z.maxLength(5000)),
});

/** What a table is valid for. `kernels` is a hash of the shader sources. */
export type TableIdentity = z.infer<typeof IDENTITY>;
export type TuningEntry = z.infer<typeof ENTRY>;
export type TuningTable = z.infer<typeof TABLE>;

/** A table without measurements: the built-in forms. */
export function emptyTable(of: TableIdentity): TuningTable {
  return { format: "sa2va-lab-forms/1", of, peak: null, entries: [] };
}

/**
 * The table of a JSON text. Buckets measured with a form of an earlier version are left out, so they have the built-in
 * form.
 * @param file for messages
 * @throws LabError("bad-input") naming the file and the first field or bucket that is invalid
 */
export function parseTable(json: string, file: string): TuningTable {
  const table = checkShape(parseJson(json, file), TABLE, file);
  const entries = table.entries.filter(
    ({ form, reference }) => ![form, reference].some((name) => FORMER_FORMS.has(name)),
  );
  for (const { bucket, form, reference } of entries) {
    const family = familyOf(bucket);
    if (family === undefined) throw badInput(`${file}: ${quote(bucket)} is not a bucket`, file);
    const forms: object = family === "product" ? PRODUCT_FORMS : ATTENTION_FORMS;
    const unknown = [form, reference].find((name) => !Object.hasOwn(forms, name));
    if (unknown !== undefined) throw badInput(`${file}: ${quote(unknown)} is not a form of ${quote(bucket)}`, file);
  }
  return { ...table, entries };
}

export function tableText(table: TuningTable): string {
  return `${JSON.stringify(table, null, 1)}\n`;
}

/** The form of each bucket, for the kernels. */
export function formsOf({ entries }: TuningTable): FormTable {
  return new Map(entries.map(({ bucket, form }) => [bucket, form as ProductName | AttentionName]));
}

/** A table in which newer entries replace those of the same buckets. */
export function mergedTable(table: TuningTable, newer: readonly TuningEntry[]): TuningTable {
  const entries = new Map([...table.entries, ...newer].map((entry) => [entry.bucket, entry]));
  return { ...table, entries: [...entries.values()] };
}

const fileOf = (run: string): string => `${run}/forms.json`;

/** Stores the table that a run computes with in the run's folder. */
export async function keepTable(store: RunStore, run: string, table: TuningTable): Promise<void> {
  await store.write(fileOf(run), tableText(table));
}

/**
 * The table of a stored run; undefined if it has none and uses the built-in forms. @throws LabError naming a damaged
 * file
 */
export async function keptTable(store: RunStore, run: string): Promise<TuningTable | undefined> {
  const file = fileOf(run);
  return (await store.size(file)) === null ? undefined : parseTable(await store.readText(file), file);
}

async function storedName(of: TableIdentity): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(of));
  return `forms-${(await sha256Hex(bytes)).slice(0, 24)}.json`;
}

/** Stores the table under the identity that it is valid for. */
export async function storeTable(store: RunStore, table: TuningTable): Promise<void> {
  await store.write(await storedName(table.of), tableText(table));
}

/** The stored table of this adapter, browser and programs; an empty table if there is none or it cannot be read. */
export async function storedTable(store: RunStore, of: TableIdentity): Promise<TuningTable> {
  const file = await storedName(of);
  if ((await store.size(file)) === null) return emptyTable(of);
  try {
    return parseTable(await store.readText(file), file);
  } catch (thrown) {
    // A damaged table costs only time: the forms are measured again.
    if (thrown instanceof LabError) return emptyTable(of);
    throw thrown;
  }
}
