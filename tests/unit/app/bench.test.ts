/** The reward bench's logic, with files and scores by the engine's own code; the test replaces the trainer. */
import { readFile } from "node:fs/promises";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { rewardScorer } from "../../../src/engine/rewards/scorer.ts";
import { parseWordnet } from "../../../src/engine/rewards/wordnet.ts";
import { type BenchGroup, rolloutOf, UNSCORED } from "../../../src/plugins/reward-bench/bench-group.ts";
import { scoredGroup } from "../../../src/plugins/reward-bench/bench-scores.ts";
import { addBenchGroup, isOutdated, useBench } from "../../../src/plugins/reward-bench/bench-store.ts";
import { benchWork } from "../../../src/plugins/reward-bench/bench-work.ts";
import { importRollouts } from "../../../src/plugins/reward-bench/import-rollouts.ts";

const table = new Uint8Array(await readFile(new URL("../../../public/wordnet/wordnet30.txt", import.meta.url)));
const scorer = rewardScorer({ wordnet: parseWordnet(table) });

let settings: LabConfig;
/** Scorings that wait; null lets them through. */
let held: (() => void)[] | null;
/** Groups that were asked about. */
let asked: number;
/** How the current sampling ends. */
let trainer: { readonly resolve: () => void; readonly reject: (cause: LabError) => void };
let stops: number;

const work = benchWork({
  session: () => ({ config: settings, model: { name: "pocket" } }),
  sample: () =>
    new Promise((resolve, reject) => {
      trainer = { resolve, reject };
    }),
  stop: () => void stops++,
  rollouts: async (file) => importRollouts(new Uint8Array(await file.arrayBuffer()), file.name),
  async scoreGroup(group, plan) {
    asked++;
    if (held !== null) await new Promise<void>((resolve) => held?.push(resolve));
    return scorer.scoreGroup(group, plan);
  },
  begin: (config) => scorer.begin(config),
});

beforeEach(() => {
  settings = { ...defaultConfig(), judge: "off", loop2Meteor: 1, loop2Judge: 0 };
  held = null;
  asked = 0;
  stops = 0;
  useBench.setState(useBench.getInitialState(), true);
});

const change = (values: Partial<LabConfig>): void => {
  settings = { ...settings, ...values };
};
const cancelled = (): void => trainer.reject(new LabError("cancelled", "The bench was stopped"));
const bench = () => useBench.getState();

/** A file of `count` groups of two captions: one is its reference, one is not. */
function file(count: number, name = "other.jsonl"): File {
  const lines = Array.from({ length: count }, (_, at) =>
    ["a red car", "something else"].map((caption) =>
      JSON.stringify({ row: `${name} ${at}`, loop: 2, caption, reference: "a red car" }),
    ),
  );
  return new File([lines.flat().join("\n")], name);
}

/** As the trainer would return it: scored with the settings that it was given. */
function sampled(key: string, reward = 0.25): BenchGroup {
  const facts = {
    loop: 2 as const,
    reference: "a red car",
    caption: "a red car",
    given: null,
    predicted: null,
    confidence: null,
    truncated: false,
  };
  const rollouts = [rolloutOf(facts, { id: `${key} 0`, index: 0, rowId: key, imageId: "", completion: "" })];
  return scoredGroup(
    {
      ...UNSCORED,
      key,
      batch: "",
      step: 0,
      loop: 2,
      group: 0,
      rowId: key,
      imageId: null,
      probabilities: null,
      rollouts,
    },
    [{ reward, terms: [] }],
    settings,
  );
}

const rewardsOf = (groups: readonly BenchGroup[]): (number | null)[] =>
  groups.flatMap(({ rollouts }) => rollouts.map(({ reward }) => reward));
const untilHeld = (): Promise<void> => vi.waitFor(() => expect(held?.length).toBeGreaterThan(0));
function letThrough(): void {
  const waiting = held ?? [];
  held = null;
  for (const resume of waiting) resume();
}

describe("newer work", () => {
  it("that samples takes the place of a file that is scored: no group of it comes, none that was sampled goes", async () => {
    held = [];
    const importing = work.take(file(3));
    await untilHeld();
    const sampling = work.sample([0, 1], [2]);
    addBenchGroup(sampled("one"));
    letThrough();
    await importing;
    addBenchGroup(sampled("two"));
    trainer.resolve();
    await sampling;
    expect(bench().groups.map(({ key }) => key)).toEqual(["one", "two"]);
    expect(bench()).toMatchObject({ state: "idle", source: "pocket", problem: null, done: 2, total: 2 });
  });

  it("that takes a file ends a sampling, whose late groups are left out", async () => {
    const sampling = work.sample([0, 1], [2]);
    addBenchGroup(sampled("one"));
    await work.take(file(2));
    expect(stops).toBe(1);
    addBenchGroup(sampled("late"));
    cancelled();
    await sampling;
    expect(bench().groups.map(({ rowId }) => rowId)).toEqual(["other.jsonl 0", "other.jsonl 1"]);
    expect(bench()).toMatchObject({ state: "idle", source: "other.jsonl", problem: null });
  });

  it("that takes a file ends the one before it", async () => {
    held = [];
    const first = work.take(file(2, "first.jsonl"));
    await untilHeld();
    const second = work.take(file(1, "second.jsonl"));
    letThrough();
    await Promise.all([first, second]);
    expect(bench()).toMatchObject({ state: "idle", source: "second.jsonl" });
    expect(bench().groups.map(({ rowId }) => rowId)).toEqual(["second.jsonl 0"]);
  });
});

describe("settings the groups are scored with", () => {
  it("are those at the beginning of the sampling, so that a change meanwhile is caught up on", async () => {
    const sampling = work.sample([0], [2]);
    change({ loop2Meteor: 2 });
    addBenchGroup(sampled("one"));
    expect(isOutdated(bench(), settings)).toBe(false);
    trainer.resolve();
    await sampling;
    expect(isOutdated(bench(), settings)).toBe(true);
    await work.rescore(settings);
    expect(isOutdated(bench(), settings)).toBe(false);
    expect(rewardsOf(bench().groups)[0]).toBeCloseTo(2 * (1 - 0.5 / 27), 12);
  });

  it("are known however long ago a change was", async () => {
    await work.take(file(1));
    expect(isOutdated(bench(), settings)).toBe(false);
    const [best] = rewardsOf(bench().groups);
    change({ loop2Meteor: 3 });
    expect(isOutdated(bench(), settings)).toBe(true);
    await work.rescore(settings);
    expect(rewardsOf(bench().groups)[0]).toBeCloseTo(3 * (best as number), 12);
  });

  it("that change during an import wait for it instead of ending it", async () => {
    await work.take(file(1, "old.jsonl"));
    held = [];
    const importing = work.take(file(2));
    await untilHeld();
    change({ loop2Meteor: 2 });
    expect(isOutdated(bench(), settings)).toBe(false);
    await work.rescore(settings);
    letThrough();
    await importing;
    expect(bench()).toMatchObject({ source: "other.jsonl", state: "idle" });
    expect(isOutdated(bench(), settings)).toBe(true);
  });

  it("that cannot score are tried once, and the sentence stays", async () => {
    await work.take(file(1));
    const before = bench().groups;
    change({ loop2User: 1 });
    await work.rescore(settings);
    expect(bench().problem).toMatch(/The custom reward has a weight but no function/);
    expect(bench().groups).toBe(before);
    expect(isOutdated(bench(), settings)).toBe(false);
  });

  it("are not known after a scoring that a refused file cut short", async () => {
    await work.take(file(1));
    change({ loop2Meteor: 2 });
    held = [];
    const scoring = work.rescore(settings);
    await untilHeld();
    await work.take(new File(["{"], "no.jsonl"));
    letThrough();
    await scoring;
    expect(bench()).toMatchObject({ source: "other.jsonl", state: "idle" });
    expect(bench().problem).toMatch(/^no\.jsonl, line 1/);
    expect(isOutdated(bench(), settings)).toBe(true);
  });
});

describe("a stop", () => {
  it.each(["judge", "file"] as const)("of the %s takes effect at once and keeps what was there", async (what) => {
    await work.take(file(3));
    const before = bench().groups;
    held = [];
    const going = what === "judge" ? work.judge() : work.take(file(4, "next.jsonl"));
    expect(bench().state).toBe(what === "judge" ? "judging" : "importing");
    await untilHeld();
    const askedBefore = asked;
    work.stop();
    expect(bench().state).toBe("idle");
    letThrough();
    await going;
    expect(bench().groups).toBe(before);
    expect(bench()).toMatchObject({ state: "idle", source: "other.jsonl" });
    expect(bench().problem).toMatch(/^Scoring was stopped; groups and rewards were not changed/);
    // No further group is requested.
    expect(asked).toBe(askedBefore);
    expect(isOutdated(bench(), settings)).toBe(false);
  });

  it("before the judge is open asks it nothing", async () => {
    await work.take(file(2));
    const going = work.judge();
    const before = asked;
    work.stop();
    await going;
    expect(asked).toBe(before);
    expect(bench().state).toBe("idle");
  });

  it("of a sampling is over when the trainer says so", async () => {
    const sampling = work.sample([0, 1], [2]);
    addBenchGroup(sampled("one"));
    work.stop();
    expect(bench().state).toBe("sampling");
    cancelled();
    await sampling;
    expect(bench()).toMatchObject({ state: "idle", problem: null });
    expect(bench().groups).toHaveLength(1);
    expect(isOutdated(bench(), settings)).toBe(false);
  });
});
