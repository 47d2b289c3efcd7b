import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { datasetInfoJson, shardName, stateJson, writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { boxMask, png, row } from "./make.ts";

const masks = [boxMask(24, 32, 0, 0, 4, 4), boxMask(24, 32, 9, 9, 5, 5)];

test("the schema is the one of GAR shards, metadata and batches included", () => {
  const table = tableFromIPC(writeRegionShard([row(), row(), row()], { batchRows: 2 }));
  expect(table.schema.fields.map((field) => `${field.name}: ${field.type}`)).toEqual([
    "image: Struct<{bytes:Binary, path:Utf8}>",
    "mask_rle: Struct<{counts:Utf8, size:List<Int64>}>",
    "conversations: List<Struct<{from:Utf8, value:Utf8}>>",
    "catagory: List<Utf8>",
  ]);
  expect(table.batches.map((batch) => batch.numRows)).toEqual([2, 1]);
  const features = JSON.parse(table.schema.metadata.get("huggingface") ?? "").info.features;
  expect(features).toEqual(JSON.parse(datasetInfoJson()).features);
  expect(Object.keys(features)).toEqual(["image", "mask_rle", "conversations", "catagory"]);
  const relation = tableFromIPC(writeRegionShard([row({ mask: masks })], { layout: "relation" }));
  expect(String(relation.schema.fields[1]?.type)).toBe("List<Struct<{counts:Utf8, size:List<Int64>}>>");
  expect(JSON.parse(stateJson(["a.arrow"], "00ff"))._data_files).toEqual([{ filename: "a.arrow" }]);
  expect(shardName(0, 3)).toBe("data-00000-of-00003.arrow");
  expect(tableFromIPC(writeRegionShard([])).numRows).toBe(0);
});

const PYTHON = process.env.PYTHON || "python3";
const hasPyarrow = spawnSync(PYTHON, ["-c", "import pyarrow"], { stdio: "ignore" }).status === 0;
if (!hasPyarrow) console.warn(`Skipped: ${PYTHON} cannot import pyarrow`);

test.skipIf(!hasPyarrow)("pyarrow reads a written shard with its values", async () => {
  const directory = await mkdtemp(join(tmpdir(), "shard-"));
  try {
    const path = join(directory, "data.arrow");
    await writeFile(
      path,
      writeRegionShard([row(), row({ image: null, mask: null, category: null })], { batchRows: 1 }),
    );
    const script = [
      "import json, sys, pyarrow as pa",
      "t = pa.ipc.open_stream(sys.argv[1]).read_all()",
      "r = t.to_pylist()",
      "r[0]['image']['bytes'] = len(r[0]['image']['bytes'])",
      "print(json.dumps({'rows': r, 'meta': list(t.schema.metadata)[0].decode()}))",
    ].join("\n");
    const run = spawnSync(PYTHON, ["-c", script, path], { encoding: "utf8" });
    expect(run.stderr).toBe("");
    const { mask, conversations } = row();
    expect(JSON.parse(run.stdout)).toEqual({
      meta: "huggingface",
      rows: [
        { image: { bytes: png(32, 24).length, path: "a.jpg" }, mask_rle: mask, conversations, catagory: ["box"] },
        { image: null, mask_rle: null, conversations, catagory: null },
      ],
    });
  } finally {
    await rm(directory, { recursive: true });
  }
});
