import { describe, expect, it } from "vitest";
import { NOTHING_READ, type ScanProgress, scanGroups, unreadText } from "../../../src/app/clients/run/run-reads.ts";
import { clampView, zoomAt } from "../../../src/app/components/mask/use-gestures.ts";
import {
  compareMasks,
  differencePair,
  figureLabel,
  filterCount,
  filterGroups,
  filterText,
  groupTracks,
  layersOf,
  limitOf,
  NO_FILTER,
  parseFilter,
  parseLayers,
  rewardName,
  rewardSum,
  rewardText,
  shortRow,
  sortRollouts,
  weightText,
} from "../../../src/app/components/rollout/rollout-view.ts";
import { previousRun, runChanges } from "../../../src/app/screens/runs/run-list.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import { encodeRle } from "../../../src/engine/data/mask/rle.ts";
import { aboutLoop } from "../../../src/engine/rl/loops/abouts.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import type { ActionRecord, GroupRecord, RolloutRecord } from "../../../src/engine/runs/rollouts/records.ts";
import { gridOf, measureStrength } from "../../../src/plugins/rollout-tools/action-colour.ts";
import { diffWords } from "../../../src/plugins/rollout-tools/caption-difference.tsx";
import { edgeDecimals, rewardBins } from "../../../src/plugins/whole-run/reward-histogram.tsx";
import { rolloutColumns, sortByColumn } from "../../../src/plugins/whole-run/rollout-table.tsx";

const mask = (...rows: string[]) =>
  encodeRle(
    Uint8Array.from(rows.join(""), (character) => Number(character === "#")),
    rows.length,
    rows[0]?.length ?? 0,
  );

const GIVEN = mask("##..", "##..");
const ANSWER = mask(".##.", ".##.");

function rollout(change: Partial<RolloutRecord> = {}): RolloutRecord {
  return {
    id: "1-1-0-0",
    step: 1,
    loop: 1,
    group: 0,
    index: 0,
    rowId: "a#1",
    imageId: "i",
    prompt: "",
    completion: "a red cup",
    caption: "a red cup",
    referenceCaption: "a blue cup",
    captionPrime: null,
    givenMask: GIVEN,
    predictedMask: ANSWER,
    greedyMask: null,
    reward: 0.5,
    terms: [],
    advantage: 0,
    actions: [],
    truncated: false,
    ...change,
  };
}

function group(rollouts: readonly RolloutRecord[], change: Partial<GroupRecord> = {}): GroupRecord {
  return {
    step: 1,
    loop: 1,
    group: 0,
    rowId: "a#1",
    rewardMean: 0,
    rewardStd: 1,
    zeroSpread: false,
    rollouts,
    ...change,
  };
}

const action = (label: string, change: Partial<ActionRecord> = {}): ActionRecord => ({
  label,
  id: 0,
  logp: -1,
  samplingLogp: -1,
  refLogp: null,
  ratio: 1,
  kl: null,
  entropy: 0,
  clipped: false,
  ...change,
});

describe("word difference", () => {
  const told = (reference: string, text: string): string =>
    diffWords(reference, text)
      .map(({ text: word, kind }) => ({ same: "", added: "+", removed: "-" })[kind] + word)
      .join(" ");

  it("marks a replaced word as removed, then added", () => {
    expect(told("a blue cup", "a red cup")).toBe("a -blue +red cup");
  });

  it("compares without case and punctuation and shows the new text", () => {
    expect(told("A cup, on a table.", "a cup on a table")).toBe("a cup on a table");
  });

  it("handles empty texts on either side", () => {
    expect(told("", "two words")).toBe("+two +words");
    expect(told("two words", "")).toBe("-two -words");
    expect(told("", "")).toBe("");
  });

  it("rebuilds both texts", () => {
    const [reference, text] = ["the quick brown fox jumps over the dog", "the brown dog jumps over a quick fox"];
    const diff = diffWords(reference, text);
    const without = (kind: string): string =>
      diff
        .filter((word) => word.kind !== kind)
        .map((word) => word.text)
        .join(" ");
    expect(without("removed")).toBe(text);
    expect(without("added")).toBe(reference);
  });
});

describe("a rollout of loop 2", () => {
  const QUIET = mask("##..", "#...");
  const noisy = {
    loop: 2,
    predictedMask: ANSWER,
    greedyMask: QUIET,
    actions: [action("cell 0,0"), action("cell 0,1")],
  } as const;

  it("is drawn without exploration noise, the sampled mask as a faint outline", () => {
    const drawn = layersOf(rollout(noisy), parseLayers(null));
    expect(drawn).toEqual([
      { role: "given", mask: GIVEN },
      { role: "policy", mask: QUIET },
      { role: "policy", mask: ANSWER, colour: "#FFFFFF", faint: true },
    ]);
    expect(differencePair(rollout(noisy), new Set(["difference"]))).toEqual([GIVEN, QUIET]);
    expect(figureLabel(rollout(noisy))).toBe(
      "rollout 1, IoU 0.75, mask without exploration noise covers 38 % of the picture",
    );
    expect(rewardName(rollout(noisy))).toMatch(/sampled mask/);
    expect(groupTracks([rollout(noisy)], null)[0]?.mask).toBe(QUIET);
  });

  it("before its step is computed, too", () => {
    expect(layersOf(rollout({ ...noisy, actions: [] }), new Set(["answer"]))).toEqual([
      { role: "policy", mask: QUIET },
    ]);
  });

  it.each([
    ["candidate 2", {}],
    ["proposal 3", {}],
    ["an unfinished step", { actions: [], chosen: true } as const],
  ])("is the chosen mask of a policy that adds no noise: %s", (label, change) => {
    const own = rollout({ ...noisy, actions: [action(label)], ...change });
    expect(layersOf(own, parseLayers(null)).map(({ mask }) => mask)).toEqual([GIVEN, ANSWER]);
    expect(rewardName(own)).toBe("Reward");
  });

  it("of a run without that mask is drawn as it was sampled", () => {
    const own = rollout({ ...noisy, greedyMask: null });
    expect(layersOf(own, parseLayers(null)).map(({ mask }) => mask)).toEqual([GIVEN, ANSWER]);
  });
});

describe("what a rollout shows", () => {
  it("counts pixels of the comparison", () => {
    expect(compareMasks(rollout())).toEqual({ intersection: 2, union: 6, missed: 2, extra: 2, iou: 2 / 6 });
    expect(compareMasks(rollout({ predictedMask: null }))).toBeNull();
  });

  it("names its picture in words", () => {
    expect(figureLabel(rollout({ index: 2 }))).toBe("rollout 3, IoU 0.33, mask covers 50 % of the picture");
    expect(figureLabel(rollout({ predictedMask: null }))).toBe("rollout 1, no mask");
    // A small mask is not none.
    const small = rollout({ predictedMask: mask("#".padEnd(16, "."), ...Array<string>(15).fill(".".repeat(16))) });
    expect(figureLabel(small)).toMatch(/mask covers 0\.4 % of the picture$/);
    const shown = rolloutColumns([small]).find(({ id }) => id === "area")?.shown;
    expect([small, rollout({ predictedMask: null })].map((one) => shown?.(one))).toEqual(["0.4 %", "–"]);
    // Reward and IoU beside it belong to the sampled mask.
    const noisy = { ...small, loop: 2 as const, greedyMask: mask("##", "##") };
    expect(shown?.(noisy)).toBe("0.4 %");
  });

  it("writes a weight so that its product with the value can be checked", () => {
    expect([1, 0.5, -0.3, 0.125, 0.004].map(weightText)).toEqual(["1.00", "0.50", "−0.30", "0.1250", "0.0040"]);
  });

  it("shows the layers that are on and exist, the answer by who made it", () => {
    const on = parseLayers(["given", "answer", "sampled", "nonsense"]);
    expect(layersOf(rollout(), on).map(({ role }) => role)).toEqual(["given", "partner"]);
    expect(layersOf(rollout({ loop: 2 }), on).map(({ role }) => role)).toEqual(["given", "policy"]);
    expect([...parseLayers(null)]).toEqual(["given", "answer", "sampled"]);
  });

  it("compares only masks of one size", () => {
    const on = parseLayers(["difference"]);
    expect(differencePair(rollout(), on)).toEqual([GIVEN, ANSWER]);
    expect(differencePair(rollout({ predictedMask: mask("#") }), on)).toBeNull();
    expect(differencePair(rollout(), parseLayers(["given"]))).toBeNull();
  });

  it("sorts best first with missing rewards last, or as drawn", () => {
    const list = [0.2, null, 0.9].map((reward, index) => rollout({ index, reward }));
    expect(sortRollouts(list, "reward").map(({ index }) => index)).toEqual([2, 0, 1]);
    expect(sortRollouts([...list].reverse(), "index").map(({ index }) => index)).toEqual([0, 1, 2]);
    const none = [0.2, Number.NaN, 0.9].map((reward, index) => rollout({ index, reward }));
    expect(sortRollouts(none, "reward").map(({ index }) => index)).toEqual([2, 0, 1]);
  });
});

describe("filters", () => {
  const groups = [
    group([rollout({ reward: 0.1, truncated: true }), rollout({ reward: 0.9, caption: "A Horse" })]),
    group([rollout({ loop: 2, reward: null, predictedMask: mask("....") })], { loop: 2, zeroSpread: true }),
  ];

  it.each([
    ["nothing", {}, [1, 2]],
    ["loop", { loop: 2 as const }, [2]],
    ["reward range", { least: 0.8 }, [1]],
    ["reward range without a hit", { least: 0.3, most: 0.6 }, []],
    ["zero spread", { zeroSpread: true }, [2]],
    ["cut off", { truncated: true }, [1]],
    ["empty mask", { emptyMask: true }, [2]],
    ["text", { text: " horse" }, [1]],
  ])("by %s", (_, change, loops) => {
    expect(filterGroups(groups, { ...NO_FILTER, ...change }).map(({ loop }) => loop)).toEqual(loops);
  });

  it.each([
    ["from below 0", { least: -0.2 }, [0, 0.5, 1, 1.5]],
    ["from 0", { least: 0 }, [0, 0.5, 1, 1.5]],
    ["to 1", { most: 1 }, [-0.3, 0, 0.5, 1]],
    ["to above 1", { most: 1.2 }, [-0.3, 0, 0.5, 1]],
    ["to below 0", { most: -0.1 }, [-0.3]],
    ["from 1 to 2", { least: 1, most: 2 }, [1, 1.5]],
    ["missing or not a number", { unscored: true }, [null, Number.NaN]],
  ])("rewards outside 0 to 1 are limited as well: %s", (_, change, kept) => {
    const rewards = [-0.3, 0, 0.5, 1, 1.5, null, Number.NaN];
    const each = rewards.map((reward) => group([rollout({ reward })]));
    const filter = { ...NO_FILTER, ...change };
    expect(filterGroups(each, filter).map(({ rollouts }) => rollouts[0]?.reward)).toEqual(kept);
    expect(filterCount(filter)).toBe(1);
    expect(filterGroups(each, NO_FILTER)).toHaveLength(rewards.length);
  });

  it("reads a limit that was typed, and none while it is NaN", () => {
    expect(["-0.25", "0", "2", "", " ", "-", "1e999"].map(limitOf)).toEqual([-0.25, 0, 2, null, null, null, null]);
    expect(filterCount(NO_FILTER)).toBe(0);
  });
});

describe("actions", () => {
  it("reads cells of a grid and nothing else as a grid", () => {
    const cells = ["cell 0,0", "cell 0,1", "cell 1,0", "cell 2,1"].map((label) => action(label));
    expect(gridOf(cells)).toMatchObject({ rows: 3, columns: 2 });
    expect(gridOf(cells)?.cells.map((cell) => cell?.label ?? null)).toEqual([
      "cell 0,0",
      "cell 0,1",
      "cell 1,0",
      null,
      null,
      "cell 2,1",
    ]);
    expect(gridOf([...cells, action("cup")])).toBeNull();
  });

  it("gives ratios above and below 1 opposite hues, and nothing to what was not measured", () => {
    expect(measureStrength(action("x", { ratio: 1.1 }), "ratio")).toBeGreaterThan(0);
    expect(measureStrength(action("x", { ratio: 0.9 }), "ratio")).toBeLessThan(0);
    expect(measureStrength(action("x"), "kl")).toBe(0);
    expect(measureStrength(action("x", { logp: -100 }), "logp")).toBe(1);
  });
});

describe("zoom", () => {
  it("keeps the point under the pointer and never leaves the picture", () => {
    const zoomed = zoomAt({ zoom: 1, x: 0.5, y: 0.5 }, 4, 0.75, 0.25);
    const under = (p: number, middle: number): number => middle + (p - 0.5) / zoomed.zoom;
    expect(under(0.75, zoomed.x)).toBeCloseTo(0.75, 12);
    expect(under(0.25, zoomed.y)).toBeCloseTo(0.25, 12);
    expect(clampView({ zoom: 0.2, x: 3, y: -1 })).toEqual({ zoom: 1, x: 0.5, y: 0.5 });
  });
});

describe("a scan of groups", () => {
  it("reads newest first, and stops when told", async () => {
    const asked: number[] = [];
    const read = (step: number) => {
      asked.push(step);
      return Promise.resolve([group([], { step })]);
    };
    const stop = new AbortController();
    const seen: number[] = [];
    const found = (groups: () => readonly GroupRecord[]): void => {
      seen.push(groups().at(-1)?.step ?? 0);
      if (seen.length === 2) stop.abort();
    };
    await scanGroups(read, [1, 2, 3], [], found, stop.signal);
    expect(seen).toEqual([3, 2]);
    expect(asked).toEqual([3, 2, 1]);
  });

  it("does not read known steps again, and leaves out dropped ones", async () => {
    const asked: number[] = [];
    const pair = (step: number) => [group([], { step, group: 0 }), group([], { step, group: 1 })];
    const read = async (step: number) => {
      asked.push(step);
      return pair(step);
    };
    const told: (readonly [number, readonly (readonly number[])[]])[] = [];
    await scanGroups(
      read,
      [1, 2, 3, 5],
      [4, 3, 2].flatMap(pair),
      (groups, { done }) => told.push([done, groups().map(({ step, group: at }) => [step, at])]),
      new AbortController().signal,
    );
    expect(asked).toEqual([5, 1]);
    expect(told.map(([done]) => done)).toEqual([2, 3, 4]);
    expect(told.at(-1)?.[1]).toEqual([5, 3, 2, 1].flatMap((step) => [0, 1].map((at) => [step, at])));
  });

  it("continues past steps that cannot be read, and says how many and why", async () => {
    const read = (step: number) =>
      step % 2 === 0 ? Promise.reject(new Error(`step ${step} is cut off`)) : Promise.resolve([group([], { step })]);
    const seen: number[] = [];
    const told: ScanProgress[] = [];
    await scanGroups(
      read,
      [1, 2, 3, 4],
      [],
      (groups, progress) => {
        seen.splice(0, seen.length, ...groups().map(({ step }) => step));
        told.push(progress);
      },
      new AbortController().signal,
    );
    expect(seen).toEqual([3, 1]);
    expect(told.map(({ done, unread }) => [done, unread])).toEqual([
      [1, 1],
      [2, 1],
      [3, 2],
      [4, 2],
    ]);
    expect(told.map(unreadText)).toEqual([
      "1 step could not be read: step 4 is cut off",
      "1 step could not be read: step 4 is cut off",
      "2 steps could not be read: step 4 is cut off",
      "2 steps could not be read: step 4 is cut off",
    ]);
    expect(unreadText(NOTHING_READ)).toBeNull();
  });
});

it("a reward is written as the sum of its terms, without those of 0", () => {
  const terms = [
    { name: "iou", value: 0.88, weight: 1 },
    { name: "meteor", value: 1, weight: 0.5 },
    { name: "box_iou", value: 0.4, weight: 0 },
    { name: "repetition", value: 0.25, weight: -0.3 },
    { name: "judge", value: null, weight: 0.75 },
    { name: "centre", value: 0, weight: 1 },
  ];
  expect(rewardSum(terms)).toBe("IoU 0.88 + 0.50 · METEOR 1.00 − 0.30 · Repetition cost 0.25");
});

describe("still figures", () => {
  it("bins rewards at the ends and leaves missing ones out", () => {
    const bins = rewardBins([group([0, 0.05, 1, null].map((reward) => rollout({ reward })))], 10);
    expect(bins[0]).toMatchObject({ from: 0, to: 0.1, counts: { 1: 2, 2: 0 } });
    expect(bins[9]?.counts[1]).toBe(1);
    // What a bar leads to: the rewards that are in it.
    expect([bins[0]?.within, bins[1]?.within]).toEqual([[0, 0.05], null]);
    expect(bins.reduce((sum, bin) => sum + bin.counts[1] + bin.counts[2], 0)).toBe(3);
  });

  it("bins rewards outside 0 to 1 over the range they have", () => {
    const bins = rewardBins([group([-0.3, -0.21, 1.5, 1.1].map((reward) => rollout({ reward })))], 9);
    expect([bins[0]?.from, bins.at(-1)?.to]).toEqual([-0.3, 1.5]);
    expect(bins.map(({ counts }) => counts[1])).toEqual([2, 0, 0, 0, 0, 0, 0, 1, 1]);
    for (const [at, { to }] of bins.slice(0, -1).entries()) expect(to).toBeCloseTo(bins[at + 1]?.from ?? 0, 12);
    const same = rewardBins([group([3, 3].map((reward) => rollout({ reward })))], 4);
    expect(same.map(({ from, counts }) => [from, counts[1]])).toEqual([
      [2.5, 0],
      [2.75, 0],
      [3, 2],
      [3.25, 0],
    ]);
    const decimals = (low: number, high: number): number =>
      edgeDecimals(rewardBins([group([low, high].map((reward) => rollout({ reward })))], 20));
    expect([decimals(0, 1), decimals(-0.3, 1.5), decimals(1, 1.03), decimals(-300, 400)]).toEqual([2, 2, 3, 0]);
  });
});

describe("a filter in the address", () => {
  it("comes back as it was, with the words as they were typed", () => {
    for (const filter of [
      NO_FILTER,
      { ...NO_FILTER, loop: 2, least: -0.5, truncated: true, text: "red  cup " } as const,
      { ...NO_FILTER, most: 0.25, zeroSpread: true, emptyMask: true, unscored: true },
      { ...NO_FILTER, text: "loop:9 is:red reward:high" },
    ]) {
      expect(parseFilter(filterText(filter))).toEqual(filter);
    }
    expect([filterText(NO_FILTER), filterText({ ...NO_FILTER, loop: 1, least: 0.2, most: 0.4 })]).toEqual([
      null,
      "loop:1 reward:0.2..0.4",
    ]);
  });
});

describe("the table of rollouts", () => {
  const iou = (value: number | null) => [{ name: "iou", value, weight: 1 }];
  const rows = [
    rollout({ id: "a", reward: 0.5, terms: iou(0.5) }),
    rollout({ id: "b", reward: Number.NaN, terms: iou(null) }),
    rollout({ id: "c", reward: 0.9, predictedMask: null }),
    rollout({ id: "d", reward: null, caption: "an apple", completion: "an apple", terms: iou(0.7) }),
  ];
  const columns = rolloutColumns(rows);
  const order = (id: string, descending: boolean): string =>
    sortByColumn(rows, columns.find((column) => column.id === id) as (typeof columns)[number], descending)
      .map((row) => row.id)
      .join("");

  it("has a column for every term that a rollout has", () => {
    expect(columns.map(({ id }) => id)).toContain("term iou");
    expect(columns.find(({ id }) => id === "area")?.shown(rows[0] as RolloutRecord)).toBe("50 %");
  });

  it("sorts numbers and words in both directions, with what is missing last", () => {
    expect([order("reward", true), order("reward", false)]).toEqual(["cabd", "acbd"]);
    expect([order("term iou", true), order("term iou", false)]).toEqual(["dabc", "adbc"]);
    expect(order("text", true)[0]).toBe("d");
  });
});

describe("what changed between runs", () => {
  const manifest = (id: string, created: string, change: Partial<RunManifest> = {}): RunManifest => ({
    format: "sa2va-lab-run/1",
    id,
    title: id,
    created,
    version: "1",
    config: defaultConfig(),
    model: { name: "pocket", hash: "m", parameters: 1, trainableParameters: 1, template: "qwen_chat" },
    data: { name: "rows", rows: 1, trainRows: 1, heldOutRows: 0, hash: "d" },
    adapter: { vendor: "", architecture: "", description: "", software: true },
    state: "finished",
    ...change,
  });
  const first = manifest("a", "2026-01-01T00:00:00Z");
  const second = manifest("b", "2026-01-02T00:00:00Z", {
    config: { ...defaultConfig(), numGenerations: defaultConfig().numGenerations + 2 },
    data: { ...first.data, name: "others", hash: "e" },
  });

  it("lists settings and data that differ, with both values", () => {
    const before = defaultConfig().numGenerations;
    expect(runChanges(second, first).map(({ before: was, after }) => [was, after])).toEqual([
      [String(before), String(before + 2)],
      ["rows", "others"],
    ]);
    expect(runChanges(first, first)).toEqual([]);
  });

  it("compares with the run that started last before", () => {
    const third = manifest("c", "2026-01-03T00:00:00Z");
    expect(previousRun(third, [third, first, second])?.id).toBe("b");
    expect(previousRun(first, [third, first, second])).toBeNull();
  });
});

describe("the sentence on the reward of a loop", () => {
  const base = presetConfig("demo");

  it("says why it teaches where its terms are the usual ones, and what it is where they are not", () => {
    for (const loop of [1, 2] as const) expect(rewardText(base, loop)).toBe(aboutLoop(loop).why);
    expect(rewardText({ ...base, loop1Iou: 0.5 }, 1)).toBe(aboutLoop(1).why);
    expect(rewardText({ ...base, loop1Meteor: 0.5, loop1LeakCost: 0.2 }, 1)).toBe(
      "The reward of loop 1 is IoU + 0.50 · METEOR − 0.20 · Leak cost",
    );
    expect(rewardText({ ...base, loop1Iou: 0, loop1Judge: 1 }, 1)).toBe("The reward of loop 1 is METEOR");
  });

  it("says that shuffled rewards teach nothing", () => {
    expect(rewardText({ ...base, shuffleRewards: true }, 1)).toMatch(
      /^The reward of loop 1 is IoU, shuffled .* nothing$/,
    );
  });
});

it("a row is named by its number, and by its shard where another one has that number", () => {
  const [first, second] = ["data-0.arrow#14", "data-1.arrow#14"];
  const among = (...ids: readonly string[]) => ids.map((rowId) => ({ rowId }));
  expect(shortRow(first)).toBe("#14");
  expect(shortRow(first, among(first, "data-1.arrow#4", "data-1.arrow#114"))).toBe("#14");
  expect(shortRow(first, among(first, second))).toBe(first);
  expect(shortRow("one", among("two"))).toBe("one");
});
