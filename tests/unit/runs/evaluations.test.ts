/** Stored evaluations: which checkpoint they call the best, what a resume drops of them, what is said of damaged ones. */
import { describe, expect, it } from "vitest";
import { bestCheckpoint, bestOf } from "../../../src/engine/runs/checkpoint/best-checkpoint.ts";
import { readEvaluations, writeEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { digestRun } from "../../../src/engine/runs/library/digest.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { evaluation } from "./sample-evaluations.ts";
import { manifest } from "./sample-run.ts";

const RUN = "brave-otter";
const FILE = `${RUN}/eval.jsonl`;

describe("the best checkpoint", () => {
  const all = [
    evaluation(0, 0.9),
    evaluation(10, 0.1, { own: 0.5 }),
    evaluation(20, 0.8, { own: 0.375 }),
    evaluation(30, 0.2, { own: 0.5 }),
  ];

  it("has the highest selection value, whatever is reported, and of equal ones it is the newest", () => {
    const chosen = bestOf(all, [10, 20, 30]);
    expect(chosen).toEqual({ step: 30, selection: { metric: "reward", n: 2, value: 0.5 } });
    expect(bestOf(all, [10, 20])?.step).toBe(10);
  });

  it("is one that there is, and was evaluated to a number", () => {
    expect(bestOf(all, [20, 40])?.step).toBe(20);
    expect(bestOf(all, [40])).toBeNull();
    expect(bestOf([], [10])).toBeNull();
    expect(bestOf([evaluation(10, 1, { own: Number.NaN }), evaluation(20, 0)], [10, 20])?.step).toBe(20);
  });

  it("is chosen by the newest score alone, as after a fork with another one", () => {
    const { report, rows } = evaluation(5, 0.9);
    const other = { report: { ...report, selection: { metric: "caption_meteor", n: 2, value: 0.9 } as const }, rows };
    expect(bestOf([other, ...all], [5, 10, 20])?.step).toBe(10);
  });

  it("is none where no rows choose", () => {
    const none = all.map(({ report, rows }) => ({ report: { ...report, selection: null }, rows }));
    expect(bestOf(none, [10, 20, 30])).toBeNull();
  });

  it("is shown with the run, which damaged evaluations do not hide", async () => {
    const store = memoryStore();
    const run = await createRun(store, manifest(RUN));
    for (const step of [10, 20]) await store.write(`${RUN}/checkpoints/step-0000${step}/complete.json`, "{}");
    expect((await digestRun(run)).best).toBeNull();
    await writeEvaluations(store, RUN, all);
    expect((await digestRun(run)).best).toEqual(await bestCheckpoint(store, RUN));
    expect((await digestRun(run)).best?.step).toBe(10);
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
