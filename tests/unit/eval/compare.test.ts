/** `npm run compare`: its table and its tool. */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { type ComparedRun, compareTable } from "../../../scripts/lib/scores/compared-run.ts";
import { storeEvaluation } from "../../../src/engine/eval/report.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { tool } from "../../support/tools.ts";
import { row, TERMS } from "../runs/sample-evaluations.ts";
import { manifest } from "../runs/sample-run.ts";

test("a run is said to have few pictures, as in evaluations of suites", () => {
  const run = (name: string, pictures: number): ComparedRun => ({
    run: name,
    seed: 1,
    splitSeed: 1,
    step: 4,
    pictures,
    n: 20,
    rowsHash: "0",
    maskPolicy: "field",
    judge: "left-out",
    rows: { grounding_iou: name === "few" ? 18 : 20 },
    start: { grounding_iou: 0.5 },
    difference: { grounding_iou: { mean: 0.1, low: 0.05, high: 0.2 } },
    best: null,
    zeroSpread: name === "few" ? {} : { "loop2/frac_reward_zero_std": 0.25 },
    gradNorm: {},
    stepTime: 1,
    evaluations: [],
  });
  const table = compareTable([run("few", 9), run("many", 10)]);
  expect(table).toMatch(/zero spread 1 \/ 2 .*\n.*\n.* – \/ – .*\n.* – \/ 0\.25 /);
  const notes = table.split("\n").filter((line) => /^(?:few|many): \w/.test(line));
  expect(notes).toEqual([
    "few: run rewards are without judge",
    "few: grounding_iou: 2 of 20 rows lack this score at a step and are left out",
    "few: with fewer than 10 pictures no interval can be trusted",
    "many: run rewards are without judge",
  ]);
});

test("rows of other pictures are other rows, and runs of one seed have their names", async () => {
  const folder = await mkdtemp(join(tmpdir(), "compare-"));
  try {
    const store = nodeStore(join(folder, "runs"));
    for (const id of ["one", "other"]) {
      const run = await createRun(store, manifest(id));
      await run.appendStep(1, { loss: 1 });
      for (const step of [0, 1]) {
        const rows = [0, 1].map((at) => {
          // One row has no verdict at the start.
          const rewards = { reward2_sampled: at === 1 && step === 0 ? null : 0.5 + (at + step) / 4 };
          return row(String(at), 0.5 + step / 4, { imageId: `${id} ${at}`, rewards });
        });
        await storeEvaluation(store, id, step, rows, TERMS);
      }
    }
    const curve = join(folder, "curve.svg");
    const { code, err } = await tool("compare", [join(folder, "runs"), "--curve", curve]);
    expect(code, err).toBe(0);
    expect(err).toContain("not scored on the same rows, so their scores cannot be compared: one | other");
    expect(await readFile(curve, "utf8")).toMatch(/>one<.*\n.*>other</);
    const { out } = await tool("compare", [join(folder, "runs"), "--json"]);
    const first = JSON.parse(out.split("\n")[0] as string) as ComparedRun;
    expect([first.rows.reward2_sampled, first.start.reward2_sampled]).toEqual([1, 0.5]);
    expect(first.difference.reward2_sampled).toEqual({ mean: 0.25, low: null, high: null });
    await mkdir(join(folder, "empty"));
    const none = await tool("compare", [join(folder, "empty")]);
    expect(none).toMatchObject({ code: 2, out: "", err: expect.stringMatching(/empty holds no run\.json\n$/) });
  } finally {
    await rm(folder, { recursive: true });
  }
});
