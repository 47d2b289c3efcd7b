import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { openNodeRows, POCKET_SHARDS } from "../../../scripts/lib/node-rows.ts";
import { memoryFolder, memorySource } from "../../../src/engine/bytes/memory.ts";
import { rowsHash } from "../../../src/engine/data/open-rows.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { collectFiles } from "../../../src/engine/export/export-file.ts";
import { contract, scaleOutFiles } from "../../../src/engine/export/scale-out.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { python } from "../../support/tools.ts";
import { manifest } from "../runs/sample-run.ts";

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

async function exportable() {
  const { set, list } = await openNodeRows([POCKET_SHARDS]);
  const data = { ...manifest().data, name: list.dataSet, rows: list.rows.length, hash: await rowsHash(list.rows) };
  const store = memoryStore();
  const run = await createRun(store, manifest("brave-otter", { data }));
  const wordnet = memorySource("wordnet30.txt", new TextEncoder().encode("table"));
  return { store, run, list, scale: { set, dataSet: list.dataSet, wordnet, step: null, fresh: true } };
}

test("a run leaves with its rows, the words it uses and the commands that start it", async () => {
  const { store, run, list, scale } = await exportable();
  await run.appendStep(1, { loss: 1 });
  await store.write("brave-otter/checkpoints/step-000001/complete.json", "{}");
  await store.write("brave-otter/checkpoints/step-000002/complete.json", "{}");
  const files = await collectFiles(scaleOutFiles(run, { ...scale, step: 1 }));
  expect(text(files["brave-otter/metrics.jsonl"])).toBe('{"step":1,"loss":1}\n');
  expect(Object.keys(files)).toContain("brave-otter/checkpoints/step-000001/complete.json");
  expect(Object.keys(files)).not.toContain("brave-otter/checkpoints/step-000002/complete.json");
  const rows = text(files["brave-otter/scale/rows.jsonl"]).trim().split("\n");
  const own = rows.map((line) => JSON.parse(line) as { id: string; imageId: string; column: string });
  expect(own.map(({ id, imageId }) => [id, imageId])).toEqual(list.rows);
  expect(own[0]?.column).toBe("image");
  const data = JSON.parse(text(files["brave-otter/scale/data.json"])) as Record<string, readonly unknown[]>;
  expect([...(data.train ?? []), ...(data.selection ?? []), ...(data.report ?? [])].length).toBe(list.rows.length);
  expect(data.shards).toHaveLength(2);
  expect(text(files["brave-otter/scale/launch/8gpu.sh"])).toContain("torchrun --standalone --nproc_per_node 8");
  expect(text(files["brave-otter/scale/README.md"])).toContain("not measured");
  expect(contract()).toMatchObject({ templates: { phi3_chat: { before: "<|user|>\n" } }, streams: { token: 0 } });
});

test("what cannot be taken on is refused", async () => {
  const { run, scale } = await exportable();
  const made = (change: object): Promise<unknown> => collectFiles(scaleOutFiles(run, { ...scale, ...change }));
  await expect(made({ fresh: false })).rejects.toThrow(/has no checkpoint; add --fresh/);
  await expect(made({ step: 4 })).rejects.toThrow(/no checkpoint of step 4/);
  const other = await openRegionSet(memoryFolder({}));
  await expect(made({ set: other })).rejects.toThrow(/has other rows/);
});

const needed = await python("-c", "import pytest, torch, pyarrow, nltk");
if (needed.code !== 0) console.warn("Skipped: no Python with pytest, torch, pyarrow and nltk; set PYTHON to one");
test.skipIf(needed.code !== 0)("the package's own tests pass", async () => {
  const folder = join(root, "python");
  process.env.PYTHONPATH = [folder, process.env.PYTHONPATH ?? ""].filter((part) => part !== "").join(":");
  const done = await python("-m", "pytest", "-q", "--rootdir", folder, join(folder, "tests"));
  expect(done.code, done.out).toBe(0);
});
