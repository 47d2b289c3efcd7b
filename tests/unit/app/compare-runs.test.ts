/** Several runs as one source of curves, and what differs between them. */
import { describe, expect, it, test } from "vitest";
import { findSeries, otherMetrics } from "../../../src/app/components/charts/series.ts";
import { runChanges } from "../../../src/app/screens/runs/run-list.ts";
import { MetricStore } from "../../../src/app/stores/run/metrics.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import {
  EVAL_METRICS,
  type EvalReport,
  type StoredEvaluation,
} from "../../../src/engine/runs/evaluations/evaluations.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import { COMPARED_METRICS, chosenChart, compareCharts } from "../../../src/plugins/compare/chart-specs.ts";
import {
  commonSteps,
  differenceRows,
  evaluationAt,
  heldOutRows,
} from "../../../src/plugins/compare/difference-rows.ts";
import { joinedName, joinSources } from "../../../src/plugins/compare/join-sources.ts";
import { findDraw, searchOrder } from "../../../src/plugins/compare/side-by-side.tsx";
import { evaluation } from "../runs/sample-evaluations.ts";
import { group } from "../runs/sample-run.ts";

function storeOf(rows: readonly (readonly [step: number, metrics: Readonly<Record<string, number>>])[]): MetricStore {
  const store = new MetricStore();
  for (const [step, metrics] of rows) store.append(step, metrics);
  return store;
}

describe("joined runs", () => {
  const long = storeOf([
    [1, { loss: 1 }],
    [2, { loss: 2, kl: Number.NaN }],
    [3, { loss: 3 }],
  ]);
  const late = storeOf([
    [3, { loss: 30 }],
    [5, { loss: 50 }],
  ]);
  const joined = joinSources([
    { id: "a", source: long },
    { id: "b", source: late },
  ]);

  it("have all steps, and each run's values at its own", () => {
    expect([...Array.from(joined.steps)]).toEqual([1, 2, 3, 5]);
    expect(joined.names).toEqual(["a kl", "a loss", "b loss"]);
    expect(Array.from(joined.column("a loss"))).toEqual([1, 2, 3, Number.NaN]);
    expect(Array.from(joined.column("b loss"))).toEqual([Number.NaN, Number.NaN, 30, 50]);
  });

  it("tell a value that is NaN from a step that a run does not have", () => {
    expect(joined.isMissing("a kl", 1)).toBe(false);
    expect(joined.isMissing("a kl", 0)).toBe(true);
    expect(joined.isMissing("b loss", 0)).toBe(true);
    expect(joined.isMissing("b loss", 2)).toBe(false);
    expect(joined.isMissing("nobody loss", 2)).toBe(true);
    expect(Array.from(joined.column("nobody loss")).every(Number.isNaN)).toBe(true);
  });

  it("follow runs that grow, also where a resumed one drops steps first", () => {
    let told = 0;
    const stop = joined.subscribe(() => told++);
    late.append(6, { loss: 60 });
    expect(Array.from(joined.column("b loss"))).toEqual([Number.NaN, Number.NaN, 30, 50, 60]);
    late.append(4, { loss: 40 });
    expect([...Array.from(joined.steps)]).toEqual([1, 2, 3, 4]);
    expect(told).toBe(2);
    stop();
    long.append(4, { loss: 4 });
    expect(told).toBe(2);
  });
});

describe("charts of a comparison", () => {
  const runs = [
    { id: "a", title: "brave otter" },
    { id: "b", title: "calm heron" },
  ];

  it("have one line per run and leave out what no run logged", () => {
    const logged = new Set(["step", "loop1/reward", "grad_norm", "loop1/entropy"]);
    const charts = compareCharts(runs, logged);
    expect(charts.map(({ id }) => id)).toEqual(["compare-reward-1", "compare-gradient"]);
    expect(charts[0]?.series.map(({ label, colour }) => [label, colour])).toEqual([
      ["brave otter", 0],
      ["calm heron", 1],
    ]);
    expect(otherMetrics(logged, COMPARED_METRICS)).toEqual(["loop1/entropy"]);
    const own = storeOf([[1, { "loop1/entropy": 2 }]]);
    const source = joinSources([{ id: "b", source: own }]);
    const found = findSeries(chosenChart("loop1/entropy", runs), source);
    expect(found.map(({ metric }) => metric)).toEqual([joinedName("b", "loop1/entropy")]);
  });
});

describe("differences of runs", () => {
  const manifest = (changes: Partial<LabConfig>, hash = "one"): RunManifest =>
    ({
      config: { ...presetConfig("demo"), ...changes },
      model: { name: "pocket", hash },
      data: { name: "shards", hash: "same" },
    }) as RunManifest;

  it("are the settings, model and data that are not the same in all of them", () => {
    const rows = differenceRows([
      manifest({ seed: 1 }),
      manifest({ seed: 1, gradientCheckpointing: true }),
      manifest({ seed: 3 }, "two"),
    ]);
    expect(rows.map(({ label, values }) => [label, ...values])).toEqual([
      ["Model", "pocket", "pocket", "pocket"],
      ["Seed", "1", "1", "3"],
      ["Recompute activations", "off", "on", "off"],
    ]);
    expect(differenceRows([manifest({}), manifest({})])).toEqual([]);
  });

  it("are in the words of the form, and code is told by its name", () => {
    const userReward = `function reward(rollout) {\n${"  // about the reward\n".repeat(50)}}`;
    const changed = manifest({ learningRate: 0.00001, judge: "questions", userReward });
    const before = { ...manifest({ learningRate: 0.0001 }), id: "first" };
    const texts = Object.fromEntries(runChanges(changed, before).map(({ label, ...change }) => [label, change]));
    expect(texts["Learning rate"]).toEqual({ before: "1e-4", after: "1e-5" });
    expect(Object.values(texts).map(({ before: text }) => text)).toContain("Off: METEOR only");
    expect(Object.values(texts).find(({ before: text }) => text === "empty")?.after).toBe("custom function");
  });

  it("have the newest held-out scores with their difference to the start", () => {
    const scores = <T>(value: T): Record<(typeof EVAL_METRICS)[number], T> =>
      Object.fromEntries(EVAL_METRICS.map((name) => [name, value])) as never;
    const at = (step: number, mean: number): StoredEvaluation => ({
      report: {
        ...evaluation(step, mean).report,
        reward: { judge: "none", scores: {} as EvalReport["reward"]["scores"] },
        n: 2,
        means: scores(mean),
        ci: scores([0, 1] as const),
        difference: step === 0 ? null : scores({ mean: mean - 0.5, low: 0, high: 1 }),
        ...(step === 0 ? {} : { baseline: 0 }),
      },
      rows: [],
    });
    const run = (...evaluations: readonly StoredEvaluation[]) => ({ evaluations, best: null });
    const runs = [run(at(0, 0.5), at(4, 0.625), at(8, 0.75)), run(), run(at(0, 0.5), at(4, 0.25))];
    const lists = runs.map(({ evaluations }) => evaluations);
    // A run without evaluations does not keep the others from a common step.
    expect(commonSteps(lists)).toEqual([0, 4]);
    expect(commonSteps([[at(0, 0.5)], [at(4, 0.5)]])).toEqual([]);
    expect(evaluationAt(lists[0] ?? [], null)?.report.step).toBe(8);
    const rows = heldOutRows(runs, 4);
    expect(rows.map(({ label }) => label)).toEqual([
      ...["Step", "Rows"],
      ...["Loop 1 IoU, greedy", "Loop 1 IoU, sampled", "Loop 2 METEOR, greedy", "Loop 2 METEOR, sampled"],
      ...["Grounding IoU", "Caption METEOR", "Best checkpoint"],
    ]);
    expect(rows[0]?.values).toEqual(["4, from 0", "not evaluated", "4, from 0"]);
    expect(rows[1]?.values).toEqual(["2", "–", "2"]);
    expect(rows[2]?.values).toEqual(["0.625 +0.125 (±0.000 to +1.000)", "–", "0.250 −0.250 (±0.000 to +1.000)"]);
    expect(rows.at(-1)?.values).toEqual(["–", "–", "–"]);
    // The newest of each are of other steps, which the first row says.
    expect(heldOutRows(runs, null)[0]?.values).toEqual(["8, from 0", "not evaluated", "4, from 0"]);
    expect(heldOutRows([run(at(0, 0.5))], null)[0]?.values).toEqual(["0, the first"]);
    expect(heldOutRows([run(), run()], null)).toEqual([]);
  });

  it("name the score that chose the best checkpoint, and say when runs have other report rows", () => {
    const selection = { metric: "reward", n: 2, value: 0.5 } as const;
    const run = (rowId: string) => {
      const { report, rows } = evaluation(4, 0.25);
      const others = rows.map((own) => (own.part === "report" ? { ...own, rowId: `${rowId} ${own.rowId}` } : own));
      return { evaluations: [{ report, rows: others }], best: { step: 4, selection } };
    };
    const same = heldOutRows([run("a"), run("a")], null);
    expect(same[1]).toMatchObject({ label: "Rows", values: ["4", "4"] });
    expect(same[2]).toMatchObject({ label: "Loop 1 reward, greedy", values: ["0.250", "0.250"] });
    const text = "step 4, by run reward, sampled 0.500, 2 rows";
    expect(same.at(-1)).toMatchObject({ label: "Best checkpoint", values: [text, text] });
    // Of runs on other rows only the rows that all have are compared.
    const fewer = {
      ...run("a"),
      evaluations: [{ ...evaluation(4, 0.25), rows: run("a").evaluations[0]?.rows.slice(2) ?? [] }],
    };
    const [, counts, first] = heldOutRows([run("a"), fewer], null);
    expect(counts).toMatchObject({ label: "Rows of the run", group: expect.stringMatching(/were evaluated on: 2$/) });
    expect(first?.values[0]).toBe(first?.values[1]);
    expect(heldOutRows([run("a"), run("b")], null).map(({ label }) => label)).toEqual([
      ...["Step", "Rows of the run", "Best checkpoint"],
    ]);
  });
});

test("a draw of the same row is looked for from the nearest step, or on one side of a step", async () => {
  expect(searchOrder([1, 3, 5, 9], 5, "nearest")).toEqual([5, 3, 1, 9]);
  expect(searchOrder([1, 3, 5, 9], 5, "earlier")).toEqual([3, 1]);
  expect(searchOrder([1, 3, 5, 9], 5, "later")).toEqual([9]);
  const read: number[] = [];
  const find = (order: readonly number[], stop = new AbortController()) =>
    findDraw(
      order,
      { loop: 1, rowId: "a/b.arrow#4" },
      async (step) => {
        read.push(step);
        if (step === 9) stop.abort();
        return step === 3 ? [group(3, 2, 4), group(3, 1, 2), group(3, 1, 4)] : [];
      },
      stop.signal,
    );
  expect((await find([5, 3, 1]))?.rollouts[0]?.id).toBe("3-1-4-0");
  expect(await find([5, 9, 3])).toBeNull();
  // The third step is not read: the search was stopped meanwhile.
  expect(read).toEqual([5, 3, 5, 9]);
});
