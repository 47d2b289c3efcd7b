import { beforeAll, describe, expect, it } from "vitest";
import { HIDDEN_SCORE } from "../../../src/engine/gpu/kernels/attention/attention.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { initLora, loraShapes } from "../../../src/engine/model/adapter/lora.ts";
import type { LanguageConfig } from "../../../src/engine/model/config.ts";
import { languageForward } from "../../../src/engine/model/language/language.ts";
import { languageShapes } from "../../../src/engine/model/language/language-families.ts";
import { spliceVisual } from "../../../src/engine/model/splice.ts";
import { weightsView } from "../../../src/engine/model/weights/weights.ts";

const CONFIG: LanguageConfig = {
  family: "qwen2",
  vocabSize: 11,
  hiddenSize: 12,
  layers: 2,
  heads: 3,
  kvHeads: 1,
  headSize: 4,
  mlpSize: 10,
  rmsNormEps: 1e-6,
  attentionBias: true,
  outputBias: false,
  mlpBias: false,
  rope: { theta: 1e4, scaling: { kind: "none" } },
  window: undefined,
  maxPositions: 64,
  tiedHead: false,
};

let frozen: Map<string, Tensor>;
let seed = 1;
const random = (shape: number[], scale = 0.5): Tensor => tf.randomNormal(shape, 0, scale, "float32", seed++);

beforeAll(async () => {
  await tf.setBackend("cpu");
  frozen = new Map(languageShapes(CONFIG).map(([name, shape]) => [name, random(shape)]));
});

const view = () => weightsView(frozen, {}, 0);
const largest = (a: Tensor, b: Tensor): number => tf.tidy(() => a.sub(b).abs().max().dataSync()[0] as number);
const rows = (x: Tensor, from: number, count: number): Tensor =>
  tf.slice(x, [0, from, 0], [x.shape[0] as number, count, x.shape[2] as number]);

describe("the forward pass", () => {
  it("gives the same with a cache as at once", () => {
    const x = random([2, 7, 12]);
    const whole = languageForward(view(), CONFIG, x).hidden;
    const first = languageForward(view(), CONFIG, rows(x, 0, 4));
    const second = languageForward(view(), CONFIG, rows(x, 4, 2), { past: first.cache });
    const third = languageForward(view(), CONFIG, rows(x, 6, 1), { past: second.cache });
    const joined = tf.concat([first.hidden, second.hidden, third.hidden], 1);
    expect(largest(whole, joined)).toBeLessThan(1e-5);
    expect(third.cache[0]?.k.shape).toEqual([2, 1, 7, 4]);
  });

  it("continues one prompt with several rows", () => {
    const prompt = random([1, 3, 12]);
    const tails = random([2, 3, 12]);
    const shared = languageForward(view(), CONFIG, prompt);
    const got = languageForward(view(), CONFIG, tails, { past: shared.cache }).hidden;
    const full = languageForward(view(), CONFIG, tf.concat([tf.tile(prompt, [2, 1, 1]), tails], 1)).hidden;
    expect(largest(rows(full, 3, 3), got)).toBeLessThan(1e-5);
  });

  it("sends the gradient of all rows back into a shared prompt", () => {
    const prompt = random([1, 3, 12]);
    const tails = random([2, 2, 12]);
    const weight = random([2, 2, 12]);
    const shared = tf.grad((x: Tensor) => {
      const { cache } = languageForward(view(), CONFIG, x);
      return languageForward(view(), CONFIG, tails, { past: cache }).hidden.mul(weight).sum();
    })(prompt);
    const repeated = tf.grad((x: Tensor) => {
      const all = tf.concat([tf.tile(x, [2, 1, 1]), tails], 1);
      return rows(languageForward(view(), CONFIG, all).hidden, 3, 2)
        .mul(weight)
        .sum();
    })(prompt);
    expect(largest(shared, repeated)).toBeLessThan(1e-4);
    expect(tf.tidy(() => shared.abs().max().dataSync()[0])).toBeGreaterThan(0.01);
  });

  it("hides padding: a short row behind padding equals the row alone", () => {
    const short = random([1, 2, 12]);
    const next = random([1, 1, 12]);
    const alone = languageForward(view(), CONFIG, tf.concat([short, next], 1)).hidden;
    const padded = languageForward(view(), CONFIG, tf.concat([short, random([1, 3, 12])], 1));
    const mask = tf.tensor4d([0, 0, HIDDEN_SCORE, HIDDEN_SCORE, HIDDEN_SCORE, 0], [1, 1, 1, 6]);
    const got = languageForward(view(), CONFIG, next, { past: padded.cache, positions: [[2]], mask }).hidden;
    expect(largest(rows(alone, 2, 1), got)).toBeLessThan(1e-5);
  });

  it("works long sequences off in runs with the same result and gradient", () => {
    const past = languageForward(view(), CONFIG, random([1, 3, 12])).cache;
    const x = random([2, 7, 12]);
    const bias = random([2, 1, 7, 10], 1);
    const run = (scoreBytes: number) => (value: Tensor) =>
      languageForward(view(), CONFIG, value, { past, mask: bias, scoreBytes }).hidden;
    const small = 2 * 3 * 10 * 4 * 3;
    expect(largest(run(1e9)(x), run(small)(x))).toBeLessThan(1e-5);
    const slope = (scoreBytes: number) => tf.grad((value: Tensor) => run(scoreBytes)(value).square().sum())(x);
    expect(largest(slope(1e9), slope(small))).toBeLessThan(1e-3);
  });

  it("is not changed by a fresh adapter, and is by a trained one", () => {
    const x = random([1, 4, 12]);
    const fresh = [...initLora(CONFIG, 2, (tensor, element) => ((tensor + 3 * element) % 17) / 17)];
    const set = Object.fromEntries(fresh.map(({ name, shape, values }) => [name, tf.tensor(values, [...shape])]));
    const base = languageForward(view(), CONFIG, x).hidden;
    expect(largest(base, languageForward(weightsView(frozen, set, 2), CONFIG, x).hidden)).toBe(0);
    for (const { name, shape, factor } of loraShapes(CONFIG, 2)) {
      if (factor === "A") continue;
      const trained = { ...set, [name]: random([...shape]) };
      expect(largest(base, languageForward(weightsView(frozen, trained, 2), CONFIG, x).hidden), name).toBeGreaterThan(
        1e-4,
      );
    }
  });

  it("refuses what does not fit together", () => {
    const { cache } = languageForward(view(), CONFIG, random([2, 3, 12]));
    expect(() => languageForward(view(), CONFIG, random([3, 1, 12]), { past: cache })).toThrow(/2 rows/);
    expect(() => languageForward(view(), CONFIG, random([1, 2, 12]), { positions: [[0]] })).toThrow(/Positions/);
    const narrow = { ...CONFIG, window: { size: 2, firstLayer: 0 } };
    expect(() => languageForward(view(), narrow, random([1, 3, 12]), { positions: [[1, 2, 3]] })).toThrow(
      /attention window/,
    );
  });
});

describe("visual tokens in a prompt", () => {
  const places = { imageSpan: { start: 1, end: 5 }, regionSpans: [{ start: 6, end: 8 }] };

  it("fill their places: tiles in order, then copies of the last tile", () => {
    const text = tf.fill([1, 9, 1], -1);
    const visual = tf.tensor2d([10, 11, 12, 13], [4, 1]);
    const out = spliceVisual(text, places, visual, [Uint8Array.of(1, 1)], 2);
    expect(Array.from(out.dataSync())).toEqual([-1, 10, 11, 12, 13, -1, 12, 13, -1]);
  });

  it("count every copy in the gradient", () => {
    const text = tf.zeros([1, 9, 1]);
    const weight = tf.tensor3d([1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 9, 1]);
    const slope = tf.grad((visual: Tensor) =>
      spliceVisual(text, places, visual, [Uint8Array.of(1, 1)], 2)
        .mul(weight)
        .sum(),
    )(tf.tensor2d([10, 11, 12, 13], [4, 1]));
    expect(Array.from(slope.dataSync())).toEqual([2, 3, 4 + 7, 5 + 8]);
  });

  it("must agree in number", () => {
    const text = tf.zeros([1, 9, 1]);
    expect(() => spliceVisual(text, places, tf.zeros([3, 1]), [Uint8Array.of(1, 1)], 2)).toThrow(
      /4 \+ 2 places for 3 \+ 2/,
    );
    expect(() => spliceVisual(text, places, tf.zeros([4, 1]), [Uint8Array.of(0, 0)], 2)).toThrow(/Region 1/);
  });
});
