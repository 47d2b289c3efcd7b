import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { optimParity } from "../../tools/parity/optim.ts";
import type { ParityRow } from "../../tools/parity/row.ts";

const FOLDER = fileURLToPath(new URL("./optim/", import.meta.url));

beforeAll(async () => {
  await tf.setBackend("cpu");
});

test("AdamW, schedules, clipping, moving average and a resumed run equal the reference", async () => {
  const folder = await nodeFolder(FOLDER);
  const before = tf.memory().numTensors;
  const rows: ParityRow[] = [];
  for await (const row of optimParity(folder)) rows.push(row);
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  expect(rows.length).toBeGreaterThan(500);
  expect(rows.some((row) => row.what === "resumed params")).toBe(true);
  expect(tf.memory().numTensors).toBe(before);
});
