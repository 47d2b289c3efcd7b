import { beforeAll, describe, expect, it } from "vitest";
import { normal } from "../../../src/engine/gpu/random.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { selectMask } from "../../../src/engine/model/sam2/mask-decoder.ts";
import type { MaskDraws } from "../../../src/engine/policy/mask/mask-policy.ts";
import { distinctMasks, proposalPolicy } from "../../../src/engine/policy/mask/proposal-policy.ts";
import type { PhraseOutput } from "../../../src/engine/policy/phrase-output.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const SIDE = 6;
const SETTINGS = {
  noise: { sigma: 1, unit: "relative" },
  overlap: 0.5,
  phrases: false,
  points: 0,
  temperature: 3,
  candidateTemperature: 0.2,
} as const;
const DRAWS: MaskDraws = {
  normal: (rollout, position) => normal({ seed: 3, step: 1, loop: 2, row: 0, rollout, position, stream: 1 }),
  uniform: () => 0.5,
};

/** Four masks of waves that run as the prompt says: another prompt, another mask. */
function masksFor(prompts: Tensor): Tensor {
  return tf.tidy(() => {
    const rows = prompts.shape[0] as number;
    const waves = Array.from({ length: 5 * 4 * SIDE * SIDE }, (_, i) => 2 * Math.sin(0.37 * i * (1 + (i % 5))));
    return tf.matMul(prompts as tf.Tensor2D, tf.tensor2d(waves, [5, 4 * SIDE * SIDE])).reshape([rows, 4, SIDE, SIDE]);
  });
}

/** Candidates 1 to 3 of one prompt, flat. */
function candidates(masks: Tensor): Tensor {
  return masks.slice([0, 1, 0, 0], [1, 3, SIDE, SIDE]).reshape([-1]);
}

/** Phrase output of these masks [1, 4, h, w] and predicted IoUs [1, 4]. */
function outputOf(language: Tensor, masks: Tensor, iou: Tensor, other?: readonly number[]): PhraseOutput {
  return {
    // A click finds what a prompt of its place would.
    click: (points: Tensor) => ({
      masks: masksFor(tf.concat([points, points, points.slice([0, 0], [-1, 1])], 1)),
      iou: tf.zeros([points.shape[0] as number, 4]),
      objectScore: tf.zeros([points.shape[0] as number, 1]),
    }),
    otherPrompts: () => (other === undefined ? null : tf.tensor2d([[...other]])),
    language,
    decoded: () => ({ masks, iou, objectScore: iou }),
    decode: (prompts: Tensor) => ({
      masks: masksFor(prompts),
      iou: tf.zeros([prompts.shape[0] as number, 4]),
      objectScore: tf.zeros([prompts.shape[0] as number, 1]),
    }),
  };
}

async function acted(count = 6, other?: readonly number[], points = 0) {
  const language = tf.tensor2d([[0.4, -0.2, 0.7, 0.1, -0.5]]);
  const [masks, iou] = [masksFor(language), tf.tensor2d([[0.5, 0.3, 0.6, 0.4]])];
  const actions = await proposalPolicy({ ...SETTINGS, points, phrases: other !== undefined })(
    outputOf(language, masks, iou, other),
    count,
    DRAWS,
  );
  return { language, masks, iou, actions };
}

describe("distinct masks", () => {
  const masks = (...rows: readonly string[]) => Float32Array.from(rows.join(""), (mark) => (mark === "#" ? 1 : -1));

  it("keep the first, and each that overlaps none of them by more", () => {
    const all = masks("####....", "###.....", "....##..", "....###.", ".......#");
    expect(distinctMasks(all, 8, 0.5, 9)).toEqual([0, 2, 4]);
    expect(distinctMasks(all, 8, 0.7, 9)).toEqual([0, 2, 3, 4]);
    expect(distinctMasks(all, 8, 0.8, 9)).toEqual([0, 1, 2, 3, 4]);
  });

  it("drop empty ones, but not the first, and are no more than asked for", () => {
    expect(distinctMasks(masks("........", "........", "##......"), 8, 0.5, 9)).toEqual([0, 2]);
    expect(distinctMasks(masks("#.......", ".#......", "..#....."), 8, 0.5, 2)).toEqual([0, 1]);
  });
});

describe("the proposal policy", () => {
  it("proposes several different masks, the greedy one first, with probabilities that sum to 1", async () => {
    const { actions } = await acted();
    const rows = actions.labels.length;
    expect(rows).toBeGreaterThan(2);
    expect(rows).toBeLessThanOrEqual(6);
    const flat = (await actions.logits.data()) as Float32Array;
    expect(distinctMasks(flat, SIDE * SIDE, SETTINGS.overlap, 99)).toHaveLength(rows);
    expect(Array.from(flat.subarray(0, SIDE * SIDE))).toEqual(Array.from(await actions.greedy.data()));
    expect((actions.probabilities ?? []).reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 5);
  });

  it("takes for greedy what the partner would select, however close the predicted IoUs are", async () => {
    const language = tf.tensor2d([[0.4, -0.2, 0.7, 0.1, -0.5]]);
    const [masks, iou] = [masksFor(language), tf.tensor2d([[0, 1 - 2 ** -24, 1, 1]])];
    const { greedy } = await proposalPolicy(SETTINGS)(outputOf(language, masks, iou), 2, DRAWS);
    expect(await greedy.data()).toEqual(await selectMask(masks, iou).mask.data());
  });

  it("proposes the masks of other phrases before those of noise, and frees their prompts", async () => {
    const other = [-0.3, 0.9, -0.6, 0.2, 0.8];
    const before = tf.memory().numTensors;
    const { language, masks, iou, actions } = await acted(6, other);
    const size = SIDE * SIDE;
    const played = (await actions.logits.data()) as Float32Array;
    const shown = Array.from({ length: actions.labels.length }, (_, k) => played.slice(k * size, (k + 1) * size));
    const found = tf.tidy(() => masksFor(tf.tensor2d([other])).dataSync() as Float32Array);
    const theirs = [1, 2, 3].map((candidate) => found.slice(candidate * size, (candidate + 1) * size));
    expect(theirs.some((mask) => shown.some((own) => own.every((value, at) => value === mask[at])))).toBe(true);
    tf.dispose([actions.logits, actions.greedy, language, masks, iou]);
    actions.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });

  it("proposes the masks of clicks on a grid before those of noise, and frees their masks", async () => {
    const before = tf.memory().numTensors;
    const { language, masks, iou, actions } = await acted(6, undefined, 2);
    const played = (await actions.logits.data()) as Float32Array;
    const size = SIDE * SIDE;
    const own = 4 * size;
    const clicked = tf.tidy(() => {
      const places = [0.25, 0.75].flatMap((y) => [0.25, 0.75].map((x) => [x, y, x, y, x]));
      const found = masksFor(tf.tensor2d(places)).slice([0, 1, 0, 0], [4, 3, SIDE, SIDE]);
      const all = tf.concat([tf.tensor1d(played.slice(0, size)), candidates(masks), found.reshape([-1])]);
      return all.dataSync() as Float32Array;
    });
    const expected = distinctMasks(clicked, size, SETTINGS.overlap, 6);
    expect(expected.some((at) => at * size >= own)).toBe(true);
    for (const [row, at] of expected.entries()) {
      expect(played.slice(row * size, (row + 1) * size)).toEqual(clicked.slice(at * size, (at + 1) * size));
    }
    tf.dispose([actions.logits, actions.greedy, language, masks, iou]);
    actions.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });

  it("gives the same log-probabilities where it acts and where it trains, the same draws every time", async () => {
    const { language, masks, iou, actions } = await acted();
    const { logps, entropies } = actions.logProbs(outputOf(language, masks, iou));
    expect(Array.from(await logps.data())).toEqual(Array.from(actions.logps));
    expect((await entropies.data())[0]).toBeCloseTo(actions.entropies[0] as number, 5);
    const again = await acted();
    expect(Array.from(again.actions.logps)).toEqual(Array.from(actions.logps));
  });

  it("has the gradient of the exact expected reward, in the masks and in the predicted IoUs", async () => {
    const { language, masks, iou, actions } = await acted();
    const rewards = tf.tensor1d(actions.labels.map((_, k) => Math.sin(2 * k + 1)));
    const expected = (m: Tensor, s: Tensor): Tensor =>
      tf.tidy(() =>
        actions
          .logProbs(outputOf(language, m, s))
          .logps.reshape([-1])
          .exp()
          .mul(rewards)
          .sum(),
      );
    // The policy gradient with weights: Σ π · (R − mean) · ∇ log π.
    const probabilities = tf.tensor1d(actions.probabilities as number[]);
    const centred = tf.tidy(() => rewards.sub(probabilities.mul(rewards).sum()));
    const surrogate = (m: Tensor, s: Tensor): Tensor =>
      tf.tidy(() =>
        actions
          .logProbs(outputOf(language, m, s))
          .logps.reshape([-1])
          .mul(probabilities.mul(centred))
          .sum(),
      );
    const [byMasks, byIou] = tf.grads((m, s) => surrogate(m as Tensor, s as Tensor).asScalar())([masks, iou]);
    const check = async (which: 0 | 1, gradient: Tensor, step: number): Promise<number> => {
      const values = (await (which === 0 ? masks : iou).data()) as Float32Array;
      const given = (await gradient.data()) as Float32Array;
      const shape = (which === 0 ? masks : iou).shape;
      let largest = 0;
      for (let at = 0; at < values.length; at += which === 0 ? 7 : 1) {
        const moved = [step, -step].map((delta) => {
          const next = Float32Array.from(values);
          next[at] = (next[at] as number) + delta;
          const tensor = tf.tensor(next, shape);
          return expected(which === 0 ? tensor : masks, which === 1 ? tensor : iou).dataSync()[0] as number;
        }) as [number, number];
        const slope = (moved[0] - moved[1]) / (2 * step);
        expect(given[at]).toBeCloseTo(slope, 3);
        largest = Math.max(largest, Math.abs(slope));
      }
      return largest;
    };
    expect(await check(0, byMasks as Tensor, 0.05)).toBeGreaterThan(1e-3);
    expect(await check(1, byIou as Tensor, 0.02)).toBeGreaterThan(1e-3);
  });

  it("frees everything with its actions", async () => {
    const before = tf.memory().numTensors;
    const { language, masks, iou, actions } = await acted();
    tf.dispose([actions.logits, actions.greedy, language, masks, iou]);
    actions.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });
});
