import { describe, expect, it } from "vitest";
import { qwenConfig } from "../../../bench/made-up/qwen.ts";
import { smallerSetting } from "../../../src/engine/config/derived.ts";
import { requireConfig } from "../../../src/engine/config/parse.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { storageChoice } from "../../../src/engine/loading/storage-settings.ts";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { ALL_F32, type StorageChoice } from "../../../src/engine/model/weights/storage-choice.ts";
import {
  bindingProblem,
  budgetBytes,
  fittingChanges,
  fittingSettings,
  forecast,
  groupShape,
  nominalGigabytes,
  type RowShape,
  stepArrays,
} from "../../../src/engine/plan/fit.ts";
import { trainableForecast, weightForecast } from "../../../src/engine/plan/weights.ts";
import { stepSeconds, stepWork, tokenFlops, towerFlops } from "../../../src/engine/plan/work.ts";
import { fitProblems, fittedSettings, reachedLimits } from "../../../src/engine/session/plan.ts";
import { arePluggedIn, testWith } from "../../support/plugins.ts";
import { publishedConfig } from "./published.ts";

const small = parseSa2vaConfig(publishedConfig("1B"));
const large = parseSa2vaConfig(publishedConfig("4B"));
const F16: StorageChoice = { language: "f16", towers: "f16" };
const config = (changes: Partial<LabConfig>): LabConfig => requireConfig(changes, presetConfig("real"), "test");
const millions = (count: number): number => Math.round(count / 1e4) / 100;

describe("a forecast", () => {
  const rate = { flops: 1e12, dispatch: 1e-5 };
  const seconds = (changes: Partial<LabConfig>): number =>
    forecast(small, config(changes), ALL_F32, rate).stepSeconds as number;
  const bytes = (changes: Partial<LabConfig>, part: string): number =>
    forecast(small, config(changes), ALL_F32).parts.find((one) => one.part === part)?.bytes ?? 0;

  it("counts the reference pass wherever a step takes one", () => {
    const without = seconds({ beta: 0 });
    expect(seconds({ beta: 0.1 })).toBeGreaterThan(without);
    expect(seconds({ beta: 0, objective: "notes" })).toBe(seconds({ beta: 0.1 }));
  });

  it("counts a gradient per loop and a synchronised reference", () => {
    const gradients = (changes: Partial<LabConfig>): number =>
      bytes(changes, "gradients") / bytes(changes, "trained tensors");
    // The sums of the loops, and those of a pass; of rollouts taken apart two more.
    expect(gradients({ loops: "both" })).toBe(3);
    expect(gradients({ loops: "1" })).toBe(2);
    expect(gradients({ loops: "1", microRollouts: 1 })).toBe(4);
    expect(bytes({ beta: 0.1 }, "synchronised reference")).toBe(0);
    expect(bytes({ beta: 0.1, syncRefModel: true }, "synchronised reference")).toBe(bytes({}, "trained tensors"));
  });
});

it("a run that ran out of memory gets smaller in three steps, each with a lower peak", () => {
  // Few pictures and long completions, so that the rollouts of a group take more than sampling does.
  const long = { promptsPerStep: 2, accumulation: 1, numGenerations: 8, maxCompletionLength: 256, loops: "1" } as const;
  let now = config({ ...long, groupsAtOnce: 0, gradientCheckpointing: false });
  const chain: Partial<LabConfig>[] = [];
  for (let next = smallerSetting(now); next !== null; next = smallerSetting(now)) {
    const before = forecast(small, now, F16).peak;
    now = { ...now, ...next };
    chain.push(next);
    expect(forecast(small, now, F16).peak).toBeLessThan(before);
  }
  expect(chain).toEqual([{ groupsAtOnce: 1 }, { gradientCheckpointing: true }, { microRollouts: 1 }]);
});

describe("sizes of the published checkpoints", () => {
  it("are counted part by part as their totals are", () => {
    for (const [model, projector, language, embedding, seg] of [
      [small, 4.48, 357.9, 271.81, 1.03],
      [large, 12.6, 2774.77, 621.28, 4.72],
    ] as const) {
      const { parameters } = weightForecast(model, ALL_F32);
      expect(Object.fromEntries(Object.entries(parameters).map(([part, count]) => [part, millions(count)]))).toEqual({
        vision: 304.01,
        projector,
        language,
        embedding,
        "seg-prompt": seg,
        "sam-encoder": 212.7,
        "mask-decoder": 4.22,
        "prompt-encoder": 0.01,
      });
    }
  });

  it("give the bytes of every storage", () => {
    const total = (model: typeof small, choice: StorageChoice): number => {
      const { frozenBytes, publishedBytes } = weightForecast(model, choice);
      return (frozenBytes + publishedBytes) / 1e9;
    };
    // Without the parts for video: 4.62 GB and 15.74 GB.
    expect(total(small, ALL_F32)).toBeCloseTo(4.62, 2);
    expect(total(large, ALL_F32)).toBeCloseTo(15.74, 2);
    expect(total(small, F16)).toBeGreaterThan(2.31);
    expect(total(small, F16)).toBeLessThan(2.4);
    expect(total(large, { language: "q8", towers: "f16" })).toBeLessThan(5);
    expect(total(large, { language: "q4", towers: "f16" })).toBeLessThan(3.3);
  });

  it("give the trainable set of each rank", () => {
    const at = (model: typeof small, rank: number): number[] => {
      const { blocks, parameters } = trainableForecast(model, rank);
      return [millions(blocks.lora), millions(parameters)];
    };
    expect(at(small, 128)).toEqual([70.39, 80.12]);
    expect(at(small, 16)).toEqual([8.8, 18.54]);
    expect(at(large, 128)).toEqual([239.47, 261.01]);
    expect(at(large, 16)).toEqual([29.93, 51.47]);
  });

  it("give the work of a token, a tile and a picture", () => {
    expect(tokenFlops(small) / 1e9).toBeCloseTo(0.716, 2);
    expect(tokenFlops(large) / 1e9).toBeCloseTo(5.55, 1);
    const [one, two] = [towerFlops(small, 1), towerFlops(small, 2)];
    expect((two - one) / 1e12).toBeCloseTo(0.72, 1);
    expect((one - (two - one)) / 1e12).toBeGreaterThan(1.5);
    expect((one - (two - one)) / 1e12).toBeLessThan(2.2);
  });
});

describe("the preset for real checkpoints", () => {
  const real = presetConfig("real");

  it("uses a card of 8 GB, and fits larger ones", () => {
    const { peak } = forecast(small, real, F16);
    for (const gigabytes of [8, 12, 16, 24]) {
      expect(fitProblems({ peak, budget: budgetBytes(gigabytes), changes: [] }), `${gigabytes} GB`).toEqual([]);
    }
    expect(peak).toBeGreaterThan(0.6 * budgetBytes(8));
  });

  it("fits 24 GB with a checkpoint of 4B and its weights in q4", () => {
    const { peak } = forecast(large, real, { language: "q4", towers: "f16" });
    expect(fitProblems({ peak, budget: budgetBytes(24), changes: [] })).toEqual([]);
  });

  it("of a card whose memory is unknown asks for it, and a small model does not", () => {
    const { peak } = forecast(small, real, F16);
    expect(fitProblems({ peak, budget: null, changes: [] })).toEqual([expect.stringMatching(/memory is unknown: set/)]);
    expect(fitProblems({ peak: 1e8, budget: null, changes: [] })).toEqual([]);
  });
});

describe("the sizes chosen for a real checkpoint", () => {
  const chosen = (model: typeof small, gigabytes: number, held = ALL_F32) =>
    fittingSettings(model, presetConfig("real"), held, budgetBytes(gigabytes));

  it.each([
    [small, 4, "q8"],
    [small, 6, "f16"],
    [small, 8, "f16"],
    [small, 12, "f16"],
    [small, 24, "f16"],
    [large, 8, "q4"],
    [large, 16, "f16"],
    [large, 24, "f16"],
  ] as const)("fit the card with the storage that rounds least", (model, gigabytes, language) => {
    const found = chosen(model, gigabytes);
    expect(found?.choice.language).toBe(language);
    const config = requireConfig(found?.values ?? {}, presetConfig("real"), "test");
    expect(storageChoice(config)).toEqual(found?.choice);
    const { peak } = forecast(model, config, storageChoice(config));
    expect(peak).toBe(found?.peak);
    expect(peak).toBeLessThanOrEqual(0.9 * budgetBytes(gigabytes));
  });

  it("grow with the card", () => {
    const sizes = [6, 8, 10, 12, 16, 24].map((gigabytes) => {
      const { loraR = 0, numGenerations = 0, maxTiles = 0 } = chosen(small, gigabytes)?.values ?? {};
      return [loraR, numGenerations, maxTiles];
    });
    for (const [at, size] of sizes.slice(1).entries()) {
      for (const [of, value] of size.entries()) expect(value).toBeGreaterThanOrEqual(sizes[at]?.[of] ?? 0);
    }
    expect(sizes.at(-1)).toEqual([128, 16, 12]);
  });

  it("keep a packed storage that is loaded, and are none where nothing fits", () => {
    expect(chosen(small, 24, { language: "q4", towers: "f16" })?.choice.language).toBe("q4");
    expect(chosen(large, 4)).toBeNull();
  });

  it("are offered for a checkpoint above 1 GB, and assume 8 GB where nobody has told", () => {
    expect(fittedSettings(small, 9e8, ALL_F32, 8, false)).toBeNull();
    const assumed = fittedSettings(small, 4e9, ALL_F32, 0, false);
    expect(assumed).toMatchObject({ gigabytes: 8, assumed: true });
    expect(assumed?.values).toEqual(fittedSettings(small, 4e9, ALL_F32, 8, false)?.values);
    expect(assumed?.values.gpuMemory).toBe(8);
  });
});

describe("from a drop to Start", () => {
  const sizes: readonly (readonly [string, typeof small])[] = [
    ["1B", small],
    ["4B", large],
    ...(arePluggedIn("qwen-vl") ? [["Qwen3-VL 2B", parseSa2vaConfig(qwenConfig("qwen3-vl-2b"))] as const] : []),
  ];
  const photographs = [
    { width: 640, height: 480 },
    { width: 427, height: 640 },
  ];

  it.each(
    sizes.flatMap(([name, model]) =>
      [8, 12, 16, 24, 0].flatMap((gigabytes) => [false, true].map((clips) => [name, gigabytes, clips, model] as const)),
    ),
  )("%s on %d GB (0: unknown), clips %s: the chosen sizes fit", (_, gigabytes, clips, model) => {
    const reached = reachedLimits(model, photographs);
    for (const software of [false, true]) {
      const found = fittedSettings(reached, 4e9, ALL_F32, gigabytes, software, { clips });
      const config = requireConfig(found?.values ?? {}, presetConfig("real"), "test");
      const budget = budgetBytes(config.gpuMemory);
      expect(budget).toBeLessThan(Number.POSITIVE_INFINITY);
      const { peak } = forecast(reached, config, storageChoice(config), null, software, { clips });
      expect(fitProblems({ peak, budget, changes: [] })).toEqual([]);
      expect(bindingProblem(reached, config, storageChoice(config), 2 ** 30, { clips })).toBeNull();
      if (clips) continue;
      // Also where no rows are open yet.
      expect(fittedSettings(model, 4e9, ALL_F32, gigabytes, software)).not.toBeNull();
    }
  });

  testWith("qwen-vl")("plans for the pictures that are open", () => {
    const [[, one], , [, qwen]] = sizes as [(typeof sizes)[0], (typeof sizes)[1], (typeof sizes)[2]];
    expect(reachedLimits(qwen).tokensPerTile).toBe(1568);
    // 25 x 17 tokens of 32 pixels for the second one, 18 x 23 for the first.
    expect(reachedLimits(qwen, photographs).tokensPerTile).toBe(425);
    expect(reachedLimits(qwen, [{ width: 6400, height: 20 }]).tokensPerTile).toBe(1);
    expect(reachedLimits(one, [{ width: 640, height: 360 }]).maxTiles).toBe(2);
    expect(reachedLimits(one, [...photographs, { width: 640, height: 360 }]).maxTiles).toBe(12);
    const peak = (model: typeof small): number => forecast(model, presetConfig("real"), F16).peak;
    expect(peak(reachedLimits(qwen, photographs))).toBeLessThan(0.75 * peak(qwen));
  });
});

describe("the memory of a card", () => {
  it("that was found by asking gives a run what was given, and not more", () => {
    for (const bytes of [1e9, 7.4e9, 22.1e9]) {
      expect(budgetBytes(nominalGigabytes(bytes))).toBeLessThanOrEqual(bytes + 1);
      expect(budgetBytes(nominalGigabytes(bytes) + 0.1)).toBeGreaterThan(bytes);
    }
  });
});

describe("the fit", () => {
  const targets = config({
    loraR: 16,
    loraAlpha: 32,
    gradientCheckpointing: true,
    numGenerations: 4,
    maxCompletionLength: 48,
    maxTiles: 1,
  });

  it("of 1B on 12 GB and of 4B on 24 GB is there in f16 and recomputed", () => {
    const one = forecast(small, targets, F16);
    expect(one.peak).toBeLessThan(budgetBytes(12));
    const four = forecast(large, targets, F16);
    expect(four.peak).toBeLessThan(budgetBytes(24));
    expect(four.held).toBeGreaterThan(7.8e9);
    // Not in f32 without recomputation.
    expect(forecast(large, { ...targets, gradientCheckpointing: false }, ALL_F32).peak).toBeGreaterThan(
      budgetBytes(16),
    );
  });

  it("adds up", () => {
    const { parts, held, peak, transient, trainable } = forecast(small, targets, F16);
    const of = (part: string): number => parts.find((one) => one.part === part)?.bytes ?? Number.NaN;
    expect(of("moments")).toBe(8 * trainable.parameters);
    expect(held).toBeCloseTo(
      of("frozen weights") + of("published tensors") + 4 * of("trained tensors") + of("start of the run"),
      0,
    );
    const { sampling, learning } = transient;
    expect(peak).toBeCloseTo(held + Math.max(sampling, of("gradients") + learning), 0);
    expect(peak).toBeLessThan(parts.reduce((sum, one) => sum + one.bytes, 0) + 1);
  });

  it("grows with what costs memory and shrinks with what saves it", () => {
    const peak = (changes: Partial<LabConfig>, choice = F16): number =>
      forecast(small, { ...targets, ...changes }, choice).peak;
    const base = peak({});
    expect(peak({ gradientCheckpointing: false })).toBeGreaterThan(base);
    expect(peak({ loraR: 128 })).toBeGreaterThan(base);
    expect(peak({ maxTiles: 12 })).toBeGreaterThan(base);
    expect(peak({ numGenerations: 16, gradientCheckpointing: false })).toBeGreaterThan(
      peak({ numGenerations: 4, gradientCheckpointing: false }),
    );
    const long = { numGenerations: 16, maxCompletionLength: 128, gradientCheckpointing: false };
    expect(peak({ ...long, microRollouts: 1 })).toBeLessThan(peak(long));
    const several = { promptsPerStep: 4, maxCompletionLength: 128 };
    expect(peak({ ...several, groupsAtOnce: 0 })).toBeGreaterThan(peak({ ...several, groupsAtOnce: 2 }));
    expect(peak({ ...several, groupsAtOnce: 2 })).toBeGreaterThan(peak(several));
    const activations = (changes: Partial<LabConfig>): number =>
      forecast(small, { ...targets, ...several, ...changes }, F16).transient.activations;
    expect(activations({ groupsAtOnce: 0, microRollouts: 1 })).toBe(activations({ microRollouts: 1 }));
    // Captions of many masks share the picture's keys and values.
    const described = (numGenerations: number): number =>
      forecast(small, { ...targets, maxTiles: 12, loops: "2", maskPolicy: "field", numGenerations }, F16).transient
        .cache;
    expect(described(16) / described(4)).toBeLessThan(1.8);
    expect(peak({}, ALL_F32)).toBeGreaterThan(base);
    expect(peak({}, { language: "q4", towers: "q8" })).toBeLessThan(base);
    expect(groupShape(small, { ...targets, maxTiles: 12 }).tiles).toBe(13);
  });

  it("counts the frames of clips", () => {
    const of = (clipFrames: number) => forecast(large, { ...targets, clipFrames }, F16, null, false, { clips: true });
    // Three maps of every frame in f32, as in the cost table of docs/spec/video.md#13-cost.
    const { sam2, tokensPerTile, vision } = large;
    const maps = (64 ** 2 + 128 ** 2 + 256 ** 2) * sam2.hiddenDim * 4;
    expect(sam2.imageSize).toBe(1024);
    const groups = groupShape(large, targets).groups;
    expect(of(5).transient.features).toBe(groups * 5 * (maps + tokensPerTile * 4 * vision.hiddenSize * 4));
    expect(of(8).peak).toBeGreaterThan(of(5).peak);
    expect(of(5).group).toMatchObject({ tiles: 5, frames: 5 });
    expect(of(5).group.promptTokens).toBeGreaterThan(5 * tokensPerTile);
  });

  it("names the single changes that would be enough", () => {
    const wide = { ...targets, gradientCheckpointing: false };
    const budget = forecast(large, targets, F16).peak + 1e8;
    const changes = fittingChanges(large, wide, F16, budget);
    expect(changes.map((change) => change.label)).toContain("Recompute activations");
    for (const change of changes) {
      expect(forecast(large, { ...wide, ...change.values }, change.choice).peak).toBe(change.peak);
      expect(change.peak).toBeLessThanOrEqual(budget);
    }
    expect(fittingChanges(large, targets, F16, budget)).toEqual([]);
    expect(fittingChanges(large, targets, ALL_F32, 1e9)).toEqual([]);
    expect(budgetBytes(0)).toBe(Number.POSITIVE_INFINITY);
  });

  it("takes longer with more work and on slower devices", () => {
    const rate = { flops: 5e12, dispatch: 30e-6 };
    const seconds = forecast(small, targets, F16, rate).stepSeconds as number;
    expect(forecast(large, targets, F16, rate).stepSeconds).toBeGreaterThan(2 * seconds);
    expect(forecast(small, targets, F16, { ...rate, flops: 5e11 }).stepSeconds).toBeGreaterThan(3 * seconds);
    expect(forecast(small, targets, F16).stepSeconds).toBeNull();
    const shape = groupShape(small, targets);
    const options = {
      loops: 2,
      captions: true,
      masks: true,
      recompute: false,
      microBatches: false,
      reference: true,
      passes: 1,
      newPictures: 1,
    };
    const work = stepWork(small, shape, options);
    expect(stepWork(small, shape, { ...options, newPictures: 0 }).flops).toBeLessThan(work.flops);
    expect(stepSeconds(work, rate)).toBeCloseTo(work.flops / 5e12 + work.dispatches * 30e-6, 9);
  });
});

describe("the largest array of a step", () => {
  const LEAST = 128 * 2 ** 20;
  const sizes = { numGenerations: 8, groupsAtOnce: 1, maxTiles: 12 };
  const problem = (model: typeof small, changes: Partial<LabConfig>, rows: RowShape = {}): string | null =>
    bindingProblem(model, config({ ...sizes, ...changes }), F16, LEAST, rows);

  it("is the MLP's hidden units of all tiles: of 4B more than the least binding that WebGPU allows, of 1B less", () => {
    expect(problem(small, {})).toBeNull();
    expect(problem(large, {})).toMatch(
      /^The MLP's hidden units of 3456 tokens take 152 MB, but this adapter binds at most 134 MB at once; this is enough: At most 6 tiles$/,
    );
    expect(problem(large, { maxTiles: 6 })).toBeNull();
    expect(bindingProblem(large, config(sizes), F16, 2 * LEAST)).toBeNull();
  });

  it("grows with what is decoded together: prompts of masks, pictures, frames", () => {
    expect(problem(small, { maxTiles: 1, numGenerations: 32 })).toMatch(/mask decoder's finest maps of 32 prompts/);
    expect(problem(small, { maxTiles: 1, promptsPerStep: 4, groupsAtOnce: 0 })).toMatch(/One group at once$/);
    expect(problem(small, { clipFrames: 5 }, { clips: true })).toMatch(/SAM2's finest maps .* no single change/);
    const three = { promptsPerStep: 3, accumulation: 1, groupsAtOnce: 0, maxTiles: 1 };
    const [first] = stepArrays(small, config({ ...sizes, ...three }));
    expect(first?.bytes).toBe(3 * 256 * 256 * Math.max(256, 8 * 32) * 4);
  });
});
