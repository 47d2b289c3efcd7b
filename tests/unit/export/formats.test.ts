import { unzipSync } from "fflate";
import { expect, test } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { storeEvaluation } from "../../../src/engine/eval/report.ts";
import { RUN_EXPORTS, type RunExport } from "../../../src/engine/export/export-names.ts";
import { exportFiles } from "../../../src/engine/export/formats.ts";
import { lineChart } from "../../../src/engine/export/report/line-chart.ts";
import { runReport } from "../../../src/engine/export/report/run-report.ts";
import { writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { zipFiles } from "../../../src/engine/runs/zip.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { collectFiles } from "../../support/collected-files.ts";
import { row, TERMS } from "../runs/sample-evaluations.ts";
import { group, manifest } from "../runs/sample-run.ts";

const NAME = "language_model.model.layers.0.mlp.up_proj.lora_A.weight";

test("every export of the menu makes files, and their zip holds them", async () => {
  const store = memoryStore();
  const { model } = manifest();
  const run = await createRun(store, manifest("brave-otter", { model: { ...model, template: "qwen_chat" } }));
  await run.appendStep(2, { loss: 1, step_time: 2 });
  await run.appendGroups(2, [group(2, 1, 0)]);
  await expect(exportFiles(run, "peft", null, null)).rejects.toThrow(/has no checkpoint; it has none/);
  expect(Object.keys(await collectFiles(await exportFiles(run, "trl", null, null)))).not.toContain("adapter/README.md");
  const params = new Map([[NAME, { shape: [1, 2], data: Float32Array.of(1, 2) }]]);
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
  await expect(exportFiles(run, "peft-ema", null, null)).rejects.toThrow(/holds no moving average/);
  await writeCheckpoint(store, run.id, { ...state, ema: params });
  for (const format of Object.keys(RUN_EXPORTS) as RunExport[]) {
    // A proof needs rows and evaluations: sa2va.test.ts.
    if (format === "proof") continue;
    const files = await collectFiles(await exportFiles(run, format, null, null));
    expect(Object.keys(files).length, format).toBeGreaterThan(0);
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    const zip = zipFiles(await exportFiles(run, format, null, null), "out", new Date(manifest().created));
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

test("the report names rows that gained and rows that lost, and no row for what it did not do", async () => {
  const store = memoryStore();
  const run = await createRun(store, manifest());
  const parts = async (changes: readonly number[]): Promise<string[]> => {
    for (const step of [0, 1]) {
      const rows = changes.map((change, at) => row(String(at), 0.5 + step * change));
      await storeEvaluation(store, run.id, step, rows, TERMS);
    }
    const html = await runReport(run, null);
    return [...html.matchAll(/<h2>Held-out rows that (\w+)|of row (\d)/g)].map((found) => found[1] ?? found[2] ?? "");
  };
  expect(await parts([0.1, 0.2, 0.3, 0.4, 0])).toEqual(["gained", "3", "2", "1"]);
  expect(await parts([-0.1, -0.2, 0, 0.1])).toEqual(["gained", "3", "lost", "1", "0"]);
  expect(await parts([0, 0])).toEqual([]);
});

test("the report counts the rows of a difference, not those of a mean", async () => {
  const run = await createRun(memoryStore(), manifest());
  for (const step of [0, 1]) {
    const rows = [0.5, null, 0.25].map((reward, at) =>
      row(String(at), 0.5, { rewards: { reward1_sampled: at === 1 && step === 1 ? 1 : reward } }),
    );
    await storeEvaluation(run.store, run.id, step, rows, TERMS);
  }
  const html = await runReport(run, null);
  expect(html).toContain("loop 1 reward, sampled (no change), on 2 held-out rows: 0 better, 0 worse");
  expect(html).toContain("Some rows lack a verdict");
});

test("a chart holds every step of the longest run", () => {
  const points = Array.from({ length: 100_000 }, (_, at) => [at + 1, at % 7] as const);
  const chart = lineChart("Reward", [
    { name: "loop 1", points },
    { name: "loop 2", points },
  ]);
  expect(chart?.match(/[ML]/g)).toHaveLength(200_000);
  expect(chart).toContain(">100000</text>");
  const small = lineChart("Gain", [{ name: "loop 1", points: [[1, -0.00128]] }]);
  expect(small).toContain(">-1.3e-3</text>");
});
