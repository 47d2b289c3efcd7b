/** The likelihood of a caption given a mask: equal to the decoder's own, and as a choice among captions. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openNodeRows } from "../../scripts/lib/node/node-rows.ts";
import { defaultConfig } from "../../src/engine/config/parse.ts";
import type { TrainingRow } from "../../src/engine/data/training-row.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { openSa2va, type Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { type Weights, weightsView } from "../../src/engine/model/weights/weights.ts";
import { captionLikelihoods } from "../../src/engine/policy/caption-likelihood.ts";
import { captionBatch } from "../../src/engine/policy/caption-policy.ts";
import { generate } from "../../src/engine/policy/decode/generate.ts";
import { FULL_SAMPLING } from "../../src/engine/policy/decode/sampler.ts";
import { disposeFeatures, encodeImage, type ImageFeatures } from "../../src/engine/policy/features.ts";
import { answerRule, captionPrompt, regionCells } from "../../src/engine/policy/prompts.ts";
import { type Step, wantedLikelihoods } from "../../src/engine/rl/step/step.ts";
import { softCaptionLoss } from "../../src/plugins/mask-policies/pathwise.ts";
import { checkedGpu } from "../support/gpu.ts";
import { POCKET } from "../support/session.ts";

checkedGpu();

const OPTIONS = { logitGuard: 30, keepTiny: false };
let model: Sa2vaModel;
let weights: Weights;
let row: TrainingRow;
let features: ImageFeatures;

beforeAll(async () => {
  model = await openSa2va(await nodeFolder(POCKET), "pocket");
  weights = weightsView(new Map([...model.frozen, ...model.base]), {}, 0);
  row = await (await openNodeRows()).rows(0);
  features = await encodeImage(model, row.rgb, 1);
});
afterAll(() => {
  disposeFeatures(features);
  model.dispose();
});

const likelihoods = async (masks: readonly (Uint8Array | null)[], caption: string, others: readonly string[] = []) => {
  const { height, width } = row.rgb;
  return await captionLikelihoods(model, weights, { features, masks, height, width, caption, others }, OPTIONS);
};

describe("the likelihood of a caption", () => {
  it("is that of the tokens which the decoder wrote", async () => {
    const { height, width } = row.rgb;
    const prompt = captionPrompt(model, features, regionCells(model, row.mask, height, width, false));
    const batch = captionBatch(model, weights, features, prompt, 1);
    const rule = answerRule(model);
    const [group] = await generate(model, weights, [batch], {
      maxCompletionLength: 16,
      sampler: { ...FULL_SAMPLING, guard: OPTIONS.logitGuard },
      greedy: true,
      key: () => ({ seed: 0, step: 0, loop: 0, row: 0, rollout: 0, position: 0, stream: 0 }),
      stop: (ids) => rule.reached(ids),
    });
    tf.dispose([batch.prefix, batch.tails]);
    const { ids, logps, ended } = group?.completions[0] ?? { ids: [], logps: [], ended: false };
    expect(ended).toBe(true);
    const [own] = await likelihoods([row.mask], rule.answer(ids));
    expect(own?.likelihood).toBeCloseTo(Math.exp(logps.reduce((sum, logp) => sum + logp, 0) / logps.length), 4);
    expect(own?.contrast).toBeNull();
  });

  it("among captions is the share of its probability, each mask on its own", async () => {
    const left = new Uint8Array(row.mask.length).map((_, at) => Number(at % row.rgb.width < row.rgb.width / 3));
    const captions = ["a red car", "the small dog"] as const;
    const masks = [row.mask, left];
    const both = await likelihoods(masks, captions[0], [captions[1], captions[0]]);
    const swapped = await likelihoods(masks, captions[1], [captions[0]]);
    for (const at of [0, 1]) {
      expect((both[at]?.contrast ?? 0) + (swapped[at]?.contrast ?? 0)).toBeCloseTo(1, 4);
      expect(both[at]?.contrast).not.toBeCloseTo(1, 6);
    }
    expect(both[0]?.likelihood).not.toBeCloseTo(both[1]?.likelihood as number, 6);
  });

  it("given a soft mask is that given the mask where cells are certain, and its gradient is that of small changes", async () => {
    const { height, width } = row.rgb;
    const caption = "the small dog";
    const decoder = 32;
    const inside = (x: number, y: number): boolean => x < 14 && y >= 9;
    const sharp = Float32Array.from({ length: decoder ** 2 }, (_, at) =>
      inside(at % decoder, Math.floor(at / decoder)) ? 100 : -100,
    );
    const mask = new Uint8Array(height * width).map((_, at) =>
      Number(inside(((at % width) * decoder) / width, (Math.floor(at / width) * decoder) / height)),
    );
    const cells = regionCells(model, mask, height, width, false);
    const options = { temperature: 1, guard: OPTIONS.logitGuard };
    const region = { features, caption, height, width, cells };
    const read = async (values: Float32Array): Promise<number> => {
      const scalar = tf.tidy(() =>
        softCaptionLoss(model, weights, region, tf.tensor3d(values, [1, decoder, decoder]), options),
      );
      const [value] = await scalar.data();
      scalar.dispose();
      return value as number;
    };
    const [hard] = await likelihoods([mask], caption);
    expect(await read(sharp)).toBeCloseTo(-Math.log(hard?.likelihood ?? 0), 4);

    const soft = Float32Array.from(sharp, (value, at) => value / 60 + Math.sin(at));
    const logits = tf.tensor3d(soft, [1, decoder, decoder]);
    const gradient = tf.tidy(() =>
      tf.grad((own: tf.Tensor) => softCaptionLoss(model, weights, region, own, options))(logits),
    );
    const slopes = await gradient.data();
    tf.dispose([logits, gradient]);
    const steepest = Array.from(slopes.keys()).sort((a, b) => Math.abs(slopes[b] ?? 0) - Math.abs(slopes[a] ?? 0));
    for (const at of steepest.slice(0, 3)) {
      const moved = (by: number) => soft.map((value, pixel) => (pixel === at ? value + by : value));
      const slope = ((await read(moved(0.2))) - (await read(moved(-0.2)))) / 0.4;
      expect(Math.abs(slope)).toBeGreaterThan(1e-4);
      expect(slope / (slopes[at] as number)).toBeCloseTo(1, 1);
    }
  });

  it("takes the memory of as many masks as are asked for at once, and is the same for any number", async () => {
    const { height, width } = row.rgb;
    const masks = Array.from({ length: 6 }, (_, n) => row.mask.map((bit, at) => Number(bit === 1 || at % 6 === n)));
    const picture = { features, masks, height, width, caption: "a red car", others: ["the small dog", "sky"] };
    const run = async (count: number, masksAtOnce: number) => {
      const before = tf.memory().numBytes;
      let found: Awaited<ReturnType<typeof captionLikelihoods>> = [];
      const { peakBytes } = await tf.profile(async () => {
        const some = { ...picture, masks: masks.slice(0, count) };
        found = await captionLikelihoods(model, weights, some, { ...OPTIONS, masksAtOnce });
        return [];
      });
      return { found, bytes: peakBytes - before };
    };
    const [one, each, all] = [await run(1, 1), await run(6, 1), await run(6, 0)];
    expect(each.bytes / one.bytes).toBeLessThan(1.2);
    expect(all.bytes / one.bytes).toBeGreaterThan(3);
    each.found.forEach((own, at) => {
      expect(own?.likelihood).toBeCloseTo(all.found[at]?.likelihood ?? 0, 5);
      expect(own?.contrast).toBeCloseTo(all.found[at]?.contrast ?? 0, 5);
    });
  });

  it("is that of as much of a caption as the model's context holds", async () => {
    const { config } = model;
    const short = { ...model, config: { ...config, language: { ...config.language, maxPositions: 160 } } };
    const { height, width } = row.rgb;
    const words = (count: number): string => new Array<string>(count).fill("small dog").join(" ");
    const of = async (caption: string): Promise<number | undefined> => {
      const picture = { features, masks: [row.mask], height, width, caption, others: [] };
      return (await captionLikelihoods(short, weights, picture, OPTIONS))[0]?.likelihood;
    };
    expect(await of(words(4000))).toBe(await of(words(9000)));
    expect(await of(words(4000))).not.toBe(await of(words(2)));
  });

  it("ends as a stop, not as a failure, when it is stopped", async () => {
    const { height, width } = row.rgb;
    const about = { features, masks: [row.mask], height, width, caption: "a thing", others: [] };
    const config = defaultConfig();
    const asked = {
      model,
      config,
      partner: weights,
      start: weights,
      signal: AbortSignal.abort(),
      watchLikelihood: true,
    } as unknown as Step;
    await expect(wantedLikelihoods(asked, 1, [about])).rejects.toMatchObject({ name: "LabError", code: "cancelled" });
  });

  it("is missing for a mask that covers no visual token, and leaves no tensor", async () => {
    const before = memorySnapshot().tensors;
    const empty = new Uint8Array(row.mask.length);
    const [none, some] = await likelihoods([empty, row.mask], "a red car");
    expect(none).toBeNull();
    expect(some?.likelihood).toBeGreaterThan(0);
    expect(await likelihoods([empty, null], "a red car")).toEqual([null, null]);
    expect(memorySnapshot().tensors).toBe(before);
  });
});
