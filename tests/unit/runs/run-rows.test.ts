import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { rowsHash } from "../../../src/engine/data/open-rows.ts";
import { parseManifest } from "../../../src/engine/runs/manifest.ts";
import { evaluatedRows, type RowList, runRows, storedRunRows, usedHash } from "../../../src/engine/runs/run-rows.ts";
import { manifest as sampleManifest } from "./sample-run.ts";

const LIST: RowList = {
  dataSet: "shapes",
  rows: Array.from({ length: 300 }, (_, at) => [`a.arrow#${at}`, `image-${Math.floor(at / 3)}`] as const),
};
/** The same rows with captions, every second one labelled. */
const FILTERED: RowList = {
  ...LIST,
  facts: LIST.rows.map((_, at) => ({
    file: "a.arrow",
    caption: `thing ${at}`,
    category: at % 2 === 0 ? ["even"] : [],
    maskShare: at / 300,
  })),
};
const config = (changes: Partial<LabConfig> = {}): LabConfig => ({ ...defaultConfig(), heldOutShare: 0.2, ...changes });
const imagesOf = (indices: readonly number[]): Set<string> =>
  new Set(indices.map((at) => LIST.rows[at]?.[1] as string));

describe("the rows of a run", () => {
  it("are the same for every training seed and others for another split seed", () => {
    const first = runRows(LIST, config({ seed: 1 }));
    for (const seed of [2, 77, 4294967295]) expect(runRows(LIST, config({ seed }))).toEqual(first);
    expect(runRows(LIST, config({ splitSeed: 2 })).heldOut).not.toEqual(first.heldOut);
  });

  it("are divided by image into training, selection and report rows", () => {
    for (const splitSeed of [0, 1, 2, 3]) {
      const { train, heldOut, selection, report } = runRows(LIST, config({ splitSeed }));
      expect([train.length, heldOut.length, selection.length, report.length]).toEqual([240, 60, 15, 45]);
      expect([...selection, ...report].sort((a, b) => a - b)).toEqual(heldOut);
      expect([...train, ...heldOut].sort((a, b) => a - b)).toEqual(LIST.rows.map((_, at) => at));
      const [trained, chosen, told] = [imagesOf(train), imagesOf(selection), imagesOf(report)];
      expect(trained.size + chosen.size + told.size).toBe(100);
    }
  });

  it("keep training and held-out rows whatever the selection share is", () => {
    const none = runRows(LIST, config({ selectionShare: 0 }));
    expect(none.selection).toEqual([]);
    expect(none.report).toEqual(none.heldOut);
    const half = runRows(LIST, config({ selectionShare: 0.5 }));
    expect([half.train, half.heldOut]).toEqual([none.train, none.heldOut]);
    expect(half.selection.length).toBe(30);
  });

  it("report a single held-out image and choose by none", () => {
    const few: RowList = { dataSet: "few", rows: [["a#0", "a"] as const, ["a#1", "b"] as const] };
    for (const selectionShare of [0, 0.25, 0.5]) {
      const { selection, report } = runRows(few, config({ heldOutShare: 0.5, selectionShare }));
      expect([selection.length, report.length]).toEqual([0, 1]);
    }
  });

  it("are refused where none is left to train on", () => {
    expect(() => runRows({ dataSet: "nothing", rows: [] }, config())).toThrow(/nothing has no row to train on/);
    expect(() => runRows(FILTERED, config({ rowFilter: "category:chair" }))).toThrow(
      'rowFilter "category:chair" leaves no row of shapes to train on: 0 of 300 match, 0 held out',
    );
  });

  it("are filtered before they are counted and held out, by image", () => {
    const even = runRows(FILTERED, config({ rowFilter: "category:even", maxRows: 90 }));
    const used = [...even.train, ...even.heldOut].sort((a, b) => a - b);
    expect(used).toEqual(Array.from({ length: 90 }, (_, at) => 2 * at));
    expect([...even.selection, ...even.report].sort((a, b) => a - b)).toEqual(even.heldOut);
    expect(imagesOf(even.train).size + imagesOf(even.heldOut).size).toBe(imagesOf(used).size);
    expect(even.heldOut.length).toBeGreaterThan(10);
    // Conditions that all rows meet change nothing.
    expect(runRows(FILTERED, config({ rowFilter: "area:0..1" }))).toEqual(runRows(LIST, config()));
    expect(runRows(FILTERED, config())).toEqual(runRows(LIST, config()));
  });

  it("scored by an evaluation are evalRows in all, both parts filled", () => {
    const rows = runRows(LIST, config());
    const scored = (evalRows: number, selectionShare = 0.25) => {
      const { selection, report } = evaluatedRows(rows, { evalRows, selectionShare, mixSources: "" }, LIST);
      return [selection.length, report.length];
    };
    expect(scored(24)).toEqual([6, 18]);
    expect(scored(2)).toEqual([1, 1]);
    expect(scored(2, 0.01)).toEqual([1, 1]);
    expect(scored(10_000)).toEqual([15, 45]);
    const none = { selection: [], report: rows.heldOut };
    const settings = { evalRows: 24, selectionShare: 0.25, mixSources: "" };
    expect(evaluatedRows(none, settings, LIST).report).toEqual(rows.heldOut.slice(0, 24));
  });

  it("scored of a mix are of every source in turn, of none that is left out", () => {
    const names = ["a", "b", "c"];
    const list: RowList = {
      dataSet: "mix",
      rows: LIST.rows.map(([, image], at) => [`${names[Math.floor(at / 100)]}.arrow#${at}`, image] as const),
    };
    const { heldOut } = runRows(list, config());
    const settings = { evalRows: 7, selectionShare: 0.25, mixSources: "c = 2, a = 0" };
    const { report } = evaluatedRows({ selection: [], report: heldOut }, settings, list);
    expect(report.map((index) => list.rows[index]?.[0][0])).toEqual(["c", "b", "c", "b", "c", "b", "c"]);
    const first = (name: string, count: number) =>
      heldOut.filter((index) => list.rows[index]?.[0].startsWith(name)).slice(0, count);
    expect([...report].sort((x, y) => x - y)).toEqual([...first("b", 3), ...first("c", 4)]);
  });
});

describe("the rows of a stored run", () => {
  const manifest = async (stored: object, more: object = {}) => {
    const data = { ...sampleManifest().data, hash: await rowsHash(LIST.rows), ...more };
    const parsed = parseManifest({ ...sampleManifest(), data, config: stored });
    if ("problem" in parsed) throw new Error(parsed.problem);
    return parsed.manifest;
  };

  it("are those it was trained on", async () => {
    const settings = config({ seed: 5, splitSeed: 9, selectionShare: 0.5 });
    expect(await storedRunRows(await manifest(settings), LIST)).toEqual(runRows(LIST, settings));
  });

  it("are those that its filter chose, and refused where captions have changed the choice", async () => {
    const settings = config({ rowFilter: "thing 1" });
    const selected = runRows(FILTERED, settings);
    const stored = await manifest(settings, await usedHash(LIST, selected, settings));
    expect(await storedRunRows(stored, FILTERED)).toEqual(selected);
    const facts = FILTERED.facts?.map((row) => (row.caption === "thing 1" ? { ...row, caption: "a cup" } : row));
    await expect(storedRunRows(stored, { ...FILTERED, ...(facts && { facts }) })).rejects.toThrow(
      /was filtered by captions, labels or masks that differ in the open rows/,
    );
  });

  it("are refused in another data set", async () => {
    const other: RowList = { dataSet: "other", rows: LIST.rows.slice(1) };
    await expect(storedRunRows(await manifest(config()), other)).rejects.toThrow(
      /uses the rows of shapes; other has other rows/,
    );
  });
});
