import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { evalReport } from "../../../src/engine/eval/report.ts";
import { writeEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { runLibrary } from "../../../src/engine/runs/library/library.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { AllGains } from "../../../src/plugins/run-details/run-details.tsx";
import { row, TERMS } from "../runs/sample-evaluations.ts";
import { manifest } from "../runs/sample-run.ts";

test.each([
  [9, true],
  [10, false],
])("a gain over %i pictures is said to be over few: %s", async (pictures, few) => {
  const store = memoryStore();
  await createRun(store, manifest());
  const rows = (value: number) =>
    Array.from({ length: pictures }, (_, at) => row(String(at), value + at / 100, { imageId: `${at}` }));
  const start = { report: evalReport(0, rows(0.25), TERMS, null), rows: rows(0.25) };
  // The last row has no verdict at the end.
  const last = rows(0.5).map((own, at) => (at === pictures - 1 ? { ...own, rewards: {} } : own));
  await writeEvaluations(store, "brave-otter", [start, { report: evalReport(4, last, TERMS, start), rows: last }]);
  const [run] = (await runLibrary(store).list()).runs;
  const text = renderToStaticMarkup(createElement(AllGains, { run: run as NonNullable<typeof run> }));
  expect(text.includes("with fewer than 10 pictures no interval can be trusted")).toBe(few);
  expect(text).toContain(`1 of ${pictures} rows lack this score at a step and are left out`);
});
