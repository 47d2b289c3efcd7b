/**
 * The reward bench on the pocket model: its draws are independent of other samples, it can be stopped, and it leaves no
 * tensor.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { nodeWordnet } from "../../scripts/lib/node/node-rows.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { rewardPlan } from "../../src/engine/rewards/composer/plan.ts";
import { rewardScorer } from "../../src/engine/rewards/scorer.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import type { BenchGroup } from "../../src/plugins/reward-bench/bench-group.ts";
import { factsOf } from "../../src/plugins/reward-bench/bench-group.ts";
import { scoredGroup, withAdvantages } from "../../src/plugins/reward-bench/bench-scores.ts";
import { importRollouts } from "../../src/plugins/reward-bench/import-rollouts.ts";
import { benchFromStart } from "../../src/plugins/reward-bench/sample-bench.ts";
import { cheapConfig, openTestLab, type TestLab } from "../support/session.ts";

let lab: TestLab;
let baseline: number;
beforeAll(async () => {
  lab = await openTestLab();
  baseline = memorySnapshot().tensors;
});

async function bench(indices: readonly number[], loops: readonly (1 | 2)[] = [1, 2], seed = 0): Promise<BenchGroup[]> {
  const groups: BenchGroup[] = [];
  const { signal } = new AbortController();
  const config = cheapConfig({ seed, maskPolicy: "candidates", loop1RepetitionCost: 0 });
  const onGroup = (group: BenchGroup): void => void groups.push(group);
  await lab.session.withLab("bench", (bench) => benchFromStart(bench, config, { indices, loops, onGroup }, signal));
  return groups;
}

describe("the reward bench", () => {
  it("samples G captions and all masks of each row, scored with every term, and repeats itself", async () => {
    const groups = await bench([0, 3]);
    expect(groups.map((group) => [group.loop, group.rollouts.length])).toEqual([
      [1, 2],
      [2, 3],
      [1, 2],
      [2, 3],
    ]);
    for (const { rollouts } of groups) {
      for (const { reward, terms } of rollouts) {
        expect(reward).toBeGreaterThanOrEqual(0);
        expect(terms.map((term) => term.name)).toEqual(
          expect.arrayContaining(["iou", "meteor", "confidence", "box", "centre", "length", "repetition", "leak"]),
        );
      }
    }
    // The largest possible gain: of loop 2 the true mask against the greedy one, of loop 1 the best caption against it.
    expect(groups.map(({ bounds }) => bounds?.truth !== undefined)).toEqual([false, true, false, true]);
    for (const { bounds } of groups.filter(({ loop }) => loop === 1)) {
      expect(bounds?.greedy.find(({ name }) => name === "iou")?.value).toBeGreaterThanOrEqual(0);
    }
    for (const { bounds, rollouts } of groups.filter(({ loop }) => loop === 2)) {
      const iou = (terms: readonly { readonly name: string; readonly value: number | null }[] | undefined) =>
        terms?.find(({ name }) => name === "iou")?.value;
      expect(iou(bounds?.truth?.terms)).toBe(1);
      // With candidates, the greedy mask is one of the three actions.
      expect(rollouts.map(({ terms }) => iou(terms))).toContain(iou(bounds?.greedy));
    }
    // The likelihood of the row's caption needs no decoding.
    const shares = groups.map(({ rollouts }) => rollouts.map(({ terms }) => terms.find((t) => t.name === "contrast")));
    expect(shares.map((own) => own.filter((term) => term !== undefined).length)).toEqual([2, 3, 2, 3]);
    for (const term of shares.flat()) if (term?.value != null) expect(term.value >= 0 && term.value <= 1).toBe(true);
    // A row's draws do not depend on which other rows are sampled.
    expect(await bench([3])).toEqual(groups.slice(2));
    expect(memorySnapshot().tensors).toBe(baseline);
  });

  it("draws other captions for another row and another seed", async () => {
    const captions = (groups: readonly BenchGroup[]) =>
      groups.map((group) => group.rollouts.map((rollout) => rollout.completion).join("|"));
    const many = captions(await bench([0, 3, 5, 7], [1]));
    expect(new Set(many).size).toBeGreaterThan(1);
    expect(captions(await bench([0, 3, 5, 7], [1], 1))).not.toEqual(many);
  });

  it("stops when asked, keeps what is there, and lets nothing else in meanwhile", async () => {
    const stop = new AbortController();
    const groups: BenchGroup[] = [];
    const onGroup = (group: BenchGroup): void => {
      groups.push(group);
      stop.abort();
    };
    const work = lab.session.withLab("bench", (bench) =>
      benchFromStart(bench, cheapConfig(), { indices: [0, 1, 2, 3], loops: [1], onGroup }, stop.signal),
    );
    await expect(lab.start()).rejects.toThrow("The reward bench is sampling");
    await expect(work).rejects.toMatchObject({ code: "cancelled" });
    expect(groups).toHaveLength(1);
    expect(memorySnapshot().tensors).toBe(baseline);
    const run = await lab.start({ steps: 1 });
    expect(await run.done).toBe("finished");
  });
});

describe("rollouts of a stored run", () => {
  it.each([
    ["candidates", "batch", "sum_then_normalize"],
    ["field", "batch", "sum_then_normalize"],
    ["field", "group", "normalize_then_sum"],
  ] as const)(
    "get the means and advantages the run gave (%s, %s, %s)",
    async (maskPolicy, scaleRewards, multiObjectiveAggregation) => {
      const changes = {
        maskPolicy,
        scaleRewards,
        multiObjectiveAggregation,
        loop2Iou: 1,
        steps: 2,
        promptsPerStep: 2,
        numGenerations: 3,
      } as const;
      const run = await lab.start(changes);
      expect(await run.done).toBe("finished");
      const { id, config } = run.manifest;
      const scorer = rewardScorer({ wordnet: await nodeWordnet() });
      let spread = 0;
      for (const step of [1, 2]) {
        const stored = await (await openRun(lab.store, id)).readGroups(step);
        const path = `${id}/rollouts/step-00000${step}.arrow`;
        const imported = await importRollouts(await lab.store.read(path), path);
        expect(imported).toHaveLength(stored.length);
        const scored = [];
        for (const group of imported) {
          const facts = group.rollouts.map((rollout) => factsOf(group.loop, rollout));
          scored.push(scoredGroup(group, await scorer.scoreGroup(facts, rewardPlan(config)), config));
        }
        const together = withAdvantages(scored, config);
        for (const [at, group] of imported.entries()) {
          const before = stored[at];
          const after = together[at] as (typeof together)[number];
          expect(group.probabilities === null).toBe(group.loop === 1 || maskPolicy === "field");
          expect(after.rollouts.map(({ reward }) => reward)).toEqual(before?.rollouts.map(({ reward }) => reward));
          expect(after.rewardMean).toBeCloseTo(before?.rewardMean ?? Number.NaN, 12);
          expect(after.rewardStd).toBeCloseTo(before?.rewardStd ?? Number.NaN, 12);
          for (const [n, { advantage }] of after.rollouts.entries()) {
            expect(advantage).toBeCloseTo(before?.rollouts[n]?.advantage ?? Number.NaN, 9);
          }
          if (group.loop === 2 && before?.zeroSpread === false) spread++;
        }
      }
      expect(spread, "groups that tell weighted from plain means").toBeGreaterThan(0);
    },
  );
});
