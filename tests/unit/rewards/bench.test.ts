/** Numbers of the bench worked by hand, and files of other programs. */
import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { encodeRle } from "../../../src/engine/data/mask/rle.ts";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import { groupsToArrow } from "../../../src/engine/runs/rollouts/rollouts-arrow.ts";
import { type BenchGroup, factsOf, rolloutOf, UNSCORED } from "../../../src/plugins/reward-bench/bench-group.ts";
import { withOpenRow } from "../../../src/plugins/reward-bench/bench-rows.ts";
import { scoredGroup } from "../../../src/plugins/reward-bench/bench-scores.ts";
import { grown, paintLine } from "../../../src/plugins/reward-bench/brush.ts";
import { importRollouts } from "../../../src/plugins/reward-bench/import-rollouts.ts";
import {
  correlation,
  histogram,
  inBin,
  measureOf,
  measuresOf,
  rankGroups,
  summarise,
} from "../../../src/plugins/reward-bench/statistics.ts";
import { group as record } from "../runs/sample-run.ts";

const FACTS = {
  loop: 1,
  reference: "a",
  caption: "b",
  given: null,
  predicted: null,
  confidence: null,
  truncated: false,
} as const;

/** A group whose rewards and whose term "x" are given. */
function group(key: string, rewards: readonly (number | null)[], x: readonly (number | null)[] = rewards): BenchGroup {
  const unscored = {
    ...UNSCORED,
    key,
    batch: "",
    step: 0,
    loop: 1 as const,
    group: 0,
    rowId: key,
    imageId: null,
    probabilities: null,
    rollouts: rewards.map((_, at) =>
      rolloutOf(FACTS, { id: `${key}${at}`, index: at, rowId: key, imageId: "", completion: "" }),
    ),
  };
  const scores = rewards.map((reward, at) => ({ reward, terms: [{ name: "x", value: x[at] ?? null, weight: 1 }] }));
  return scoredGroup(unscored, scores, { ...defaultConfig(), advantageEps: 0 });
}

const factsIn = (group: BenchGroup | undefined, at = 0) => {
  const rollout = group?.rollouts[at];
  return group === undefined || rollout === undefined ? undefined : factsOf(group.loop, rollout);
};

describe("numbers of the bench", () => {
  const groups = [group("a", [0, 1, null]), group("b", [0.5, 0.5]), group("c", [null, null])];

  it("sum up a measure, missing values apart", () => {
    const summary = summarise(groups, "reward");
    expect(summary).toMatchObject({ count: 4, missing: 3, mean: 0.5, min: 0, max: 1 });
    expect(summary.std).toBeCloseTo(Math.sqrt(0.5 / 3), 12);
    expect(summary.withinStd).toBeCloseTo(Math.sqrt(0.5) / 2, 12);
    expect(summary.flatShare).toBeCloseTo(2 / 3, 12);
    expect(summarise([], "reward")).toMatchObject({ count: 0, mean: Number.NaN, flatShare: Number.NaN });
  });

  it("count every value in one bin", () => {
    const bins = histogram(groups, "reward", 4);
    expect(bins.map((bin) => bin.count)).toEqual([1, 0, 2, 1]);
    const values = groups.flatMap((own) => own.rollouts.map((rollout) => measureOf(rollout, "reward")));
    const inside = bins.map((bin, at) => values.filter((value) => inBin(value, bin, at === 3)).length);
    expect(inside).toEqual([1, 0, 2, 1]);
    expect(histogram([group("d", [2, 2])], "reward", 4)).toEqual([{ from: 2, to: 2, count: 2 }]);
    expect(histogram([group("d", [null])], "reward", 4)).toEqual([]);
    // Values at the edges of bins, where rounding decides.
    const edges = Array.from({ length: 30 }, (_, at) => at * 0.1 * 0.3 + 0.1);
    const fine = histogram([group("e", edges)], "reward", 29);
    const listed = fine.map((bin, at) => edges.filter((value) => inBin(value, bin, at === 28)).length);
    expect(fine.map((bin) => bin.count)).toEqual(listed);
  });

  it("tell correlation inside groups from that over all", () => {
    // Inside each group x falls as the reward rises; between the groups both rise.
    const turned = [group("a", [0, 0.1], [1, 0.9]), group("b", [1, 1.1], [2, 1.9])];
    expect(correlation(turned, "reward", "x", true)).toBeCloseTo(-1, 9);
    expect(correlation(turned, "reward", "x", false)).toBeGreaterThan(0.9);
    expect(correlation(turned, "reward", "reward", true)).toBeCloseTo(1, 12);
    expect(correlation([group("a", [0, 1], [3, 3])], "reward", "x", false)).toBeNull();
    expect(
      correlation([group("a", [0.1, 0.1], [0, 1]), group("b", [0.7, 0.7], [0, 1])], "reward", "x", true),
    ).toBeNull();
    expect(correlation([group("a", [0, 1])], "reward", "none", false)).toBeNull();
  });

  it("rank groups, those without a reward last either way", () => {
    const keys = (order: Parameters<typeof rankGroups>[1]) => rankGroups(groups, order).map((own) => own.key);
    expect(keys("best")).toEqual(["a", "b", "c"]);
    expect(keys("widest")).toEqual(["a", "b", "c"]);
    expect(keys("flattest")).toEqual(["b", "a", "c"]);
    expect(measuresOf(groups)).toEqual(["reward", "x"]);
  });

  it("give the advantages a run would", () => {
    const [first] = groups;
    const advantages = first?.rollouts.map((rollout) => rollout.advantage) ?? [];
    for (const [at, expected] of [-Math.SQRT1_2, Math.SQRT1_2, 0].entries())
      expect(advantages[at]).toBeCloseTo(expected, 12);
    expect(groups[1]).toMatchObject({ zeroSpread: true, rewardStd: 0 });
    expect(groups[2]).toMatchObject({ zeroSpread: true, rewardMean: Number.NaN });
  });
});

describe("a file of rollouts", () => {
  const bytes = (...lines: readonly unknown[]) =>
    new TextEncoder().encode(lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  const mask = encodeRle([1, 0, 0, 1], 2, 2);

  it("of JSON lines becomes groups by row, loop and group, in order", async () => {
    const groups = await importRollouts(
      bytes(
        { row: "r1", caption: "one", reference: "the one", given: mask, predicted: mask, confidence: 0.5 },
        { row: "r2", loop: 2, caption_prime: "two", row_id: "x" },
        "",
        { row: "r1", caption: "uno", truncated: true },
        { row: "r1", group: "b", mask },
      ),
      "f.jsonl",
    );
    expect(groups.map((own) => [own.rowId, own.loop, own.rollouts.length])).toEqual([
      ["r1", 1, 2],
      ["r2", 2, 1],
      ["r1", 1, 1],
    ]);
    expect(factsIn(groups[0])).toEqual({
      loop: 1,
      reference: "the one",
      caption: "one",
      given: mask,
      predicted: mask,
      confidence: 0.5,
      truncated: false,
    });
    expect(factsIn(groups[0], 1)).toMatchObject({ given: null, reference: null, truncated: true });
    expect(factsIn(groups[1])?.caption).toBe("two");
  });

  it("of a stored run is read as it stands", async () => {
    const records = [record(1, 1, 0), record(1, 2, 1)];
    const groups = await importRollouts(groupsToArrow(records), "rollouts.arrow");
    expect(groups.map((own) => own.rollouts.length)).toEqual(records.map((own) => own.rollouts.length));
    const [first] = records[0]?.rollouts ?? [];
    expect(factsIn(groups[0])).toMatchObject({
      reference: first?.referenceCaption,
      given: first?.givenMask,
      predicted: first?.predictedMask,
    });
  });

  it("keeps the name of the picture, and takes nothing from an open row with another one", async () => {
    const stored = (await importRollouts(groupsToArrow([record(1, 1, 0)]), "rollouts.arrow"))[0] as BenchGroup;
    expect(stored).toMatchObject({ rowId: "a/b.arrow#0", imageId: "f00" });
    const line = { row: "a/b.arrow#0", predicted: mask };
    const [named, numbered, bare] = await importRollouts(
      bytes(
        { ...line, group: 1, image_id: "0123456789abcdef" },
        { ...line, group: 2, image_id: 4711 },
        { ...line, group: 3 },
      ),
      "f.jsonl",
    );
    expect([named, numbered, bare].map((own) => own?.imageId)).toEqual(["0123456789abcdef", null, null]);

    const open = (imageId: string) => [
      { id: "a/b.arrow#0", imageId, caption: "of another set", mask } as RegionSummary,
    ];
    const facts = (group: BenchGroup | undefined, imageId: string) =>
      factsIn(withOpenRow(group as BenchGroup, open(imageId)));
    expect(facts(named, "fedcba9876543210")).toMatchObject({ reference: null, given: null });
    expect(facts(named, "0123456789abcdef")).toMatchObject({ reference: "of another set", given: mask });
    expect(facts(bare, "fedcba9876543210")).toMatchObject({ reference: "of another set", given: mask });
    const scores = stored.rollouts.map(() => ({ reward: 0, terms: [] }));
    expect(scoredGroup(stored, scores, defaultConfig()).imageId).toBe("f00");
  });

  it.each([
    [["{"], "f.jsonl, line 1: it is not valid JSON"],
    [[{ caption: "a" }, "[1]"], "line 2: it is not a JSON object"],
    [[{ row: "a" }], "there is neither a caption nor a predicted mask"],
    [[{ caption: "a", loop: 9 }], "loop is 9"],
    [[{ caption: 5 }], "caption is not a text"],
    [[{ mask: { size: [2, 2], counts: "~" } }], "mask: mask text has the character"],
    [[{ given: mask, predicted: encodeRle([1], 1, 1) }], "sizes 2 x 2 and 1 x 1"],
    [[{ caption: "a", confidence: 2 }], "confidence is not a number from 0 to 1"],
    [[""], "f.jsonl contains no rollouts"],
  ])("that is wrong is refused with its line: %j", async (lines, message) => {
    await expect(importRollouts(bytes(...lines), "f.jsonl")).rejects.toThrow(message);
  });
});

describe("the brush", () => {
  const rows = (pixels: Uint8Array, width: number) =>
    Array.from({ length: pixels.length / width }, (_, y) => pixels.slice(y * width, (y + 1) * width).join(""));

  it("paints and erases along a line and stays inside the picture", () => {
    const pixels = new Uint8Array(15);
    paintLine(pixels, 5, 3, [-3, 1.5], [9, 1.5], 0.6, 1);
    expect(rows(pixels, 5)).toEqual(["00000", "11111", "00000"]);
    paintLine(pixels, 5, 3, [2.5, 1.5], [2.5, 1.5], 0.6, 0);
    expect(rows(pixels, 5)).toEqual(["00000", "11011", "00000"]);
  });

  it("grows and shrinks by a pixel on a small picture", () => {
    const dot = Uint8Array.from([0, 0, 0, 0, 1, 0, 0, 0, 0]);
    const cross = grown(dot, 3, 3, 1);
    expect(rows(cross, 3)).toEqual(["010", "111", "010"]);
    expect(grown(cross, 3, 3, -1)).toEqual(dot);
  });
});
