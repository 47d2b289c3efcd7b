/** Typed reading of one object of config.json; every error names the field by its full path. */
import { isRecord } from "../bytes/json.ts";
import { LabError, quote } from "../errors.ts";

/** Getters throw LabError("bad-config") if the field has the wrong form, or if it is absent and has no fallback. */
export interface Fields {
  /**
   * Whole number from 1 to `most`, by default a million. The limit is checked before anything of that size is built.
   */
  whole(key: string, fallback?: number, most?: number): number;
  /** List of at most 1,024 whole numbers from `least` to `most`. */
  wholes(key: string, fallback: readonly number[], least: number, most: number): readonly number[];
  integer(key: string, fallback?: number): number;
  /** Finite number above 0. */
  number(key: string, fallback?: number): number;
  flag(key: string, fallback: boolean): boolean;
  text(key: string): string;
  oneOf<T extends string>(key: string, values: readonly T[], fallback: T): T;
  /** The object below a key. */
  child(key: string): Fields;
  /** The raw value; null counts as absent. */
  raw(key: string): unknown;
}

/** Larger than any size in a published model. */
const MOST = 2 ** 20;
const MOST_ENTRIES = 1024;

function isWhole(value: unknown, least: number, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

export function fieldsOf(json: Readonly<Record<string, unknown>>, path: string): Fields {
  const fail = (key: string, what: string): never => {
    const found = json[key] === undefined ? "is missing" : `is ${quote(json[key])}`;
    throw new LabError("bad-config", `config.json: ${path}${key} ${found}, it must be ${what}`, {
      subject: `${path}${key}`,
    });
  };
  const raw = (key: string): unknown => json[key] ?? undefined;
  return {
    raw,
    whole(key, fallback, most = MOST) {
      const value = raw(key) ?? fallback;
      return isWhole(value, 1, most) ? value : fail(key, `a whole number from 1 to ${most}`);
    },
    wholes(key, fallback, least, most) {
      const value = raw(key) ?? fallback;
      return Array.isArray(value) && value.length <= MOST_ENTRIES && value.every((item) => isWhole(item, least, most))
        ? (value as number[])
        : fail(key, `a list of whole numbers from ${least} to ${most}`);
    },
    integer(key, fallback) {
      const value = raw(key) ?? fallback;
      return Number.isInteger(value) ? (value as number) : fail(key, "a whole number");
    },
    number(key, fallback) {
      const value = raw(key) ?? fallback;
      return Number.isFinite(value) && (value as number) > 0 ? (value as number) : fail(key, "a number above 0");
    },
    flag(key, fallback) {
      const value = raw(key) ?? fallback;
      return typeof value === "boolean" ? value : fail(key, "true or false");
    },
    text(key) {
      const value = raw(key);
      return typeof value === "string" ? value : fail(key, "a text");
    },
    oneOf(key, values, fallback) {
      const value = raw(key) ?? fallback;
      return values.find((item) => item === value) ?? fail(key, `one of ${values.join(", ")}`);
    },
    child(key) {
      const value = raw(key);
      return isRecord(value) ? fieldsOf(value, `${path}${key}.`) : fail(key, "an object");
    },
  };
}
