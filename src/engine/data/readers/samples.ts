/**
 * Samples in the style of WebDataset: files whose names agree up to the first dot are one sample, in a tar shard or
 * in any directory
 * (docs/spec/evaluation.md#7-readers-on-npm-versions-of-the-registry-today-sizes-by-esbuild-minified--gzip-unpacked).
 */

import { PLUGIN_RECORDS } from "../../../plugins/records.ts";
import { type ByteFolder, type ByteSource, refusePointer } from "../../bytes/source.ts";
import { storedText } from "../../bytes/text.ts";
import { badInput } from "../../errors.ts";
import { parsePython } from "../records/records.ts";
import { type Cell, type Column, type Table, valueMeter } from "../tables/table.ts";
import { examplesOf, remembered, type Sample, takeCost } from "./reader.ts";
import { columnsOf } from "./rows.ts";

const NAME = /^((?:.*\/|)[^./][^./]*)\.([^/]*)$/;
/** Fields that are pictures. */
export const PICTURE = /^(jpe?g|png|webp|bmp|gif|tiff?)$/;
/** Fields that hold records of the sample; describe-anything stores its regions as a pickle. */
const RECORD = /^(json|pickle|pkl)$/;
const TEXT = /^(txt|text|caption|captions)$/;
const MASK = /(^|\.)(mask|masks|seg|segmentation|label|labels)\.(png|tiff?)$/;
/** Fields of a video of describe-anything, whose masks are in annotations.json. */
const VIDEO = [/^\d+\.(jpe?g|png|webp)$/, /^(pickle|pkl)$/];
/** Maximum bytes of a sample's text or JSON. */
const MAX_TEXT = 2 ** 24;

/**
 * Groups paths into samples, in order. If a field occurs twice, its first file is used. Names may contain dots: a picture
 * and a text that agree up to a later dot are a separate sample.
 */
export function samplesOf(paths: readonly string[]): Sample[] {
  const samples = new Map<string, Map<string, string>>();
  for (const path of paths) {
    const match = NAME.exec(path);
    const [key, field] = [match?.[1], match?.[2]?.toLowerCase()];
    if (key === undefined || field === undefined || field === "") continue;
    const fields = samples.get(key) ?? new Map<string, string>();
    samples.set(key, fields);
    if (!fields.has(field)) fields.set(field, path);
  }
  return [...samples.values()].flatMap(byFullName);
}

/** `1.jpg`, `1.json` and `1.mask.png` of the key `a` are a sample named `a.1`; other fields stay with `a`. */
function byFullName(fields: ReadonlyMap<string, string>): Sample[] {
  if (![...fields.keys()].some((field) => field.includes("."))) return [{ fields }];
  const last = (field: string): readonly [stem: string, kind: string] => {
    const dot = field.lastIndexOf(".");
    return [field.slice(0, Math.max(0, dot)), field.slice(dot + 1)];
  };
  const ends = [...fields.keys()].map((field) => ({ field, stem: last(field)[0], kind: last(field)[1] }));
  const texts = new Set(ends.filter(({ kind }) => RECORD.test(kind) || TEXT.test(kind)).map(({ stem }) => stem));
  const pictures = ends.filter(({ field, kind }) => PICTURE.test(kind) && !MASK.test(field)).map(({ stem }) => stem);
  const names = new Set(pictures.filter((stem) => stem !== "" && texts.has(stem)));
  const samples = new Map<string, Map<string, string>>();
  for (const [field, path] of fields) {
    let [name] = last(field);
    while (name !== "" && !names.has(name)) [name] = last(name);
    const own = samples.get(name) ?? new Map<string, string>();
    samples.set(name, own.set(name === "" ? field : field.slice(name.length + 1), path));
  }
  return [...samples.values()].map((own) => ({ fields: own }));
}

/** The evidence that files are samples: a picture with a text or JSON of the same name, or frames; else undefined. */
export function recogniseSamples(samples: readonly Sample[]): string | undefined {
  for (const { fields } of samples) {
    const names = [...fields.keys()];
    const picture = names.find((name) => PICTURE.test(name));
    const text = names.find((name) => RECORD.test(name) || TEXT.test(name));
    if (picture !== undefined && text !== undefined) return `files of one name: ${names.join(", ")}`;
    const video = VIDEO.map((kind) => names.find((name) => kind.test(name)));
    if (!video.includes(undefined)) return `frames of one name: ${video.join(", ")}`;
  }
  return undefined;
}

/**
 * A table of the samples; files without others of their name are no sample unless they are pictures. Pictures are columns of bytes, `txt` is the text, the fields of a `json`
 * or `pickle` are separate columns; a second picture, or one called mask or seg, is the mask.
 */
export async function sampleTable(folder: ByteFolder, all: readonly Sample[]): Promise<Table> {
  const isSeen = ({ fields }: Sample): boolean =>
    [...fields.keys()].some((name) => PICTURE.test(name) || MASK.test(name));
  const samples = all.filter((sample) => sample.fields.size > 1 || isSeen(sample));
  if (!samples.some(isSeen)) throw badInput("its masks are in annotations.json, which is missing");
  const json = remembered(16, async (row) => readRecord(folder, samples[row]));
  const own = columnsOf(await examplesOf(samples.length, json));
  // Without a readable record, the error of the first one says more.
  const first = samples.findIndex(({ fields }) => [...fields.keys()].some((name) => RECORD.test(name)));
  if (own.length === 0 && first >= 0) await json(first);
  const files = fileColumns(samples);
  return {
    columns: [...files.map(({ column }) => column), ...own],
    rows: samples.length,
    batches: 1,
    problem: undefined,
    cell: async (at, row, pass) => {
      const sample = samples[row];
      const file = files[at];
      if (sample === undefined) throw badInput(`there is no sample ${row}, only ${samples.length}`);
      if (file !== undefined) return fileCell(folder, sample, file);
      const record = await json(row);
      const name = own[at - files.length]?.name ?? "";
      const value = record[name] ?? null;
      takeCost(value, valueMeter(pass));
      return value as Cell;
    },
  };
}

interface FileColumn {
  readonly column: Column;
  /** Candidate fields, of which a sample has one. */
  readonly fields: readonly string[];
  readonly kind: "binary" | "text";
}

function fileColumns(samples: readonly Sample[]): FileColumn[] {
  const names = new Set(samples.flatMap(({ fields }) => [...fields.keys()]));
  const texts = [...names].filter((name) => TEXT.test(name));
  const masks = [...names].filter((name) => MASK.test(name));
  const pictures = [...names].filter((name) => PICTURE.test(name));
  const photographs = pictures.filter((name) => /^jpe?g$/.test(name));
  // A PNG with the name of a JPEG is its mask.
  const pairs = samples.some(({ fields }) => photographs.some((name) => fields.has(name)) && fields.has("png"));
  if (pairs && masks.length === 0) masks.push("png");
  const column = (name: string, kind: "binary" | "text", fields: readonly string[]): FileColumn[] =>
    fields.length === 0 ? [] : [{ column: { name, type: { kind, layout: "small" }, nullable: true }, fields, kind }];
  return [
    ...column(
      "image",
      "binary",
      pictures.filter((name) => !masks.includes(name)),
    ),
    ...column("mask", "binary", masks),
    ...column("text", "text", texts),
  ];
}

async function fileCell(folder: ByteFolder, { fields }: Sample, { fields: names, kind }: FileColumn): Promise<Cell> {
  const path = names.map((name) => fields.get(name)).find((one) => one !== undefined);
  const source = path === undefined ? undefined : folder.get(path);
  if (source === undefined) return null;
  if (kind === "text") return (await textOf(source)).trim();
  return { length: source.size, read: (start = 0, end = source.size) => source.read(start, end) };
}

async function readRecord(folder: ByteFolder, sample: Sample | undefined): Promise<Record<string, unknown>> {
  const [field, path] = [...(sample?.fields ?? [])].find(([name]) => RECORD.test(name)) ?? [];
  const source = path === undefined ? undefined : folder.get(path);
  if (source === undefined) return {};
  const format = PLUGIN_RECORDS.find(({ path }) => path.test(`.${field}`));
  if (field !== "json" && format === undefined) throw badInput(`no plug-in reads ${source.name}`);
  const value: unknown =
    format?.read(await whole(source), source.name) ?? parsePython(storedText(await whole(source)), source.name);
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : { items: value };
}

/** A line of a label file of YOLO: a class and at least four coordinates. */
const YOLO = /^\d+(?:\s+[-\d.e]+){4,}$/;

/** @throws LabError("bad-input") for numbers in place of a text */
async function textOf(source: ByteSource): Promise<string> {
  const text = storedText(await whole(source));
  if (
    !text
      .trim()
      .split(/\s*\n\s*/)
      .every((line) => YOLO.test(line))
  )
    return text;
  throw badInput("the text has classes and coordinates (YOLO), which are no caption; write one caption per picture");
}

/**
 * All bytes of a sample's text.
 * @throws LabError("bad-input") when there are too many
 */
export async function whole(source: ByteSource): Promise<Uint8Array> {
  if (source.size > MAX_TEXT) {
    throw badInput(`${source.name} has ${source.size} bytes, too many for the text of one sample`);
  }
  await refusePointer(source);
  return source.read(0, source.size);
}
