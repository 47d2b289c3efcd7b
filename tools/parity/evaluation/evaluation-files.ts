/**
 * Files of the evaluation golden set: pickles, refs as rows, tar shards, and the features that distinguish data sets.
 */
import { sha256Hex } from "../../../src/engine/bytes/hash.ts";
import { isRecord } from "../../../src/engine/bytes/json.ts";
import { type ByteFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { readMask } from "../../../src/engine/data/mask/mask-read.ts";
import { parseRle, rleArea } from "../../../src/engine/data/mask/rle.ts";
import { recogniseRecords } from "../../../src/engine/data/readers/all.ts";
import { maskOf, openCoco } from "../../../src/engine/data/readers/coco.ts";
import { signOf } from "../../../src/engine/data/readers/reader.ts";
import { openRecords } from "../../../src/engine/data/records/records.ts";
import { layoutOf } from "../../../src/engine/data/tables/identify.ts";
import { tarEntries } from "../../../src/plugins/archives/tar.ts";
import { readReasonRow } from "../../../src/plugins/data-sets/reason-seg.ts";
import { paintedRle } from "../../../src/plugins/data-sets/shapes.ts";
import { readPickle } from "../../../src/plugins/pickle/pickle.ts";
import { overlapOf } from "../../../src/plugins/suites/masks.ts";
import { CaseCheck } from "../case-check.ts";
import type { ParityRow } from "../row.ts";
import { parseColumns } from "./column-text.ts";
import { goldenFile, goldenJson, type Json, object, objects, text } from "./golden.ts";

const TOLERANCE = 1e-9;

/** Reads the existing files; one row per file, sentence or case. */
export async function* evaluationFilesParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  yield* pickleRows(folder);
  yield* refRows(folder);
  yield* reasonRows(folder);
  yield* tarRows(folder);
  yield* detectRows(folder);
}

async function* pickleRows(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const json = await goldenJson(folder, "refer/pickles.json");
  for (const [name, value] of Object.entries(object(json?.files))) {
    const wanted = object(value);
    const bytes = await bytesOf(folder, `refer/${name}`);
    const check = new CaseCheck(`refer/${name}`, TOLERANCE);
    if (bytes === undefined) yield check.failed("the file is not there");
    else if (wanted.result === "refuse") {
      yield check.run(() => {
        let refused = false;
        try {
          readPickle(bytes, name);
        } catch {
          refused = true;
        }
        check.equal("refused", true, refused);
      });
    } else {
      const expected = wanted.value === "refs" ? json?.refs : wanted.value;
      yield check.run(() => check.equal("value", plain(expected), plain(readPickle(bytes, name))));
    }
  }
}

/** A value with sorted keys, big integers and tuples in the notation of the file. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return { $bigint: String(value) };
  if (Array.isArray(value)) return value.map(plain);
  if (!isRecord(value)) return value;
  if (Array.isArray(value.$tuple)) return value.$tuple.map(plain);
  const entries = Object.entries(value).map(([key, inner]) => [key, plain(inner)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function* refRows(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const [rows, source] = [await goldenJson(folder, "refer/rows.json"), goldenFile(folder, "refer/instances.json")];
  const records = source === undefined ? undefined : await openRecords(source);
  if (rows === undefined || records === undefined) return;
  const coco = await openCoco(records);
  for (const [split, images] of Object.entries(object(rows.splits))) {
    for (const image of objects(images)) {
      const { height, width } = coco.images.get(String(image.imageId)) ?? { height: 0, width: 0 };
      const size = { height, width, find: () => undefined };
      for (const item of objects(image.items)) {
        const place = coco.byId.get(String(item.annId)) ?? -1;
        const { segmentation } = await coco.annotation(place);
        const check = new CaseCheck(`refer/rows.json ${split} ${JSON.stringify(item.sent)}`, TOLERANCE);
        // The lab skips a row without polygons, which has no pixels in the original.
        const mask = await readMask(maskOf(segmentation, size), size).catch(() => undefined);
        yield check.run(() => {
          check.equal("area", item.unionArea, mask === undefined ? 0 : rleArea(mask));
          if (mask !== undefined) check.equal("mask", plain(item.union), plain(mask));
        });
      }
    }
  }
}

async function* reasonRows(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const json = await goldenJson(folder, "reasonseg/expected.json");
  for (const wanted of objects(json?.files)) {
    const path = `reasonseg/${text(wanted.file)}`;
    const check = new CaseCheck(path, TOLERANCE);
    const source = goldenFile(folder, path);
    const row = source === undefined ? undefined : await readReasonRow(source);
    const [height, width] = wanted.size as [number, number];
    yield row === undefined
      ? check.failed("the file is not there or of another kind")
      : check.run(() => {
          check.equal("text", [wanted.text, wanted.isSentence], [row.texts, row.isSentence]);
          for (const part of ["target", "ignore"] as const) {
            check.equal(part, plain(parseRle(wanted[part])), plain(paintedRle(row.shapes, part, { height, width })));
          }
        });
  }
  if (!isRecord(json?.counting)) return;
  const { target, ignore, prediction, i, u } = json.counting;
  const check = new CaseCheck("reasonseg/expected.json counting", TOLERANCE);
  yield check.run(() => {
    const mask = parseRle(target);
    const item = { id: "", imageId: "", size: mask.size, text: "", masks: [mask], ignore: parseRle(ignore) };
    const found = overlapOf({ item, answer: { masks: [parseRle(prediction)] } });
    check.equal("pixels", [i, u], [found.intersection, found.union]);
  });
}

async function* tarRows(folder: ByteFolder): AsyncGenerator<ParityRow> {
  if (goldenFile(folder, "tar/dam-00000000.tar") === undefined) return;
  for (const [name, value] of Object.entries((await goldenJson(folder, "tar/expected.json")) ?? {})) {
    const wanted = object(value);
    const bytes = await bytesOf(folder, `tar/${name}`);
    const check = new CaseCheck(`tar/${name}`, TOLERANCE);
    if (bytes === undefined) {
      yield check.failed("the file is not there");
      continue;
    }
    const found: object[] = [];
    let refused = false;
    try {
      for (const entry of await tarEntries(memorySource(name, bytes))) {
        const { offset, size, type } = entry;
        const sha256 = type === "file" ? await sha256Hex(bytes.slice(offset, offset + size)) : null;
        found.push({ ...entry, sha256 });
      }
    } catch {
      refused = true;
    }
    yield check.run(() => {
      check.equal("refused", wanted.error !== null, refused);
      if (!refused) check.equal("members", plain(wanted.members), plain(found));
    });
  }
}

async function* detectRows(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const json =
    goldenFile(folder, "detect/cases.json") === undefined ? {} : await goldenJson(folder, "detect/cases.json");
  for (const item of objects(json?.cases)) {
    if (item.columns === undefined && item.json === undefined) continue;
    const check = new CaseCheck(`detect/cases.json ${text(item.name)}`, TOLERANCE);
    const label = isRecord(item.columns) ? layoutOf(parseColumns(item.columns)).label : await labelOf(item);
    yield check.run(() =>
      check.equal("label", SAME[String(item.expected)] ?? item.expected, label === "" ? null : label),
    );
  }
}

/** Two labels of the set that one reader of the lab covers. */
const SAME: Readonly<Record<string, string>> = { "osprey-conversation": "osprey", "osprey-description": "osprey" };

async function labelOf(item: Json): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(item.json));
  const records = await openRecords(memorySource("case.json", bytes));
  if (records === undefined) return "";
  return recogniseRecords(await signOf(records))?.reader.label ?? "";
}

async function bytesOf(folder: ByteFolder, path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const source = goldenFile(folder, path);
  return source === undefined ? undefined : source.read(0, source.size);
}
