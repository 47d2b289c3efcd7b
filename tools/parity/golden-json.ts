/** Reads golden JSON: nested number lists in which null is NaN and "inf" is infinity. */
import { isRecord, readJson } from "../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import { compareArrays, missed, type Tolerance } from "./compare.ts";
import { leftOut, type ParityRow } from "./row.ts";

export type Json = Record<string, unknown>;

/** All JSON objects of a folder by path. */
export async function goldenFiles(folder: ByteFolder): Promise<[path: string, json: Json][]> {
  const files: [string, Json][] = [];
  for (const path of folder.paths) {
    const source = path.endsWith(".json") ? folder.get(path) : undefined;
    if (source === undefined) continue;
    const json = await readJson(source);
    files.push([path, isRecord(json) ? json : {}]);
  }
  return files;
}

/** An object member; an empty object when there is none. */
export function record(json: Json, key: string): Json {
  const value = json[key];
  return isRecord(value) ? value : {};
}

/** The objects of a list member. */
export function records(json: Json, key: string): Json[] {
  const value = json[key];
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function numberOr(json: Json, key: string, otherwise: number): number {
  const value = json[key];
  return typeof value === "number" ? value : otherwise;
}

export function text(json: Json, key: string): string {
  const value = json[key];
  return typeof value === "string" ? value : "";
}

/** One value of the golden notation as a number. */
export function toNumber(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  if (value === "inf") return Number.POSITIVE_INFINITY;
  if (value === "-inf") return Number.NEGATIVE_INFINITY;
  return Number.NaN;
}

/** Any nesting of lists as one flat list of numbers. */
export function flat(value: unknown): number[] {
  return Array.isArray(value) ? value.flatMap(flat) : [toNumber(value)];
}

/** A list of lists of numbers. */
export function matrix(value: unknown): number[][] {
  return Array.isArray(value) ? value.map(flat) : [];
}

/** Lengths of a regular nesting. */
export function shapeOf(value: unknown): number[] {
  return Array.isArray(value) ? [value.length, ...shapeOf(value[0])] : [];
}

/** Collects the comparisons of one case. */
export class CaseReport {
  readonly rows: ParityRow[] = [];
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /**
   * Compares numbers; an expected NaN or infinity must be the same. Values that a file does not record (undefined) are
   * not compared.
   */
  compare(what: string, expected: unknown, got: ArrayLike<number> | number, tolerance: Tolerance): void {
    if (expected === undefined) return;
    const wanted = flat(expected);
    const found = typeof got === "number" ? [got] : Array.from(got);
    const special = wanted.findIndex((value, i) => !Number.isFinite(value) && !Object.is(value, found[i]));
    if (special >= 0) {
      const note = `element ${special} is ${found[special]} instead of ${wanted[special]}`;
      this.rows.push(missed(this.name, what, note));
      return;
    }
    const blank = (value: number, i: number): number => (Number.isFinite(wanted[i] ?? 0) ? value : 0);
    this.rows.push(compareArrays(this.name, what, wanted.map(blank), found.map(blank), tolerance));
  }

  /** A row for recorded values that are not compared, with the reason. */
  leftOut(what: string, why: string): void {
    this.rows.push(leftOut(this.name, what, why));
  }
}

/** Runs one case; an error becomes a missed row after the comparisons made so far. */
export async function runCase(
  name: string,
  work: (report: CaseReport) => Promise<void> | void,
): Promise<readonly ParityRow[]> {
  const report = new CaseReport(name);
  try {
    await work(report);
  } catch (thrown) {
    report.rows.push(missed(name, "run", thrown instanceof Error ? thrown.message : String(thrown)));
  }
  if (report.rows.length === 0) report.rows.push(missed(name, "run", "nothing in this case could be compared"));
  return report.rows;
}
