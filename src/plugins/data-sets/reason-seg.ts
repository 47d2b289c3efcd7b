/**
 * ReasonSeg: a picture and a JSON file of the same name with shapes and texts, all of which mean the same pixels
 * (docs/spec/evaluation.md#17-reasonseg-lisa-reasonseg).
 */
import { isRecord, parseJson } from "../../engine/bytes/json.ts";
import type { ByteFolder, ByteSource } from "../../engine/bytes/source.ts";
import { storedText } from "../../engine/bytes/text.ts";
import { examplesOf, POLYGONS, pictureTable, type Sample } from "../../engine/data/readers/reader.ts";
import { PICTURE, whole } from "../../engine/data/readers/samples.ts";
import type { Table } from "../../engine/data/tables/table.ts";
import { badInput } from "../../engine/errors.ts";
import { shapesMask } from "./shapes.ts";

/** A row: its picture and JSON as files. */
interface ReasonSample {
  readonly picture: string;
  readonly json: ByteSource;
}

export interface ReasonRow {
  /** Sentences or names of one object; evaluations use the first. */
  readonly texts: readonly string[];
  readonly isSentence: boolean;
  /** For `shapesMask`. */
  readonly shapes: unknown;
}

/** Pictures with a JSON file of the same name; the first picture of a name. */
export function reasonSamples(folder: ByteFolder, samples: readonly Sample[]): ReasonSample[] {
  return samples.flatMap(({ fields }) => {
    const [, picture] = [...fields].find(([field]) => PICTURE.test(field)) ?? [];
    const json = folder.get(fields.get("json") ?? "");
    return picture === undefined || json === undefined ? [] : [{ picture, json }];
  });
}

/**
 * A JSON file of ReasonSeg; the published files are in UTF-8 or Windows-1252. Undefined for another kind.
 * @throws LabError("bad-input") when it is not JSON
 */
export async function readReasonRow(source: ByteSource): Promise<ReasonRow | undefined> {
  const value = parseJson(storedText(await whole(source)), source.name);
  if (!isRecord(value) || !("shapes" in value && "is_sentence" in value)) return undefined;
  const texts = Array.isArray(value.text) ? (value.text as unknown[]).filter((text) => typeof text === "string") : [];
  return { texts, isSentence: value.is_sentence === true, shapes: value.shapes };
}

/** The samples as a table in which every text is a region; undefined if the first samples are of another kind. */
export async function reasonSegTable(folder: ByteFolder, samples: readonly Sample[]): Promise<Table | undefined> {
  const all = reasonSamples(folder, samples);
  const examples = await examplesOf(all.length, (row) => readReasonRow((all[row] as ReasonSample).json));
  if (examples.length === 0) return undefined;
  return pictureTable(all.length, POLYGONS, undefined, async (index) => {
    const sample = all[index] as ReasonSample;
    const row = await readReasonRow(sample.json);
    if (row === undefined) throw badInput(`${sample.json.name} has no shapes and is_sentence`);
    const { texts, shapes } = row;
    const mask = shapesMask(shapes, "target");
    return { image: sample.picture, regions: texts.map((caption) => ({ mask, caption, category: [] })) };
  });
}
