import { sha256Hex } from "../../src/engine/bytes/hash.ts";
import { isRecord, readJson } from "../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import {
  canonicalRuns,
  decodeRle,
  encodeRle,
  maskIou,
  maskIouCrowd,
  mergeRles,
  parseRle,
  type Rle,
  rleArea,
  rleBox,
  rleFromBox,
  rleFromPolygons,
  rleFromRuns,
  rleRuns,
} from "../../src/engine/data/mask/rle.ts";
import type { ParityRow } from "./row.ts";

type Json = Record<string, unknown>;
const KINDS = ["cases", "polygons", "boxes", "merges", "pairs"] as const;

/**
 * Runs every JSON file of a golden RLE folder through the codec: decode, encode, runs, area, box, polygons, boxes,
 * merges and IoU, each against the stored numbers. One row per case; `maxAbs` counts what differs.
 */
export async function* rleParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const files = await jsonFiles(folder);
  const masks = new Map<string, Rle>();
  for (const [, json] of files) {
    for (const item of items(json, "cases")) {
      if (typeof item.name === "string" && isRecord(item.rle)) masks.set(item.name, parseRle(item.rle));
    }
  }
  for (const [path, json] of files) {
    if (!looksLikeRle(json)) {
      yield failed(path, "recognise the file", `none of ${KINDS.join(", ")} of masks in it`);
      continue;
    }
    for (const [index, item] of items(json, "cases").entries()) {
      yield await run(`${path} ${label(item, index)}`, (check) => checkCase(item, check));
    }
    for (const [index, item] of items(json, "polygons").entries()) {
      yield await run(`${path} ${label(item, index)}`, (check) => checkPolygon(item, check));
    }
    for (const [index, item] of items(json, "boxes").entries()) {
      yield await run(`${path} box ${index}`, (check) => checkBox(item, check));
    }
    for (const [index, item] of items(json, "merges").entries()) {
      yield await run(`${path} merge ${index}`, (check) => checkMerge(item, masks, check));
    }
    for (const [index, item] of items(json, "pairs").entries()) {
      yield await run(`${path} pair ${index}`, (check) => checkPair(item, masks, check));
    }
    const mismatch = isRecord(json.sizeMismatch) ? items(json.sizeMismatch, "pairs") : [];
    for (const [index, item] of mismatch.entries()) {
      yield await run(`${path} size mismatch ${index}`, (check) => {
        let refused = false;
        try {
          maskIou(named(masks, item.dt), named(masks, item.gt));
        } catch {
          refused = true;
        }
        check("refused", 0, refused ? 0 : 1);
      });
    }
  }
}

/** Collects comparisons of one case. */
type Check = (what: string, expected: unknown, got: unknown) => void;

async function checkCase(item: Json, check: Check): Promise<void> {
  const [height, width] = item.size as [number, number];
  const rle =
    item.form === "polygons"
      ? rleFromPolygons(item.polygons as number[][], height, width)
      : parseRle(isRecord(item.rle) ? item.rle : { size: item.size, counts: item.counts });
  const pixels = decodeRle(rle);
  if (Array.isArray(item.rows)) check("pixels", item.rows, rowsOf(pixels, height, width));
  if (typeof item.pixelsRowMajorSha256 === "string") {
    check("pixel hash", item.pixelsRowMajorSha256, await sha256Hex(pixels));
  }
  const canonical =
    typeof item.canonicalCounts === "string" ? item.canonicalCounts : (item.rle as Json | undefined)?.counts;
  if (typeof canonical === "string") {
    check("encoded text", canonical, encodeRle(pixels, height, width).counts);
    check("canonical runs", canonical, rleFromRuns(canonicalRuns(rleRuns(rle)), height, width).counts);
  }
  if (Array.isArray(item.runs)) {
    check("runs", item.runs, rleRuns(rle));
    const written = (item.rle as Json | undefined)?.counts;
    if (typeof written === "string")
      check("text of runs", written, rleFromRuns(item.runs as number[], height, width).counts);
  }
  if (typeof item.numRuns === "number") check("number of runs", item.numRuns, rleRuns(rle).length);
  if (typeof item.area === "number") check("area", item.area, rleArea(rle));
  const box = item.bboxCanonical ?? item.bbox;
  if (Array.isArray(box)) check("box", box, rleBox(rle));
}

function checkPolygon(item: Json, check: Check): void {
  const [height, width] = item.size as [number, number];
  const polygons = item.polygons as number[][];
  checkRaster(item, rleFromPolygons(polygons, height, width), check);
  if (Array.isArray(item.parts)) {
    check(
      "parts",
      item.parts,
      polygons.map((polygon) => rleFromPolygons([polygon], height, width).counts),
    );
  }
}

function checkBox(item: Json, check: Check): void {
  const [height, width] = item.size as [number, number];
  checkRaster(item, rleFromBox(item.bbox as [number, number, number, number], height, width), check);
}

function checkRaster(item: Json, rle: Rle, check: Check): void {
  check("text", (item.rle as Json).counts, rle.counts);
  if (Array.isArray(item.rows)) check("pixels", item.rows, rowsOf(decodeRle(rle), rle.size[0], rle.size[1]));
  check("area", item.area, rleArea(rle));
  // In a list of boxes `bbox` is the input; only polygons state the box of the result.
  if (Array.isArray(item.polygons) && Array.isArray(item.bbox)) check("box", item.bbox, rleBox(rle));
}

function checkMerge(item: Json, masks: ReadonlyMap<string, Rle>, check: Check): void {
  const inputs = (item.names as unknown[]).map((name) => named(masks, name));
  for (const how of ["union", "intersection"] as const) {
    const got = mergeRles(inputs, how);
    const expected = parseRle(item[how]);
    // The reference can leave runs that no encoder writes; then pixels are compared, in canonical form.
    const canonical = rleFromRuns(canonicalRuns(rleRuns(expected)), expected.size[0], expected.size[1]);
    check(how, item[`${how}Canonical`] === false ? canonical.counts : expected.counts, got.counts);
    check(`${how} area`, item[`${how}Area`], rleArea(got));
  }
}

function checkPair(item: Json, masks: ReadonlyMap<string, Rle>, check: Check): void {
  const [dt, gt] = [named(masks, item.dt), named(masks, item.gt)];
  const got = maskIou(dt, gt);
  check("intersection", item.intersection, got.intersection);
  check("union", item.union, got.union);
  check("iou", item.iou, got.iou);
  check("iou of pixels", item.iou, maskIou(decodeRle(dt), decodeRle(gt)).iou);
  if (typeof item.iouCrowd === "number") check("iou with crowd", item.iouCrowd, maskIouCrowd(dt, gt));
}

/** One row from the comparisons of a case; a thrown error fails the case with its sentence. */
async function run(name: string, body: (check: Check) => void | Promise<void>): Promise<ParityRow> {
  const checked: string[] = [];
  const wrong: string[] = [];
  let [maxAbs, maxRel] = [0, 0];
  try {
    await body((what, expected, got) => {
      checked.push(what);
      if (JSON.stringify(expected) === JSON.stringify(got)) return;
      wrong.push(`${what}: expected ${clip(expected)}, got ${clip(got)}`);
      const difference = typeof expected === "number" && typeof got === "number" ? Math.abs(expected - got) : 1;
      maxAbs = Math.max(maxAbs, difference);
      maxRel = Math.max(
        maxRel,
        typeof expected === "number" && expected !== 0 ? difference / Math.abs(expected) : difference,
      );
    });
  } catch (thrown) {
    return failed(name, checked.join(", ") || "run", thrown instanceof Error ? thrown.message : String(thrown));
  }
  const what = checked.join(", ");
  // A case without any stored number would pass.
  if (checked.length === 0) return failed(name, "compare", "the case states nothing to compare");
  const row = { case: name, what, maxAbs, maxRel, tolerance: "exact", pass: wrong.length === 0 };
  return wrong.length === 0 ? row : { ...row, note: wrong.join("; ") };
}

function failed(name: string, what: string, note: string): ParityRow {
  return { case: name, what, maxAbs: Infinity, maxRel: Infinity, tolerance: "exact", pass: false, note };
}

async function jsonFiles(folder: ByteFolder): Promise<[string, Json][]> {
  const files: [string, Json][] = [];
  for (const path of folder.paths) {
    const source = path.endsWith(".json") ? folder.get(path) : undefined;
    if (source === undefined) continue;
    const json = await readJson(source);
    files.push([path, isRecord(json) ? json : {}]);
  }
  return files;
}

function items(json: Json, key: string): Json[] {
  const list = json[key];
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function looksLikeRle(json: Json): boolean {
  return (
    items(json, "cases").some(
      (item) => isRecord(item.rle) || ("counts" in item && "size" in item) || "polygons" in item,
    ) ||
    items(json, "polygons").some((item) => "size" in item) ||
    items(json, "boxes").some((item) => "size" in item) ||
    items(json, "merges").some((item) => "union" in item) ||
    items(json, "pairs").some((item) => "iou" in item && "dt" in item)
  );
}

function label(item: Json, index: number): string {
  const name = item.name ?? item.source;
  return typeof name === "string" ? name : `case ${index}`;
}

function named(masks: ReadonlyMap<string, Rle>, name: unknown): Rle {
  const rle = masks.get(String(name));
  if (rle === undefined) throw new Error(`no case named ${String(name)} in this folder`);
  return rle;
}

function rowsOf(pixels: Uint8Array, height: number, width: number): string[] {
  return Array.from({ length: height }, (_, y) => pixels.subarray(y * width, (y + 1) * width).join(""));
}

function clip(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}
