/** Stored evaluations: which checkpoint they call the best, what a resume drops of them, what is said of damaged ones. */
import { describe, expect, it } from "vitest";
import { bestCheckpoint, bestOf } from "../../../src/engine/runs/best-checkpoint.ts";
import { readEvaluations, writeEvaluations } from "../../../src/engine/runs/evaluations.ts";
import { memoryStore } from "../../../src/engine/runs/memory-store.ts";
import { createRun, digestRun } from "../../../src/engine/runs/run-folder.ts";
import { evaluation } from "./sample-evaluations.ts";
import { manifest } from "./sample-run.ts";

const RUN = "brave-otter";
const FILE = `${RUN}/eval.jsonl`;

describe("the best checkpoint", () => {
  const all = [
    evaluation(0, 0.9),
    evaluation(10, 0.3, { loop1_sampled: 0.5, loop2_sampled: 0.25 }),
    evaluation(20, 0.8, { loop1_sampled: 0.25, loop2_sampled: 0.375 }),
    evaluation(30, 0.7, { loop1_sampled: 0.5, loop2_sampled: 0.125 }),
  ];

  it("has the highest mean of the loops that train, and of equal ones it is the newest", () => {
    expect(bestOf(all, "both", [10, 20, 30])).toBe(10);
    expect(bestOf(all, "1", [10, 20, 30])).toBe(30);
    expect(bestOf(all, "2", [10, 20, 30])).toBe(20);
  });

  it("is one that there is, and was evaluated to a number", () => {
    expect(bestOf(all, "both", [20, 30, 40])).toBe(30);
    expect(bestOf(all, "both", [40])).toBeNull();
    expect(bestOf([], "both", [10])).toBeNull();
    expect(bestOf([evaluation(10, 0.1, { loop1_sampled: Number.NaN }), evaluation(20, 0)], "1", [10, 20])).toBe(20);
  });

  it("is shown with the run, which damaged evaluations do not hide", async () => {
    const store = memoryStore();
    const run = await createRun(store, manifest(RUN));
    for (const step of [10, 20]) await store.write(`${RUN}/checkpoints/step-0000${step}/complete.json`, "{}");
    expect((await digestRun(run)).best).toBeNull();
    await writeEvaluations(store, RUN, all);
    expect((await digestRun(run)).best).toBe(10);
    expect(await bestCheckpoint(store, RUN, "2")).toBe(20);
    await store.append(FILE, "{\n");
    expect(await digestRun(run)).toMatchObject({ best: null, checkpoints: [10, 20] });
  });
});

describe("eval.jsonl", () => {
  it("keeps what is not past the step of a resume", async () => {
    const store = memoryStore();
    const run = await createRun(store, manifest(RUN));
    await run.truncateAfter(0);
    expect(await store.size(FILE)).toBeNull();
    await writeEvaluations(store, RUN, [evaluation(0, 0.1), evaluation(10, 0.2), evaluation(20, 0.3)]);
    await run.truncateAfter(10);
    expect(await readEvaluations(store, RUN)).toEqual([evaluation(0, 0.1), evaluation(10, 0.2)]);
  });

  it.each([
    ["not JSON", '{"report":', /^brave-otter\/eval\.jsonl line 2 is not valid JSON; the file is kept as it is$/],
    ["another thing", "5", /eval\.jsonl line 2 is not an evaluation with its step/],
    ["without rows", '{"report":{"step":1}}', /line 2 is not an evaluation/],
    ["without means", '{"report":{"step":1,"ci":{},"difference":null},"rows":[]}', /line 2 is not an evaluation/],
  ])("that is damaged is named with its line: %s", async (_, line, sentence) => {
    const store = memoryStore();
    await writeEvaluations(store, RUN, [evaluation(0, 0.1)]);
    await store.append(FILE, `${line}\n`);
    await expect(readEvaluations(store, RUN)).rejects.toMatchObject({
      code: "bad-input",
      message: expect.stringMatching(sentence),
    });
  });
});
