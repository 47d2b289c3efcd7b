/** The folders of `tests/data`: inputs of many forms, and what reading them must give (tests/data/README.md). */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { decodeImage } from "../../../scripts/lib/node/node-images.ts";
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { decodeSample } from "../../../src/engine/data/film-strip.ts";
import { decodeRle, rleArea } from "../../../src/engine/data/mask/rle.ts";
import { openRegionSet, type RegionSet } from "../../../src/engine/data/region-set.ts";
import { arePluggedIn } from "../../support/plugins.ts";

interface Expected {
  readonly rows: readonly ExpectedRow[];
  readonly refused?: readonly { readonly row: number | string; readonly says: string }[];
  readonly notices?: readonly string[];
}

interface ExpectedRow {
  readonly image?: string;
  readonly caption: string | readonly string[];
  readonly area: number;
  readonly rle?: string;
  readonly category?: readonly string[];
  readonly colour?: readonly number[];
}

const PLACE = fileURLToPath(new URL("../../data/", import.meta.url));
const FORMS = readdirSync(PLACE, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

/** Plug-ins that read some of these folders. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  "coco-captions-some": ["data-sets"],
  "lfs-pointers": ["archives"],
  "osprey-swapped": ["data-sets"],
};

async function inputOf(form: string): Promise<ByteFolder> {
  const folder = await nodeFolder(join(PLACE, form));
  return { ...folder, paths: folder.paths.filter((path) => path !== "expected.json") };
}

/** Mean colour under a mask. */
async function colourUnder(set: RegionSet, index: number): Promise<number[]> {
  const sample = await set.sample(index);
  const { data } = await decodeSample(sample, decodeImage);
  const sum = [0, 0, 0];
  for (const [at, inside] of decodeRle(sample.mask).entries()) {
    if (inside === 1) for (const c of [0, 1, 2]) sum[c] = (sum[c] as number) + (data[3 * at + c] as number);
  }
  return sum.map((one) => one / rleArea(sample.mask));
}

describe("folders of tests/data", () => {
  test("are there", () => expect(FORMS.length).toBeGreaterThan(5));

  test.each(FORMS.filter((form) => arePluggedIn(...(NEEDED[form] ?? []))))("%s", async (form) => {
    const wanted = JSON.parse(readFileSync(join(PLACE, form, "expected.json"), "utf8")) as Expected;
    const folder = await inputOf(form);
    const set = await openRegionSet(folder);
    const found: unknown[] = [];
    const right: unknown[] = [];
    for (const [at, { caption, mask, category }] of set.summaries.entries()) {
      const row = wanted.rows[at];
      const one = { caption, area: rleArea(mask), rle: mask.counts, category };
      const given = Object.entries(row ?? one).flatMap(([key]) => (key in one ? [key as keyof typeof one] : []));
      found.push(Object.fromEntries(given.map((key) => [key, one[key]])));
      if (row === undefined) continue;
      const { image, colour, ...rest } = row;
      const fits = typeof row.caption === "string" || !row.caption.includes(caption);
      right.push(fits ? rest : { ...rest, caption });
      if (colour !== undefined) {
        for (const [c, value] of (await colourUnder(set, at)).entries()) {
          expect(Math.abs(value - (colour[c] as number)), `colour of row ${at}: ${value}`).toBeLessThan(3);
        }
      }
      if (image !== undefined) {
        const source = folder.get(image);
        const bytes = await source?.read(0, source.size);
        expect((await set.sample(at)).image.bytes, `picture of row ${at}`).toEqual(bytes);
      }
    }
    const told = [
      ...set.skipped.map(({ file, row, reason }) => ({ row: row < 0 ? file : row, place: `${file}#${row}`, reason })),
      ...set.ignored.map(({ name, reason }) => ({ row: name, place: name, reason })),
    ];
    const { refused = [], notices = [] } = wanted;
    const said = told.map(({ place, reason }) => `${place}: ${reason}`).join("\n");
    expect(found, said).toEqual([...right, ...wanted.rows.slice(found.length)]);
    const silent = refused.filter(
      ({ row, says }) => !told.some((one) => (one.row === row || one.place === row) && one.reason.includes(says)),
    );
    expect([...silent, ...notices.filter((says) => !told.some(({ reason }) => reason.includes(says)))], said).toEqual(
      [],
    );
    // Nothing else is left out.
    const listed = [...refused.map(({ says }) => says), ...notices];
    const extra = set.skipped.filter(({ reason }) => !listed.some((says) => reason.includes(says)));
    expect(extra, said).toEqual([]);
  });
});
