import { unzipSync } from "fflate";
import { expect, test } from "vitest";
import { memorySource } from "../../../src/engine/bytes/source.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { adapterFiles } from "../../../src/engine/export/adapter.ts";
import { RUN_EXPORTS, type RunExport } from "../../../src/engine/export/export-names.ts";
import { EXPORT_FORMATS, exportFiles } from "../../../src/engine/export/formats.ts";
import { openSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { zipFiles } from "../../../src/engine/runs/zip.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { collectFiles } from "../../support/collected-files.ts";
import { inMemory } from "../runs/sample-checkpoint.ts";
import { group, manifest } from "../runs/sample-run.ts";

const NAME = "language_model.model.layers.0.mlp.up_proj.lora_A.weight";

test("every export of the menu makes files, and their zip holds them", async () => {
  const store = memoryStore();
  const { model } = manifest();
  const run = await createRun(store, manifest("brave-otter", { model: { ...model, template: "qwen_chat" } }));
  await run.appendStep(2, { loss: 1, step_time: 2 });
  await run.appendGroups(2, [group(2, 1, 0)]);
  await expect(exportFiles(run, "peft")).rejects.toThrow(/has no checkpoint; it has none/);
  const params = inMemory(new Map([[NAME, { shape: [1, 2], data: Float32Array.of(1, 2) }]]));
  const state = {
    step: 2,
    params,
    moments: { m: params, v: params },
    optimiserStep: 2,
    lora: { r: 1, alpha: 2, targets: ["up_proj"] },
    config: defaultConfig(),
    trainer: null,
  };
  await writeCheckpoint(store, run.id, { ...state, ema: null });
  await expect(exportFiles(run, "peft-ema")).rejects.toThrow(/holds no moving average/);
  await writeCheckpoint(store, run.id, { ...state, ema: params });
  for (const format of Object.keys(RUN_EXPORTS) as RunExport[]) {
    // Formats that need rows have tests of their own.
    if (EXPORT_FORMATS[format].uses.some((source) => source === "rows" || source === "dataSet")) continue;
    const files = await collectFiles(await exportFiles(run, format));
    expect(Object.keys(files).length, format).toBeGreaterThan(0);
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    const zip = zipFiles(await exportFiles(run, format), "out", new Date(manifest().created));
    for await (const piece of zip) pieces.push(piece);
    const unzipped = unzipSync(new Uint8Array(await new Blob(pieces).arrayBuffer()));
    expect(Object.keys(unzipped).sort()).toEqual(
      Object.keys(files)
        .map((path) => `out/${path}`)
        .sort(),
    );
    for (const [path, bytes] of Object.entries(files)) expect(Buffer.compare(unzipped[`out/${path}`]!, bytes)).toBe(0);
  }
});

test("an adapter larger than a piece is written in pieces", async () => {
  const { model } = manifest();
  const own = manifest("brave-otter", { model: { ...model, template: "qwen_chat" } });
  const data = Float32Array.from({ length: 5 * 2 ** 20 }, (_, at) => at);
  const trained = {
    step: 1,
    side: "policy",
    lora: { r: 1, alpha: 2, targets: ["up_proj"] },
    tensors: inMemory(new Map([[NAME, { shape: [1, data.length], data }]])),
  } as const;
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const file of adapterFiles(own, trained)) {
    if (file.path !== "adapter_model.safetensors") continue;
    for await (const piece of file.pieces()) pieces.push(piece);
  }
  expect(pieces.map(({ length }) => length > 16 * 2 ** 20)).toEqual([false, false]);
  const stored = await openSafetensors(memorySource("adapter", new Uint8Array(await new Blob(pieces).arrayBuffer())));
  expect((await stored.read(stored.names[0] as string)).at(-1)).toBe(data.length - 1);
});
