import { describe, expect, it } from "vitest";
import { LabError } from "../../../src/engine/errors.ts";
import { ATTENTION_FORMS, FORMER_FORMS, PRODUCT_FORMS } from "../../../src/engine/gpu/forms/records.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import {
  emptyTable,
  formsOf,
  keepTable,
  keptTable,
  mergedTable,
  parseTable,
  storedTable,
  storeTable,
  type TuningTable,
  tableText,
} from "../../../src/engine/tuning/table.ts";

const OF = { vendor: "v", architecture: "a", description: "d", browser: "b", kernels: "k" };
const ENTRY = {
  bucket: "product nt plain f32 m8 n9 k7 b0",
  form: "tiles-64-64-16-8-4",
  reference: "stock",
  seconds: 0.001,
  ratio: 0.5,
  stock: 0.5,
  rate: 1e12,
};
const TABLE: TuningTable = { ...emptyTable(OF), peak: 2e12, entries: [ENTRY] };

function problemOf(json: string): string {
  try {
    parseTable(json, "forms.json");
  } catch (thrown) {
    if (thrown instanceof LabError) return thrown.message;
    throw thrown;
  }
  return "";
}

describe("a tuning table", () => {
  it("is read as it was written", () => {
    expect(parseTable(tableText(TABLE), "forms.json")).toEqual(TABLE);
    expect(formsOf(TABLE).get(ENTRY.bucket)).toBe("tiles-64-64-16-8-4");
    expect(formsOf(TABLE).get("product nn plain f32 m8 n9 k7 b0")).toBeUndefined();
  });

  it("leaves out buckets that an earlier version measured with forms it had", () => {
    const bucket = "attention causal f32 q10 k10 w6 h4 g1";
    const former = { ...ENTRY, bucket, form: "runs", reference: "tiles-32-16" };
    const old = { ...TABLE, entries: [former, ENTRY, { ...ENTRY, form: "tiles-128-64-16-8-4" }] };
    expect(parseTable(JSON.stringify(old), "forms.json")).toEqual(TABLE);
    expect([...FORMER_FORMS].filter((name) => name in PRODUCT_FORMS || name in ATTENTION_FORMS)).toEqual([]);
  });

  it("refuses what is no table with one sentence that names the file", () => {
    const broken: readonly [change: object | string, about: RegExp][] = [
      ["{", /not valid JSON/],
      ["[".repeat(100), /nested deeper/],
      ["null", /an object/],
      [{ format: "other" }, /format/],
      [{ of: { ...OF, kernels: 3 } }, /of\.kernels/],
      [{ peak: -1 }, /peak/],
      [{ entries: {} }, /a list/],
      [{ entries: Array.from({ length: 5001 }, () => ENTRY) }, /entries/],
      [{ entries: [{ ...ENTRY, seconds: "fast" }] }, /entries\.0\.seconds/],
      [{ entries: [{ ...ENTRY, ratio: Number.NaN }] }, /entries\.0\.ratio/],
      [{ entries: [{ ...ENTRY, bucket: "product nt plain f32 m8" }] }, /is not a bucket/],
      [{ entries: [{ ...ENTRY, form: "tiles-1" }] }, /"tiles-1" is not a form/],
      [{ entries: [{ ...ENTRY, form: "__proto__" }] }, /is not a form/],
      [{ entries: [{ ...ENTRY, form: "constructor" }] }, /is not a form/],
      [{ entries: [{ ...ENTRY, form: "narrow" }] }, /"narrow" is not a form of "product/],
      [{ entries: [{ ...ENTRY, reference: "toString" }] }, /is not a form/],
    ];
    for (const [change, about] of broken) {
      const message = problemOf(typeof change === "string" ? change : JSON.stringify({ ...TABLE, ...change }));
      expect(message).toMatch(about);
      expect(message).toMatch(/^forms\.json[: ]/);
      expect(message).not.toContain("\n");
      expect(message.length).toBeLessThanOrEqual(300);
    }
  });

  it("is stored under adapter, browser and programs", async () => {
    const store = memoryStore();
    await storeTable(store, TABLE);
    expect(await storedTable(store, OF)).toEqual(TABLE);
    for (const other of [{ kernels: "2" }, { browser: "2" }, { description: "2" }]) {
      expect(await storedTable(store, { ...OF, ...other })).toEqual(emptyTable({ ...OF, ...other }));
    }
    const [file] = await store.list("");
    await store.write(file?.path ?? "", "damaged");
    expect(await storedTable(store, OF)).toEqual(emptyTable(OF));
  });

  it("is kept by a run; a run of an older version has none", async () => {
    const store = memoryStore();
    expect(await keptTable(store, "run")).toBeUndefined();
    await keepTable(store, "run", TABLE);
    expect(await keptTable(store, "run")).toEqual(TABLE);
    await store.write("run/forms.json", "{}");
    await expect(keptTable(store, "run")).rejects.toThrow(/^run\/forms\.json: "format" is missing/);
  });

  it("takes newer entries in place of older ones", () => {
    const other = { ...ENTRY, bucket: "product tn plain f32 m8 n9 k7 b0" };
    const merged = mergedTable(TABLE, [{ ...ENTRY, form: "stock" }, other]);
    expect(merged.entries.map(({ form }) => form)).toEqual(["stock", "tiles-64-64-16-8-4"]);
  });
});
