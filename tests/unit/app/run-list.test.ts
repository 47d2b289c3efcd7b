/** The list of runs: filters, groups, what a run changed, and what a fork takes from the page. */
import { expect, it } from "vitest";
import {
  fitsFilter,
  grouped,
  runChanges,
  tagFilter,
  unknownConditions,
} from "../../../src/app/screens/runs/run-list.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import { type LabConfig, SETTINGS } from "../../../src/engine/config/table.ts";
import type { RunDigest } from "../../../src/engine/runs/library/digest.ts";
import { chosenSettings, forkableChanges } from "../../../src/plugins/fork/fork-form.tsx";
import { manifest } from "../runs/sample-run.ts";

const demo = presetConfig("demo");
const run = (id: string, tags: readonly string[] = [], changes: Partial<LabConfig> = {}): RunDigest =>
  ({
    manifest: manifest(id, { title: id.replace("-", " "), config: { ...demo, ...changes }, state: "paused" }),
    notes: { text: "The run of the page", tags, steps: [] },
  }) as unknown as RunDigest;

it("fits a filter whose every word occurs or whose conditions hold", () => {
  const otter = run("brave-otter", ["Long captions"], { beta: 0.25 });
  for (const text of ["", "otter PAGE", 'tag:"long captions"', "state:stopped beta=0.25", "shapes"]) {
    expect(fitsFilter(otter, text), text).toBe(true);
  }
  for (const text of ["otter heron", "tag:long", "state:finished", "beta=0.2", "numGenerations=7"]) {
    expect(fitsFilter(otter, text), text).toBe(false);
  }
  expect(fitsFilter(otter, tagFilter("Long captions"))).toBe(true);
});

it("names the words of a filter that are written like conditions and are none", () => {
  expect(unknownConditions('otter tag:x state:stopped state:paused beta=0.1 tag:"long captions"')).toEqual([]);
  expect(unknownConditions("betta=0.1 label:x state:over beta:0.1 otter")).toEqual([
    ...["betta=0.1", "label:x", "state:over", "beta:0.1"],
  ]);
  // They are searched as text all the same.
  const odd = run("label:x");
  expect(fitsFilter(odd, "label:x")).toBe(true);
  expect(fitsFilter(odd, "label:y")).toBe(false);
});

it("is grouped by its first tag, in the order of the list", () => {
  const runs = [run("a", ["x", "y"]), run("b"), run("c", ["x"])];
  const names = (by: "none" | "tag") =>
    grouped(runs, by).map(([name, own]) => [name, own.map((one) => one.manifest.id)]);
  expect(names("tag")).toEqual([
    ["x", ["a", "c"]],
    ["no tag", ["b"]],
  ]);
  expect(names("none")).toEqual([["", ["a", "b", "c"]]]);
});

it("tells a custom reward by its name, never by code or hash", () => {
  const hash = "0123456789abcdef".repeat(4);
  const named = manifest("a", {
    config: { ...demo, userReward: "// Short captions\nfunction reward() {}", userRewardHash: hash },
  });
  const bare = manifest("b", { config: { ...demo, userReward: "function reward(rollout) { return 1 }" } });
  const told = (one: typeof named, before: typeof named) =>
    runChanges(one, before).filter(({ label }) => label.startsWith("Custom reward"));
  expect(told(named, manifest("c", { config: demo }))).toEqual([
    { label: "Custom reward", before: "empty", after: "Short captions" },
  ]);
  const edited = manifest("d", { config: { ...bare.config, userReward: "function reward() { return 2 }" } });
  expect(told(edited, bare)).toEqual([{ label: "Custom reward", before: "custom function", after: "edited" }]);
});

it("lists first what a run is rewarded for and learns from, and last its length", () => {
  const config = {
    ...demo,
    steps: demo.steps + 1,
    seed: 9,
    learningRate: 0.5,
    beta: 0.3,
    loops: "1",
    loop1Meteor: 0.5,
  } as const;
  expect(runChanges(manifest("a", { config }), manifest("b", { config: demo })).map(({ label }) => label)).toEqual(
    (["loop1Meteor", "loops", "beta", "learningRate", "seed", "steps"] as const).map((key) => SETTINGS[key].label),
  );
});

it("takes from the page what a fork can change, a custom reward with its hash", () => {
  const page = { ...demo, loop1Iou: 0.8, loraR: 8, steps: 99, userReward: "x", userRewardHash: "y" };
  expect(forkableChanges(demo, page)).toEqual({ changes: ["userReward", "loop1Iou"], fixed: ["loraR"] });
  expect(chosenSettings(page, ["loop1Iou", "userReward"])).toEqual({
    loop1Iou: 0.8,
    userReward: "x",
    userRewardHash: "y",
  });
});
