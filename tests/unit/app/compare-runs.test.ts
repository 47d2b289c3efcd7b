/** Several runs as one source of curves, and what differs between them. */
import { describe, expect, it, test } from "vitest";
import { findSeries, otherMetrics } from "../../../src/app/components/charts/series.ts";
import { runChanges } from "../../../src/app/screens/runs/run-list.ts";
import { MetricStore } from "../../../src/app/stores/run/metrics.ts";
import { weightKey, weightKeys } from "../../../src/engine/config/groups/reward-weights.ts";
import { SETTING_KEYS } from "../../../src/engine/config/parse.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { Setting } from "../../../src/engine/config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../src/engine/config/table.ts";
import { TERMS, type TermName } from "../../../src/engine/rewards/terms/registry.ts";
import {
  EVAL_METRICS,
  type EvalReport,
  type StoredEvaluation,
} from "../../../src/engine/runs/evaluations/evaluations.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import { COMPARED_METRICS, chosenChart, compareCharts } from "../../../src/plugins/compare/chart-specs.ts";
import {
  cautions,
  commonSteps,
  differenceRows,
  differentFormulas,
  evaluationAt,
  heldOutRows,
} from "../../../src/plugins/compare/difference-rows.ts";
import { inOrder } from "../../../src/plugins/compare/held-out-sides.tsx";
import { joinedName, joinSources } from "../../../src/plugins/compare/join-sources.ts";
import {
  findDraw,
  findShared,
  forksOf,
  sameRolloutsText,
  searchOrder,
} from "../../../src/plugins/compare/shared-rows.ts";
import { evaluation } from "../runs/sample-evaluations.ts";
import { group, manifest as runManifest } from "../runs/sample-run.ts";

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
    expect(compareCharts(runs, logged, [2])[0]?.title).toBe("Reward of loop 1");
    expect(compareCharts(runs, logged, [1])[0]?.title).toBe("Reward of loop 1, different formulas");
    expect(otherMetrics(logged, COMPARED_METRICS)).toEqual(["loop1/entropy"]);
    const own = storeOf([[1, { "loop1/entropy": 2 }]]);
    const source = joinSources([{ id: "b", source: own }]);
    const found = findSeries(chosenChart("loop1/entropy", runs), source);
    expect(found.map(({ metric }) => metric)).toEqual([joinedName("b", "loop1/entropy")]);
    expect(chosenChart("loop1/completions/mean_length", runs).title).toBe("Mean length of loop 1");
    expect(chosenChart("step_time", runs).title).toBe("Step time");
    expect(chosenChart("loop1/kl", runs).title).toBe("KL of loop 1");
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
    const run = (...evaluations: readonly StoredEvaluation[]) => ({
      manifest: manifest({}),
      evaluations,
      best: null,
    });
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
    // A run that was not evaluated has no step that differs.
    expect(cautions(runs, 4)).toEqual([]);
    expect(cautions(runs, null)).toEqual([expect.stringMatching(/^The scores are of different steps/)]);
    expect(cautions([run(at(0, 0.5)), run(at(4, 0.5))], null)).toEqual([
      expect.stringMatching(/^No step was evaluated in all of these runs\. The scores/),
    ]);
  });

  it("name the score that chose the best checkpoint, and say when runs have other report rows", () => {
    const selection = { metric: "reward", n: 2, value: 0.5 } as const;
    const run = (rowId: string) => {
      const { report, rows } = evaluation(4, 0.25);
      const others = rows.map((own) => (own.part === "report" ? { ...own, rowId: `${rowId} ${own.rowId}` } : own));
      return { manifest: manifest({}), evaluations: [{ report, rows: others }], best: { step: 4, selection } };
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

  it("have different formulas where a setting changes the value of a term with a weight, as the table of settings says", () => {
    const bare = Object.fromEntries(weightKeys().map((key) => [key, 0]));
    const base: LabConfig = { ...presetConfig("demo"), ...bare, judge: "questions" };
    const named = SETTING_KEYS.flatMap((key) => ((SETTINGS[key] as Setting).terms ?? []).map((term) => [key, term]));
    expect(named.length).toBeGreaterThan(20);
    for (const [key, name] of named as [SettingKey, TermName][]) {
      expect(TERMS, key).toContain(name);
      const [value, weight] = [base[key], { [weightKey(1, name)]: 1 }];
      const changed = typeof value === "number" ? value + 1 : `${value} too`;
      const both = (extra: object) =>
        differentFormulas([base, { ...base, [key]: changed }].map((one) => ({ ...one, ...extra })));
      expect(both(weight), `${key} of ${name}`).toEqual([1]);
      expect(both({}), key).toEqual([]);
    }
  });

  it("do not compare rewards of different formulas", () => {
    const base = presetConfig("demo");
    const weighted: LabConfig = { ...base, loop1Iou: base.loop1Iou + 1 };
    expect(differentFormulas([base, { ...base, learningRate: 0.5, shuffleRewards: true }])).toEqual([]);
    expect(differentFormulas([base, weighted])).toEqual([1]);
    // A run that lacks the loop has no number to compare, and no mode without rollouts has one.
    const alone: LabConfig = { ...weighted, loops: "2" };
    expect(differentFormulas([base, alone])).toEqual([]);
    expect(differentFormulas([base, { ...weighted, mode: "sft" }])).toEqual([]);
    expect(differentFormulas([base, alone, weighted])).toEqual([1]);
    // A setting counts only where a weighted term reads it, and an unused judge leaves its weight to METEOR.
    expect(differentFormulas([base, { ...base, lengthRatio: 9 }])).toEqual([]);
    const long = { ...base, loop2LengthCost: 0.5 };
    expect(differentFormulas([long, { ...long, lengthRatio: 9 }])).toEqual([2]);
    const spread = { ...base, judge: "off", loop2Meteor: 0.25, loop2Judge: 0.75 } as const;
    expect(differentFormulas([spread, { ...spread, loop2Meteor: 1, loop2Judge: 0 }])).toEqual([]);

    const run = (own: Partial<RunManifest>) => ({
      manifest: { ...manifest({}), ...own },
      evaluations: [evaluation(3, 0.25), evaluation(6, 0.25)],
      best: null,
    });
    const changed = { loop1Iou: { from: base.loop1Iou, to: weighted.loop1Iou } };
    const fork = run({ config: weighted, segments: [{ fromStep: 3, engine: "lab", changed }] });
    const groups = (step: number) =>
      heldOutRows([run({}), fork], step)
        .filter(({ label }) => label.includes("reward") || label.includes("IoU"))
        .map(({ group: title, label }) => [label, title.split(":")[0]]);
    const [reported, different] = ["Held-out report rows", "Different formulas"];
    expect(groups(6)).toEqual([
      ["Loop 2 reward, greedy", reported],
      ["Loop 2 reward, sampled", reported],
      ["Loop 1 IoU, greedy", reported],
      ["Loop 1 IoU, sampled", reported],
      ["Grounding IoU", reported],
      ["Loop 1 reward, greedy", different],
      ["Loop 1 reward, sampled", different],
    ]);
    expect(cautions([run({}), fork], 6)).toEqual([
      expect.stringMatching(/^The runs have different formulas for the reward of loop 1,/),
    ]);
    // Evaluations score both loops of every run.
    expect(cautions([run({}), run({ config: { ...weighted, loops: "2" } })], 6)).toEqual([
      expect.stringMatching(/reward of loop 1,/),
    ]);
    // Up to its fork, a run holds its parent's evaluations.
    expect(groups(3).map(([, title]) => title)).toEqual(new Array(7).fill(reported));
    expect(cautions([run({}), fork], 3)).toEqual([]);
  });

  it("are of the later run minus the earlier one", () => {
    const [first, second] = [runManifest("a"), runManifest("b", { created: "2026-05-05T00:00:00.000Z" })];
    expect(inOrder(first, second)).toEqual([first, second]);
    expect(inOrder(second, first)).toEqual([first, second]);
    // A fork is the later one, whatever the clocks of two machines say.
    const fork = runManifest("c", { created: "2020-01-01T00:00:00.000Z", forkedFrom: { run: "b", step: 3 } });
    expect(inOrder(fork, second)).toEqual([second, fork]);
    expect(inOrder(second, fork)).toEqual([second, fork]);
    expect(inOrder(fork, first)).toEqual([fork, first]);
    // Copies with the same date stay in the order of selection.
    expect(inOrder(first, runManifest("d"))[0]).toBe(first);
  });
});

describe("rows that a fork shares with its parent", () => {
  const parent = runManifest("parent");
  const child = runManifest("child", { forkedFrom: { run: "parent", step: 3 } });
  const grandchild = runManifest("grandchild", { forkedFrom: { run: "child", step: 5 } });
  const drawn = (own: RunManifest) => ({ id: own.id, forks: forksOf(own, [parent, child, grandchild]) });
  const [a, b, c] = [drawn(parent), drawn(child), drawn(grandchild)] as const;
  const find = (steps: Readonly<Record<string, Readonly<Record<number, number>>>>, [first, ...others] = [a, b]) =>
    findShared(
      first as typeof a,
      others,
      {
        steps: async (id) => Object.keys(steps[id] ?? {}).map(Number),
        groups: async (id, step) => [group(step, 1, steps[id]?.[step] ?? 0)],
      },
      new AbortController().signal,
    );

  it("open after the fork, where either run has its own rollouts", async () => {
    // The parent stopped at the fork, and the child drew one of its rows again.
    const stopped = { 1: 7, 2: 8, 3: 9 };
    expect(await find({ parent: stopped, child: { ...stopped, 4: 5, 5: 7 } })).toMatchObject({ step: 1 });
    const steps = { parent: { ...stopped, 4: 4, 5: 6 }, child: { ...stopped, 4: 4, 5: 5 } };
    expect(await find(steps)).toMatchObject({ step: 4 });
    expect(await find(steps, [b, a])).toMatchObject({ step: 4 });
  });

  it("open before the fork where no other is shared, and say so", async () => {
    const stopped = { 1: 7, 2: 8, 3: 9 };
    expect(await find({ parent: stopped, child: { ...stopped, 4: 4 } })).toMatchObject({ step: 3 });
    expect(sameRolloutsText(a, b, 3)).toBe("Same rollouts: before the fork at step 3");
    expect(sameRolloutsText(b, a, 1)).toBe("Same rollouts: before the fork at step 3");
    expect(sameRolloutsText(a, b, 4)).toBe("");
    expect(sameRolloutsText(a, c, 2)).toBe("Same rollouts: before the fork at step 3");
    expect(sameRolloutsText(a, c, 4)).toBe("");
    expect(sameRolloutsText(b, c, 2)).toBe("Same rollouts: before the fork at step 5");
    expect(sameRolloutsText(a, a, 2)).toBe("");
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
