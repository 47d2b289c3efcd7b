/**
 * Sequences that cross the length at which rotary scaling sets in: what is computed in parts equals one undivided pass,
 * whose numbers the golden sets of the two families prove (there every prompt or none lies beyond the limit).
 */

import { beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { tokenScores } from "../../../src/engine/gpu/kernels/logprob.ts";
import { STREAM } from "../../../src/engine/gpu/random.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { projectVisual } from "../../../src/engine/model/families/internvl/family.ts";
import { languageForward, languageLogits } from "../../../src/engine/model/language/language.ts";
import { rotatedAlike } from "../../../src/engine/model/language/rope-scaling.ts";
import { openSa2va, type Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { type Weights, weightsView } from "../../../src/engine/model/weights/weights.ts";
import { captionBatch, captionLogps } from "../../../src/engine/policy/caption-policy.ts";
import { type Completion, type Generated, generate } from "../../../src/engine/policy/decode/generate.ts";
import type { PromptBatch } from "../../../src/engine/policy/decode/prefill.ts";
import { FULL_SAMPLING } from "../../../src/engine/policy/decode/sampler.ts";
import { embedIds, embedPrompt, embedTogether } from "../../../src/engine/policy/embedding.ts";
import { disposeFeatures, encodeImage, type ImageFeatures } from "../../../src/engine/policy/features.ts";
import { phrasePromptsOf } from "../../../src/engine/policy/phrase-output.ts";
import { captionPrompt, segmentPrompt } from "../../../src/engine/policy/prompts.ts";
import { sftBatch } from "../../../src/plugins/supervised/batch.ts";
import { SFT_DEFAULTS, sftLoss } from "../../../src/plugins/supervised/forward.ts";
import { pocketPicture } from "../../../tools/pocket/world/samples.ts";
import { logpsOf } from "../../support/caption-logps.ts";

beforeAll(() => tf.setBackend("cpu"));

/** The model with another limit; all else, the amplitude included, stays. */
function limited(model: Sa2vaModel, limit: number): Sa2vaModel {
  const { language } = model.config;
  const { scaling } = language.rope;
  expect(["factors", "dynamic"]).toContain(scaling.kind);
  const rope = { ...language.rope, scaling: { ...scaling, limit } as typeof scaling };
  return { ...model, config: { ...model.config, language: { ...language, rope } } };
}

const NEVER = 1e6;
const COMPLETIONS: readonly Completion[] = [
  [11, 12, 13, 14, 15, 16],
  [21, 22],
  [31, 32, 33, 34],
].map((ids) => ({
  ids,
  logps: [],
  entropies: [],
  ended: true,
}));

async function numbers(tensor: Tensor): Promise<Float32Array> {
  const values = (await tensor.data()) as Float32Array;
  tensor.dispose();
  return values;
}

function gap(a: Float32Array, b: Float32Array): number {
  expect(a.length).toBe(b.length);
  return a.reduce((worst, value, at) => Math.max(worst, Math.abs(value - (b[at] as number))), 0);
}

describe.each(["phi3", "internlm2"])("%s", (family) => {
  let model: Sa2vaModel;
  let weights: Weights;
  let features: ImageFeatures;
  let regions: ReturnType<typeof pocketPicture>["regions"];
  beforeAll(async () => {
    model = await openSa2va(await nodeFolder(`tests/golden/sa2va-tiny-${family}`), family);
    weights = weightsView(new Map([...model.frozen, ...model.base]), {}, 0);
    const picture = pocketPicture(3, 1, 2, 128);
    regions = picture.regions;
    features = await encodeImage(model, picture.rgb, 1);
    return () => {
      disposeFeatures(features);
      model.dispose();
    };
  });
  const prompt = () => captionPrompt(model, features, new Uint8Array(model.config.tokenGridSide ** 2).fill(1));

  it("scores captions as one pass over whole sequences does", async () => {
    const { ids } = prompt();
    const width = 6;
    const whole = (own: Sa2vaModel): Promise<Float32Array> =>
      numbers(
        tf.tidy(() => {
          const text = embedPrompt(own, weights, prompt(), ids, projectVisual(weights, features.vision), [
            prompt().cells,
          ]);
          const rows = COMPLETIONS.map((row) => Array.from({ length: width }, (_, t) => row.ids[t] ?? 0));
          const x = tf.concat([tf.tile(text, [rows.length, 1, 1]), embedIds(own, weights, rows)], 1);
          const { hidden } = languageForward(weights, own.config.language, x);
          const size = hidden.shape[2] as number;
          const places = tf.slice(hidden, [0, ids.length - 1, 0], [rows.length, width, size]).reshape([-1, size]);
          const target = tf.tensor1d(rows.flat(), "int32");
          return tokenScores(languageLogits(weights, places), target, 1, Number.POSITIVE_INFINITY).logp;
        }),
      );
    const scored = async (own: Sa2vaModel): Promise<Float32Array> => {
      const sampler = { ...FULL_SAMPLING, guard: Number.POSITIVE_INFINITY };
      const found = logpsOf(own, weights, { features, prompt: prompt(), completions: COMPLETIONS }, sampler);
      found.entropies.dispose();
      return numbers(found.logps);
    };
    const never = await scored(limited(model, NEVER));
    // One token into the completion, in the middle of it, at its end, and not reached.
    for (const beyond of [0, 3, 5]) {
      const crossing = limited(model, ids.length + beyond);
      const found = await scored(crossing);
      expect(gap(found, await whole(crossing))).toBeLessThan(2e-5);
      expect(gap(found, never), "the limit matters").toBeGreaterThan(1e-3);
    }
    expect(await scored(limited(model, ids.length + 6))).toEqual(never);
  });

  it("scores groups of several pictures in one batch as each one alone", async () => {
    const other = await encodeImage(model, pocketPicture(8, 2, 2, 128).rgb, 1);
    const one = new Uint8Array(model.config.tokenGridSide ** 2);
    one[3] = 1;
    const groups = [
      { features, prompt: prompt(), completions: COMPLETIONS },
      { features: other, prompt: captionPrompt(model, other, one), completions: [...COMPLETIONS].reverse() },
    ];
    const phrases = [
      { features, phrases: ["a red circle beside the large blue square at the top", "red"] },
      { features: other, phrases: ["the circle", "a large circle"] },
    ];
    const single = phrases.map((asked) => ({ ...asked, phrases: asked.phrases.slice(0, 1) }));
    const sampler = { ...FULL_SAMPLING, guard: 4 };
    const told = async (own: Sa2vaModel, chosen: typeof groups): Promise<Float32Array> => {
      const scores = captionLogps(own, weights, chosen, sampler, 8);
      const all = await Promise.all(scores.flatMap(({ logps, entropies }) => [numbers(logps), numbers(entropies)]));
      return Float32Array.from(all.flatMap((values) => [...values]));
    };
    const joined = (parts: readonly Float32Array[]) => Float32Array.from(parts.flatMap((part) => [...part]));
    const lengths = groups.map((group) => group.prompt.ids.length);
    const [short, long] = [Math.min(...lengths), Math.max(...lengths)];
    expect(long).toBeGreaterThan(short);
    const narrow = (size: number): Sa2vaModel => {
      const { language } = model.config;
      return { ...model, config: { ...model.config, language: { ...language, window: { size, firstLayer: 0 } } } };
    };
    // Only the longer prompt beyond the limit; everybody and nobody; windows, which no family scales, each once.
    const crossing = limited(model, short + 8);
    const others =
      family === "phi3" ? [limited(model, NEVER), narrow(short - 3)] : [limited(model, 1), narrow(long + 20)];
    for (const own of [crossing, ...others]) {
      const apart = joined(await Promise.all(groups.map((group) => told(own, [group]))));
      expect(gap(await told(own, groups), apart)).toBeLessThan(2e-5);
      for (const asked of own === crossing ? [phrases, single] : [phrases]) {
        const alone = asked.map((picture) => numbers(phrasePromptsOf(own, weights, [picture])));
        const together = await numbers(phrasePromptsOf(own, weights, asked));
        expect(gap(together, joined(await Promise.all(alone)))).toBeLessThan(2e-5);
      }
    }
    disposeFeatures(other);
  });

  it("samples with the log-probabilities that training finds", async () => {
    const { ids } = prompt();
    const maxCompletionLength = 6;
    const crossing = limited(model, ids.length + 2);
    const sampled = async (oneLength: boolean): Promise<number> => {
      const batch = captionBatch(crossing, weights, features, prompt(), 3);
      const [made] = await generate(crossing, weights, [batch], {
        maxCompletionLength,
        sampler: FULL_SAMPLING,
        greedy: false,
        oneLength,
        key: (row, rollout) => ({ seed: 5, step: 1, loop: 1, row, rollout, position: 0, stream: STREAM.token }),
        stop: (own) => own.length === 4,
      });
      tf.dispose([batch.prefix, batch.tails]);
      const completions = made?.completions ?? [];
      const found = logpsOf(
        crossing,
        weights,
        { features, prompt: prompt(), completions },
        FULL_SAMPLING,
        maxCompletionLength,
      );
      found.entropies.dispose();
      const logps = await numbers(found.logps);
      expect(completions.map((completion) => completion.ids.length)).toEqual([4, 4, 4]);
      return gap(Float32Array.from(completions.flatMap((completion) => completion.logps)), logps);
    };
    expect(await sampled(true)).toBeLessThan(2e-5);
    // Token by token, as the published code generates, early tokens are rotated as in a short sequence.
    expect(await sampled(false)).toBeGreaterThan(1e-4);
  });

  it("answers about regions of several sizes as each prompt alone and undivided", async () => {
    const grids = [1, 4, 1].map((cells) => new Uint8Array(model.config.tokenGridSide ** 2).fill(1, 0, cells));
    const asked = grids.map((cells) => captionPrompt(model, features, cells));
    const answered = async (own: Sa2vaModel, first: number, batch: PromptBatch): Promise<readonly number[]> => {
      const [made] = await generate(own, weights, [batch], {
        ...{ maxCompletionLength: 2, sampler: FULL_SAMPLING, greedy: false, stop: () => false },
        key: (_, n) => ({ seed: 5, step: 1, loop: 2, row: first + n, rollout: 0, position: 0, stream: STREAM.token }),
      });
      tf.dispose([batch.prefix, batch.tails]);
      return (made as Generated).completions.flatMap(({ logps }) => [...logps]);
    };
    const visual = (): Tensor => projectVisual(weights, features.vision);
    const alone = (own: (typeof asked)[number]): PromptBatch => {
      const tails = tf.tidy(() => embedPrompt(model, weights, own, own.ids, visual(), [own.cells]));
      return { prefix: tf.zeros([1, 0, tails.shape[2] as number]), tails, tailLengths: [own.ids.length] };
    };
    // Rotation changes between the picture, which all prompts share, and their ends.
    const crossing = limited(model, prompt().imageSpan.end + 2);
    const { language } = crossing.config;
    const narrow = { size: prompt().imageSpan.end, firstLayer: 0 };
    for (const window of family === "phi3" ? [undefined, narrow] : [undefined]) {
      const own = { ...crossing, config: { ...crossing.config, language: { ...language, window } } };
      const projected = visual();
      const together = await answered(own, 0, embedTogether(model, weights, asked, projected));
      projected.dispose();
      const apart = await Promise.all(asked.map((one, n) => answered(own, n, alone(one))));
      expect(gap(Float32Array.from(together), Float32Array.from(apart.flat()))).toBeLessThan(2e-5);
    }
  });

  it("reads phrases on both sides of the limit as each one alone", async () => {
    const phrases = ["a red circle beside the large blue square at the top", "red", "the circle", "a large circle"];
    const lengths = phrases.map((phrase) => segmentPrompt(model, features, phrase).forcedIds.length);
    const limit = Math.floor((Math.min(...lengths) + Math.max(...lengths)) / 2);
    const crossing = limited(model, limit);
    expect(rotatedAlike(crossing.config.language.rope, lengths).length).toBeGreaterThan(1);
    const together = await numbers(phrasePromptsOf(crossing, weights, [{ features, phrases }]));
    const alone = await Promise.all(
      phrases.map((phrase) => numbers(phrasePromptsOf(crossing, weights, [{ features, phrases: [phrase] }]))),
    );
    expect(gap(together, Float32Array.from(alone.flatMap((values) => [...values])))).toBeLessThan(2e-5);
    const never = await numbers(phrasePromptsOf(limited(model, NEVER), weights, [{ features, phrases }]));
    expect(gap(together, never)).toBeGreaterThan(1e-4);
  });

  it("is supervised as in sequences that lie beyond the limit altogether", async () => {
    const shape = { captionTokens: 0, segmentTokens: 0, maskTarget: "area" } as const;
    const batch = sftBatch(model, features, [regions], shape);
    const parts = async (limit: number): Promise<Float32Array> => {
      const found = sftLoss(limited(model, limit), weights, features, batch, SFT_DEFAULTS);
      found.loss.dispose();
      return numbers(found.parts);
    };
    const [crossing, never] = [await parts(batch.prefix.length), await parts(NEVER)];
    expect(gap(crossing, never)).toBeGreaterThan(1e-4);
    // Where the base grows with the length over the limit, sequences beyond it differ from each other.
    if (model.config.language.rope.scaling.kind !== "dynamic") expect(gap(crossing, await parts(1))).toBe(0);
    const longest = batch.prefix.length + Math.max(batch.caption.length, batch.segment.length);
    expect(await parts(longest)).toEqual(never);
  });
});

it("sequences are sorted by how they are rotated", () => {
  const lengths = [5, 12, 9, 10, 13];
  const rope = (kind: "factors" | "dynamic" | "none") => ({
    theta: 1e4,
    scaling:
      kind === "none"
        ? { kind }
        : kind === "dynamic"
          ? { kind, factor: 2, limit: 10 }
          : { kind, limit: 10, short: [1], long: [2], amplitude: 1 },
  });
  expect(rotatedAlike(rope("none"), lengths)).toEqual([[0, 1, 2, 3, 4]]);
  expect(rotatedAlike(rope("factors"), lengths)).toEqual([
    [0, 2, 3],
    [1, 4],
  ]);
  expect(rotatedAlike(rope("dynamic"), lengths)).toEqual([[0, 2, 3], [1], [4]]);
});
