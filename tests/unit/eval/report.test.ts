/** What an evaluation reports: never a number of the rows that choose the best checkpoint. */
import { describe, expect, it } from "vitest";
import { evalLine } from "../../../scripts/lib/step-line.ts";
import { evalReport, storeEvaluation } from "../../../src/engine/eval/report.ts";
import { scoreOf } from "../../../src/engine/runs/evaluations/evaluation-scores.ts";
import { EVAL_METRICS, type RowScores, readEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { row, TERMS } from "../runs/sample-evaluations.ts";

const reported = (value: number): RowScores[] => [0, 1, 2, 3].map((i) => row(`r${i}`, value + i / 10));
const selected = (value: number, change: Partial<RowScores> = {}): RowScores[] =>
  [0, 1].map((i) => row(`s${i}`, value, { part: "selection", ...change }));

describe("an evaluation", () => {
  it("reports the report rows alone: the selection rows change its selection value and nothing else", () => {
    const before = { report: evalReport(0, [...reported(0.1), ...selected(0.1)], TERMS, null), rows: reported(0.1) };
    const [one, other] = [0.2, 0.9].map((value) =>
      evalReport(10, [...reported(0.3), ...selected(value)], TERMS, before),
    );
    expect(one?.selection).toEqual({ metric: "reward", n: 2, value: 0.2 });
    expect(other?.selection).toEqual({ metric: "reward", n: 2, value: 0.9 });
    expect({ ...one, selection: null }).toEqual({ ...other, selection: null });
    expect(one?.n).toBe(4);
    expect(one?.means.loop1_sampled).toBeCloseTo(0.45, 12);
    expect(one?.reward?.scores.reward1_sampled?.mean).toBeCloseTo(0.45, 12);
    expect(one?.difference?.loop1_sampled.mean).toBeCloseTo(0.2, 12);
    // The other way round: what is reported does not choose.
    const far = evalReport(10, [...reported(0.9), ...selected(0.2)], TERMS, before);
    expect(far.selection).toEqual(one?.selection);
  });

  it.each([
    ["reward", "both", 0.3],
    ["reward", "1", 0.2],
    ["reward", "2", 0.4],
    ["reward_greedy", "both", 0.7],
    ["grounding_iou", "both", 0.1],
    ["loop2_sampled", "2", 0.1],
  ] as const)("chooses by %s with loops %s", (bestMetric, loops, value) => {
    const rewards = { reward1_sampled: 0.2, reward2_sampled: 0.4, reward1_greedy: 0.6, reward2_greedy: 0.8 };
    const rows = [...reported(0.5), ...selected(0.1, { rewards })];
    const { selection } = evalReport(
      0,
      rows,
      { ...TERMS, bestMetric, loops: loops === "both" ? [1, 2] : [Number(loops) as 1 | 2] },
      null,
    );
    expect(selection).toEqual({ metric: bestMetric, n: 2, value: expect.closeTo(value, 12) });
  });

  it("has the partner's scores beside the policy's, over the report rows", () => {
    const answers = [0.5, 0.7, 0.9, 0.3].map((partnerIou, i) => ({ partnerIou, partnerMeteor: i / 4 }));
    const rows = [...reported(0.1).map((own, i) => ({ ...own, ...answers[i] })), ...selected(0.9)];
    const { partner } = evalReport(10, rows, TERMS, null);
    expect(partner?.grounding_iou.mean).toBeCloseTo(0.6, 12);
    // The policy's are 0.1, 0.2, 0.3 and 0.4.
    expect(partner?.grounding_iou.difference.mean).toBeCloseTo(0.35, 12);
    expect(partner?.caption_meteor.difference.mean).toBeCloseTo(0.125, 12);
  });

  it("of a mix has the mean scores of every source that has report rows", () => {
    const rows = [row("a.arrow#0", 0.2), row("a.arrow#1", 0.4), row("b.json#0", 0.9), ...selected(0.1)];
    const { sources } = evalReport(0, rows, { ...TERMS, mixSources: "b=3, c=1, a=2" }, null);
    expect(Object.entries(sources ?? {}).map(([name, { n, means }]) => [name, n, means.grounding_iou])).toEqual([
      ["b", 1, 0.9],
      ["a", 2, expect.closeTo(0.3, 12)],
    ]);
  });

  it("chooses nothing where a selection row has no reward, and reports over the rows that have one", () => {
    const missing = { reward1_sampled: null, reward1_greedy: null, reward2_sampled: null, reward2_greedy: null };
    const rows = [...reported(0.5), row("r4", 0, { rewards: missing }), ...selected(0.2)];
    rows[rows.length - 1] = row("s1", 0.2, { part: "selection", rewards: missing });
    const { selection, reward, n } = evalReport(0, rows, TERMS, null);
    expect(selection).toEqual({ metric: "reward", n: 1, value: null });
    expect(n).toBe(5);
    expect(reward?.scores.reward2_greedy).toMatchObject({ n: 4, mean: expect.closeTo(0.65, 12), difference: null });
    const none = evalReport(
      0,
      reported(0.5).map((own) => ({ ...own, rewards: missing })),
      TERMS,
      null,
    );
    expect([none.selection, none.reward?.scores.reward1_sampled]).toEqual([null, null]);
  });
});

describe("stored evaluations", () => {
  it("compare with the first of the run, replace one of the same step and keep those of later steps", async () => {
    const store = memoryStore();
    expect((await storeEvaluation(store, "r", 0, reported(0.1), TERMS)).difference).toBeNull();
    await storeEvaluation(store, "r", 10, reported(0.2), TERMS);
    await storeEvaluation(store, "r", 20, reported(0.3), TERMS);
    const again = await storeEvaluation(store, "r", 10, reported(0.4), TERMS);
    expect(again.difference?.loop1_greedy.mean).toBeCloseTo(0.3, 12);
    expect([again.baseline, again.reward?.scores.reward1_greedy?.difference?.mean]).toEqual([
      0,
      expect.closeTo(0.3, 12),
    ]);
    expect((await readEvaluations(store, "r")).map((stored) => stored.report.step)).toEqual([0, 10, 20]);
  });

  it("have reward, start and difference over the rows with a verdict at both steps", async () => {
    const store = memoryStore();
    const rewards = (values: readonly (number | null)[]): RowScores[] =>
      values.map((value, at) => row(`r${at}`, 0.5, { rewards: { reward2_sampled: value } }));
    await storeEvaluation(store, "r", 0, rewards([0.1, 0.9, null, 0.3]), TERMS);
    const report = await storeEvaluation(store, "r", 10, rewards([0.2, null, 0.8, 0.6]), TERMS);
    const score = scoreOf(report, "reward2_sampled");
    expect(score).toMatchObject({ n: 2, mean: expect.closeTo(0.4, 12), start: expect.closeTo(0.2, 12) });
    expect(score?.difference?.mean).toBeCloseTo(0.2, 12);
    const line = evalLine({ report, pictures: 4 }, false);
    expect(line).toContain(
      "reward2_sampled 0.400 from 0.200 at step 0, +0.200 (+0.100 to +0.300) (2 of 4 rows lack this score at a step and are left out)",
    );
  });

  it("compare run rewards only where the same judge counts", async () => {
    const store = memoryStore();
    await storeEvaluation(store, "r", 0, reported(0.1), { ...TERMS, judge: "asked" });
    const { reward, difference } = await storeEvaluation(store, "r", 10, reported(0.2), {
      ...TERMS,
      judge: "left-out",
    });
    expect(reward?.scores.reward1_sampled?.difference).toBeNull();
    for (const metric of EVAL_METRICS) expect(difference?.[metric].mean).toBeCloseTo(0.1, 12);
  });
});
