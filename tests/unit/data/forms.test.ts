import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node-files.ts";
import { memoryFolder } from "../../../src/engine/bytes/memory.ts";
import { openRegionSet, type RegionSet } from "../../../src/engine/data/region-set.ts";
import type { RegionSample } from "../../../src/engine/data/sample.ts";
import * as forms from "../../support/data-forms.ts";
import { counting } from "./make.ts";

const fixture = (name: string): string => fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));

let samples: RegionSample[];

async function samplesIn(set: RegionSet): Promise<RegionSample[]> {
  return Promise.all(set.summaries.map(({ index }) => set.sample(index)));
}

beforeAll(async () => {
  samples = await samplesIn(await openRegionSet(await nodeFolder(fixture("photographs"))));
});

/** What must be the same in every form. */
function essence({ caption, category, imageId, image, mask }: RegionSample): object {
  return { caption, category, imageId, width: image.width, height: image.height, mime: image.mime, mask };
}

async function expectSame(set: RegionSet, kind: RegExp, categories = true): Promise<void> {
  expect(set.skipped).toEqual([]);
  expect(set.files.map(({ reason, adapter }) => reason ?? adapter).join()).toMatch(kind);
  const found = await samplesIn(set);
  const wanted = samples.map(essence).map((one) => (categories ? one : { ...one, category: [] }));
  expect(found.map(essence)).toEqual(wanted);
  // Compared as buffers: item by item takes seconds.
  const same = found.map(({ image }, at) => Buffer.from(image.bytes).equals((samples[at] as RegionSample).image.bytes));
  expect(same).toEqual([true, true, true]);
}

test("Parquet", async () => {
  await expectSame(await openRegionSet(await nodeFolder(fixture("photographs-parquet"))), /conversations/);
});

const FORMS = [
  ["COCO region captions", forms.cocoForm, /region captions in COCO form/, true],
  ["refs as pickle", (all: readonly RegionSample[]) => forms.refsForm(all), /referring expressions/, true],
  ["describe-anything", forms.damForm, /describe-anything annotations/, true],
  ["WebDataset", forms.webdatasetForm, /files of one name: jpg, json, mask.png/, true],
  ["JSON lines", forms.linesForm, /records with a picture \(image_path\), a mask \(mask\)/, true],
  ["Osprey", forms.ospreyForm, /Osprey regions/, false],
  ["the fine-tune list of Sa2VA", forms.sa2vaForm, /fine-tune rows of Sa2VA/, false],
  ["GranD-f", forms.grandfForm, /GranD-f/, false],
] as const;

test.each(FORMS)("%s", async (_, form, kind, categories) => {
  await expectSame(await openRegionSet(memoryFolder(form(samples))), kind, categories);
});

test.each(FORMS)("%s in a zip archive", async (_, form, kind, categories) => {
  await expectSame(await openRegionSet(memoryFolder(forms.zipped(form(samples)))), kind, categories);
});

test("pictures of a tar shard are read by range", async () => {
  const folder = counting(memoryFolder(forms.damForm(samples)));
  const total = folder.paths.reduce((sum, path) => sum + (folder.get(path)?.size ?? 0), 0);
  const set = await openRegionSet(folder);
  expect(set.summaries.length).toBe(3);
  // Headers of the shard come in a window; pictures add their heads, middles and ends.
  expect(folder.bytes).toBeLessThan(2 * total);
  const before = folder.bytes;
  await set.sample(1);
  const { length } = (samples[1] as RegionSample).image.bytes;
  expect(folder.bytes - before).toBe(length);
});

test("instances without refs take their categories for captions and say so", async () => {
  const { "refcoco/refs(unc).p": _, ...files } = forms.refsForm(samples);
  const set = await openRegionSet(memoryFolder(files));
  expect(set.summaries.map(({ caption }) => caption)).toEqual(["airplane", "bird", "cat"]);
  expect(set.ignored.map(({ reason }) => reason).join()).toContain("the category names stand for them");
});

test("refs without instances say what is missing", async () => {
  const { "refcoco/instances.json": _, ...files } = forms.refsForm(samples);
  const set = await openRegionSet(memoryFolder(files));
  expect(set.skipped.map(({ reason }) => reason)).toEqual([
    "refcoco/refs(unc).p has 3 refs, but their masks are not here: add instances.json",
  ]);
});

test("a hundred thousand rows of JSON are listed without reading the file twice", async () => {
  const item = (at: number): string =>
    JSON.stringify({ image: "a.jpg", mask: [[[1, 1, 9, 1, 9, 9]]], text: [`thing ${at}`] });
  const text = `[${Array.from({ length: 100_000 }, (_, at) => item(at)).join(",")}]`;
  const folder = counting(memoryFolder({ "rows.json": text }));
  const stop = new AbortController();
  const seen: number[] = [];
  const opening = openRegionSet(folder, {
    signal: stop.signal,
    onProgress: ({ totalRows }) => {
      seen.push(totalRows);
      stop.abort();
    },
  });
  await expect(opening).rejects.toMatchObject({ code: "cancelled" });
  expect(seen[0]).toBe(100_000);
  expect(folder.bytes).toBeLessThan(2.5 * text.length);
});
