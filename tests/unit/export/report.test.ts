import { expect, test } from "vitest";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import { storeEvaluation } from "../../../src/engine/eval/report.ts";
import { exportFiles } from "../../../src/engine/export/formats.ts";
import { runLibrary } from "../../../src/engine/runs/library/library.ts";
import { Thumbnails } from "../../../src/engine/runs/rollouts/thumbnails.ts";
import { createRun, openRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { lineChart } from "../../../src/plugins/report/line-chart.ts";
import { runReport } from "../../../src/plugins/report/run-report.ts";
import { collectFiles } from "../../support/collected-files.ts";
import { row, TERMS } from "../runs/sample-evaluations.ts";
import { group, manifest } from "../runs/sample-run.ts";

test("the report shows the notes of the run", async () => {
  const store = memoryStore();
  const { id } = await createRun(store, manifest());
  await runLibrary(store).setNotes(id, { text: "best so far", tags: ["good", "masks"] });
  const html = await runReport(await openRun(store, id), null);
  expect(html).toContain("best so far");
  expect(html).toContain("good, masks");
});

test("the report draws masks on the small pictures of a run without its data", async () => {
  const store = memoryStore();
  const run = await createRun(store, manifest());
  await run.appendStep(1, { loss: 1 });
  await run.appendGroups(1, [group(1, 1, 0)]);
  const html = async () =>
    new TextDecoder().decode((await collectFiles(await exportFiles(run, "report")))["report.html"]);
  const bare = await html();
  const pictures = new Thumbnails(store, run.id);
  const data = new Uint8Array(600 * 400 * 3).fill(99);
  await pictures.take({ summary: { imageId: "f00" } as RegionSummary, rgb: { width: 600, height: 400, data } });
  await pictures.store();
  expect(await html()).not.toBe(bare);
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
