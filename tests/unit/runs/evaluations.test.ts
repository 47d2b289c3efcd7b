/** Stored evaluations: which checkpoint they call the best, what a resume drops of them, what is said of damaged ones. */
import { describe, expect, it } from "vitest";
import { evalReport } from "../../../src/engine/eval/report.ts";
import { bestCheckpoint, bestOf } from "../../../src/engine/runs/checkpoint/best-checkpoint.ts";
import { lackingText, scoreOf } from "../../../src/engine/runs/evaluations/evaluation-scores.ts";
import {
  type EvalReport,
  readEvaluations,
  type StoredEvaluation,
  writeEvaluations,
} from "../../../src/engine/runs/evaluations/evaluations.ts";
import { digestRun } from "../../../src/engine/runs/library/digest.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { evaluation, olderEvaluation, row, TERMS } from "./sample-evaluations.ts";
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
    const chosen = bestOf(all, "both", [10, 20, 30]);
    expect(chosen).toEqual({ step: 30, selection: { metric: "reward", n: 2, value: 0.5 } });
    expect(bestOf(all, "both", [10, 20])?.step).toBe(10);
  });

  it("is one that there is, and was evaluated to a number", () => {
    expect(bestOf(all, "both", [20, 40])?.step).toBe(20);
    expect(bestOf(all, "both", [40])).toBeNull();
    expect(bestOf([], "both", [10])).toBeNull();
    expect(bestOf([evaluation(10, 1, { own: Number.NaN }), evaluation(20, 0)], "both", [10, 20])?.step).toBe(20);
  });

  it("is chosen by the newest score alone, as after a fork with another one", () => {
    const { report, rows } = evaluation(5, 0.9);
    const other = { report: { ...report, selection: { metric: "caption_meteor", n: 2, value: 0.9 } as const }, rows };
    expect(bestOf([other, ...all], "both", [5, 10, 20])?.step).toBe(10);
  });

  it("is none where no rows choose", () => {
    const none = all.map(({ report, rows }) => ({ report: { ...report, selection: null }, rows }));
    expect(bestOf(none, "both", [10, 20, 30])).toBeNull();
  });

  it("of a run of an older version is what that version chose, until a newer evaluation chooses", () => {
    const older = [
      olderEvaluation(0, 0.9),
      olderEvaluation(10, 0.3, { means: { loop1_sampled: 0.5, loop2_sampled: 0.25 } }),
      olderEvaluation(20, 0.8, { means: { loop1_sampled: 0.25, loop2_sampled: 0.375 } }),
      olderEvaluation(30, 0.7, { means: { loop1_sampled: 0.5, loop2_sampled: 0.125 } }),
    ];
    expect(bestOf(older, "both", [10, 20, 30])).toEqual({ step: 10, selection: null });
    expect(bestOf(older, "1", [10, 20, 30])).toEqual({ step: 30, selection: null });
    expect(bestOf(older, "2", [10, 20, 30])).toEqual({ step: 20, selection: null });
    expect(bestOf([...older, evaluation(40, 0.1)], "both", [10, 20, 30, 40])?.step).toBe(40);
  });

  it("is shown with the run, which damaged evaluations do not hide", async () => {
    const store = memoryStore();
    const run = await createRun(store, manifest(RUN));
    for (const step of [10, 20]) await store.write(`${RUN}/checkpoints/step-0000${step}/complete.json`, "{}");
    expect((await digestRun(run)).best).toBeNull();
    await writeEvaluations(store, RUN, all);
    expect((await digestRun(run)).best).toEqual(await bestCheckpoint(store, RUN, "both"));
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

  it("of an older version is read as it is", async () => {
    const store = memoryStore();
    const older = [olderEvaluation(0, 0.1), olderEvaluation(10, 0.2)];
    await writeEvaluations(store, RUN, older);
    expect(await readEvaluations(store, RUN)).toEqual(older);
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

describe("a reward of an older version whose judge gave no verdict for a row", () => {
  it("has its mean over the rows of its difference, and says how many it lacks", async () => {
    const lacking = (step: number, values: readonly (number | null)[], baseline: StoredEvaluation | null) => {
      const rows = values.map((value, at) => row(String(at), 0.5, { rewards: { reward1_sampled: value } }));
      return { report: evalReport(step, rows, { ...TERMS, judge: "asked" }, baseline), rows };
    };
    const first = lacking(0, [0.125, 0.25, null, 0.5], null);
    const now = lacking(10, [0.25, null, 0.75, 0.5], first);
    const told = now.report.reward?.scores.reward1_sampled;
    expect(told).toMatchObject({ n: 2, mean: 0.375 });
    // The mean of an older version counts the row that the difference lacks.
    const older = { ...told, mean: 0.5, low: 0.25, high: 0.75, n: 3 };
    const reward = { judge: "asked", scores: { ...now.report.reward?.scores, reward1_sampled: older } } as const;
    const store = memoryStore();
    await writeEvaluations(store, RUN, [first, { ...now, report: { ...now.report, reward } as EvalReport }]);
    const [start, end] = (await readEvaluations(store, RUN)).map(({ report }) => scoreOf(report, "reward1_sampled"));
    expect(start).toEqual(scoreOf(first.report, "reward1_sampled"));
    expect(end).toMatchObject({ n: 2, mean: 0.375, low: 0.375, high: 0.375, start: 0.3125 });
    expect(lackingText(end?.n ?? 0, now.report.n)).toBe("2 of 4 rows lack this score at a step and are left out");
  });

  it("stays as it is stored where both count the same rows", async () => {
    const store = memoryStore();
    const first = evaluation(0, 0.5);
    const report = evalReport(10, evaluation(10, 0.7).rows, TERMS, first);
    await writeEvaluations(store, RUN, [first, { report, rows: first.rows }]);
    expect((await readEvaluations(store, RUN))[1]?.report).toEqual(report);
  });
});
