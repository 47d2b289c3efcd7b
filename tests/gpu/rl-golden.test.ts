import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { nodeFolder } from "../../scripts/lib/node-files.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { grpoParity } from "../../tools/parity/grpo/grpo.ts";
import { optimParity } from "../../tools/parity/optim.ts";
import type { ParityRow } from "../../tools/parity/row.ts";
import { useGpu } from "../support/gpu.ts";

beforeAll(async () => {
  await useGpu();
});

test.each([
  ["grpo", grpoParity],
  ["trl", grpoParity],
  ["optim", optimParity],
] as const)("the golden numbers of %s hold on the device", async (name, parity) => {
  expect(tf.getBackend()).toBe("webgpu");
  const folder = await nodeFolder(fileURLToPath(new URL(`../golden/${name}/`, import.meta.url)));
  const before = tf.memory().numTensors;
  const rows: ParityRow[] = [];
  for await (const row of parity(folder)) rows.push(row);
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  expect(rows.length).toBeGreaterThan(500);
  expect(tf.memory().numTensors).toBe(before);
});
