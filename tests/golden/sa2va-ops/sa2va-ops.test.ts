import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { isSa2vaOpsGolden, sa2vaOpsParity } from "../../../tools/parity/sa2va/sa2va-ops.ts";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

beforeAll(async () => {
  await tf.setBackend("cpu");
});

test("every operator, resized picture, region grid and tile grid equals the reference", async () => {
  const folder = await nodeFolder(FOLDER);
  expect(isSa2vaOpsGolden(folder)).toBe(true);
  const before = tf.memory().numTensors;
  const rows = [];
  for await (const row of sa2vaOpsParity(folder)) rows.push(row);
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  // 1 table of tile grids, 9 pictures, 6 regions, 22 arrays.
  expect(rows.length).toBe(38);
  expect(tf.memory().numTensors).toBe(before);
});

test("a wrong tile grid is a miss", async () => {
  const table = { tile_size: 448, rows: [[640, 480, 1, 12, 3, 4, 13]] };
  const rows = [];
  for await (const row of sa2vaOpsParity(memoryFolder({ "tiling.json": JSON.stringify(table) }))) rows.push(row);
  expect(rows.map((row) => [row.pass, row.maxAbs])).toEqual([[false, 1]]);
});
