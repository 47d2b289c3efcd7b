/** Arrow shards: a damaged file beside a good one, indexed and read to the last cell. */
import { CompressionType, compressionRegistry, RecordBatchStreamWriter, tableFromIPC } from "apache-arrow";
import fc from "fast-check";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { memoryFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { openTable } from "../../../src/engine/data/tables/open-table.ts";
import { isBinaryCell } from "../../../src/engine/data/tables/table.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { boxMask, jpg, png, row } from "../../unit/data/make.ts";
import { ARROW_DAMAGE } from "../arrow-stream.ts";
import { BYTE_DAMAGE } from "../bytes.ts";
import { casesOf } from "../cases.ts";
import { packed } from "../codecs.ts";
import { checkRegions } from "../regions.ts";
import { check, checkSentence, type Files, type Target } from "../target.ts";
import { stored } from "../valid.ts";

const GOOD = "good.arrow";
const BAD = "bad.arrow";
const DATA = "tests/fixtures/data";

const good = stored(`${DATA}/save-to-disk/data-00001-of-00002.arrow`);
const goodRows = (await openRegionSet(memoryFolder({ [GOOD]: good }))).summaries.length;

const rows = [
  row(),
  row({ image: { bytes: jpg(24, 32, 6), path: null }, category: null }, "The left one [SEG]."),
  row({ image: { bytes: png(5, 7, 3), path: "b.png" }, mask: boxMask(7, 5, 1, 1, 3, 4) }),
];

/** A shard as compressing writers produce it; random damage rarely makes a frame claim more than it holds. */
function compressed(codec: "lz4" | "zstd"): Uint8Array<ArrayBuffer> {
  const type = codec === "lz4" ? CompressionType.LZ4_FRAME : CompressionType.ZSTD;
  compressionRegistry.set(type, { encode: (bytes) => packed(codec, bytes), decode: (bytes) => bytes });
  const writer = new RecordBatchStreamWriter({ compressionType: type });
  for (const batch of tableFromIPC(writeRegionShard(rows)).batches) writer.write(batch);
  writer.finish();
  return new Uint8Array(writer.toUint8Array(true));
}

const inputs: Record<string, Files> = {
  shard: { [BAD]: writeRegionShard(rows, { batchRows: 2 }) },
  relation: {
    [BAD]: writeRegionShard(
      [row({ mask: [boxMask(24, 32, 4, 3, 10, 8), boxMask(24, 32, 0, 0, 5, 5)] }, "<Prompt0> is left of <Prompt1>.")],
      { layout: "relation" },
    ),
  },
  lz4: { [BAD]: compressed("lz4") },
  zstd: { [BAD]: compressed("zstd") },
};
for (const name of ["save-to-disk/data-00000-of-00002", "pyarrow/file-None", "pyarrow/file-zstd", "pyarrow/file-lz4"]) {
  inputs[name] = { [BAD]: stored(`${DATA}/${name}.arrow`) };
}
for (const name of ["stream-lz4", "stream-zstd", "delta", "replace", "legacy", "sliced"]) {
  inputs[name] = { [BAD]: stored(`${DATA}/pyarrow/${name}.arrow`) };
}

for (const name of ["array2d-uint8", "columns-odd", "columns-views", "image-uint8", "objects-list", "png-P"]) {
  inputs[name] = { [BAD]: stored(`${DATA}/layouts/${name}/data-00000-of-00001.arrow`) };
}

export const arrow: Target = { ...casesOf(inputs, () => fc.oneof(ARROW_DAMAGE)), read: readShards };

/** Parquet files of the same kind. */
export const parquet: Target = {
  ...casesOf(
    Object.fromEntries(
      ["regions", "snappy", "pages-v2"].map((name) => [name, { [BAD]: stored(`${DATA}/parquet/${name}.parquet`) }]),
    ),
    () => BYTE_DAMAGE,
  ),
  read: readShards,
};

/** Indexes and reads a file beside a good one, to the last cell. @throws Nonsense for an invalid value */
async function readShards(files: Files): Promise<void> {
  const bytes = files[BAD] ?? new Uint8Array();
  const set = await openRegionSet(memoryFolder({ [BAD]: bytes, [GOOD]: good }));
  check(set.summaries.filter(({ file }) => file === GOOD).length === goodRows, "rows of the good file were lost");
  await checkRegions(set);
  const table = await openTable(memorySource(BAD, bytes));
  for (let column = 0; column < table.columns.length; column++) {
    for (let at = 0; at < Math.min(table.rows, 20); at++) {
      try {
        const cell = await table.cell(column, at);
        if (isBinaryCell(cell)) check((await cell.read()).length === cell.length, "a cell has another length");
      } catch (thrown) {
        if (!(thrown instanceof LabError) || thrown.code === "internal") throw thrown;
        checkSentence(thrown.message);
      }
    }
  }
}
