/** Tables, annotated rows, groups by length and intervals over seeds of the evaluation golden set. */
import { toHex } from "../../../src/engine/bytes/hash.ts";
import { isRecord } from "../../../src/engine/bytes/json.ts";
import { type ByteFolder, memoryFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { readMask } from "../../../src/engine/data/mask/mask-read.ts";
import { rleArea } from "../../../src/engine/data/mask/rle.ts";
import { recogniseRecords } from "../../../src/engine/data/readers/all.ts";
import { type Region, signOf } from "../../../src/engine/data/readers/reader.ts";
import { openRecords } from "../../../src/engine/data/records/records.ts";
import { openTable } from "../../../src/engine/data/tables/open-table.ts";
import { type Cell, isBinaryCell } from "../../../src/engine/data/tables/table.ts";
import { LabError, toLabError } from "../../../src/engine/errors.ts";
import { lengthGrouped } from "../../../src/engine/rl/step/data-order.ts";
import { crossedBootstrap } from "../../../src/plugins/sweep/results.ts";
import { runInterval } from "../../../src/plugins/sweep/run-interval.ts";
import { CaseCheck } from "../case-check.ts";
import { leftOut, type ParityRow } from "../row.ts";
import { goldenFile, goldenJson, type Json, number, object, objects, text } from "./golden.ts";
import { checkBounds, everyDraw } from "./resamples.ts";

const TOLERANCE = 1e-9;
/** Student's quantiles are tabled to four decimals. */
const TABLED = 1e-4;

/** Reads the existing parts; one row per table, annotated item or case. */
export async function* evaluationRowsParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  yield* parquetRows(folder);
  yield* annotatedRows(folder, "osprey/records.json");
  yield* annotatedRows(folder, "gcg/train.json");
  yield* lengthRows(folder);
  yield* seedRows(folder);
}

async function* parquetRows(folder: ByteFolder): AsyncGenerator<ParityRow> {
  for (const path of folder.paths.filter((name) => name.endsWith(".parquet"))) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const wanted = await goldenJson(folder, `parquet/${name}.expected.json`);
    // "as <file>": the values of another file.
    const other = typeof wanted?.values === "string" ? wanted.values.replace(/^as /, "") : undefined;
    const values = other === undefined ? wanted : await goldenJson(folder, `parquet/${other}`);
    const check = new CaseCheck(`parquet/${name}`, TOLERANCE);
    const source = folder.get(path);
    if (wanted === undefined || source === undefined) {
      yield check.failed("its expected values are not there");
      continue;
    }
    const table = await openTable(source);
    const rows: object[] = [];
    for (let row = 0; row < table.rows; row++) {
      const cells = table.columns.map(async (column, at) => [column.name, await plain(await table.cell(at, row))]);
      rows.push(Object.fromEntries(await Promise.all(cells)) as object);
    }
    yield check.run(() => {
      check.equal("rows", wanted.rows, table.rows);
      check.equal(
        "columns",
        objects(wanted.fields).map((field) => field.name),
        table.columns.map((column) => column.name),
      );
      for (const [row, expected] of objects(values?.values).entries()) {
        check.equal("values", stored(expected), rows[row], `row ${row}`);
      }
    });
  }
}

/** A cell in the notation of the set: binary as hexadecimal digits, whole numbers beyond 2⁵³ as text. */
async function plain(cell: Cell): Promise<unknown> {
  if (typeof cell === "bigint") return whole(cell);
  if (isBinaryCell(cell)) return { $hex: toHex(await cell.read()) };
  if (Array.isArray(cell)) return Promise.all(cell.map((item: Cell) => plain(item)));
  if (typeof cell !== "object" || cell === null) return cell;
  const entries = Object.entries(cell as Record<string, Cell>);
  return Object.fromEntries(await Promise.all(entries.map(async ([key, value]) => [key, await plain(value)] as const)));
}

function stored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stored);
  if (!isRecord(value)) return value;
  if (typeof value.$bigint === "string") return whole(BigInt(value.$bigint));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, stored(inner)]));
}

function whole(value: bigint): number | string {
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}

/** Size at which polygons of items without a size are drawn. */
const SIDE = 512;

async function* annotatedRows(folder: ByteFolder, path: string): AsyncGenerator<ParityRow> {
  const json = goldenFile(folder, path) === undefined ? undefined : await goldenJson(folder, path);
  for (const [at, item] of objects(json?.cases).entries()) {
    const check = new CaseCheck(`${path} ${at} (${text(item.type)})`, TOLERANCE);
    const input = object(item.input);
    // The original reader drops phrases without a place in the caption; the engine gives each its reason.
    const regions = (await regionsOf(input)).filter(({ mask }) => !(mask instanceof LabError));
    const [height = SIDE, width = SIDE] = [input.height, input.width].map((side) =>
      typeof side === "number" ? side : undefined,
    );
    const size = { height, width, find: () => undefined };
    const areas = await Promise.all(
      regions.map(({ mask }) => readMask(mask, size).then(rleArea, (thrown: unknown) => toLabError(thrown).message)),
    );
    yield check.run(() => {
      check.equal("areas", item.maskAreas, areas);
      check.equal(
        "phrases",
        item.phrases,
        regions.map(({ caption }) => caption),
      );
      // The program leaves out items without a phrase; here they give no region to train on.
      check.equal("skipped", item.skipped, regions.length === 0);
    });
    if (typeof item.answer === "string" && item.answer !== "") {
      yield leftOut(`${path} ${at}`, "answer", "the lab trains on each phrase alone and writes no tagged caption");
    }
  }
}

/** The regions of one item, from the reader that recognises it. */
async function regionsOf(input: Json): Promise<readonly Region[]> {
  const records = await openRecords(
    memorySource("item.json", new TextEncoder().encode(JSON.stringify("images" in input ? input : [input]))),
  );
  const sign = records === undefined ? undefined : await signOf(records);
  const reader = sign === undefined ? undefined : recogniseRecords(sign)?.reader;
  if (records === undefined || sign === undefined || typeof reader?.open !== "function") return [];
  const { table } = await reader.open({ records, sign, path: "item.json", folder: memoryFolder({}) });
  return (await table.cell(1, 0)) as unknown as readonly Region[];
}

async function* lengthRows(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const path = "sampler/length_grouped.json";
  const json = goldenFile(folder, path) === undefined ? undefined : await goldenJson(folder, path);
  for (const [at, item] of objects(json?.cases).entries()) {
    const lengths = item.lengths as number[];
    // Negative lengths are items without a picture, which no loop uses.
    if (lengths.some((length) => length < 0)) {
      yield leftOut(`${path} ${at}`, "order", "it has items without a picture");
      continue;
    }
    const check = new CaseCheck(`${path} ${at}`, TOLERANCE);
    yield check.run(() => {
      const [order] = item.permutations as number[][];
      check.equal("order", item.indices, lengthGrouped(order as number[], lengths, number(item.groupBatchSize)));
    });
  }
}

async function* seedRows(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const path = "stats/hierarchical.json";
  const json = goldenFile(folder, path) === undefined ? undefined : await goldenJson(folder, path);
  for (const [at, item] of objects(json?.cases).entries()) {
    const differences = item.difference as number[][];
    const expected = object(item.expected);
    const crossed = new CaseCheck(`${path} ${at} crossed`, TOLERANCE);
    yield crossed.run(() => {
      const images = (differences[0] as number[]).map((_, image) => String(image));
      const interval = crossedBootstrap(differences, images, 1);
      crossed.close("mean", expected.mean, interval.mean);
      checkBounds(crossed, everyResample(differences), interval);
    });
    const tabled = new CaseCheck(`${path} ${at} over seeds`, TABLED);
    yield tabled.run(() => {
      const { low, high } = runInterval(differences.map((row) => row.reduce((sum, one) => sum + one, 0) / row.length));
      const [from, to] = expected.seedTInterval as number[];
      tabled.close("t interval", from, low);
      tabled.close("t interval", to, high);
    });
  }
}

/** Means of all resamples of seeds and of images. */
function everyResample(differences: readonly (readonly number[])[]): number[] {
  const seeds = everyDraw(differences.length);
  return everyDraw((differences[0] as readonly number[]).length).flatMap((images) => {
    const means = differences.map((row) => images.reduce((sum, at) => sum + (row[at] as number), 0) / images.length);
    return seeds.map((drawn) => drawn.reduce((sum, at) => sum + (means[at] as number), 0) / drawn.length);
  });
}
