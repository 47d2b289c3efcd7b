/** The parts of a sampled answer's log-probability: tokens, [SEG], and the mask behind it. */
import { beforeAll, expect, test } from "vitest";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import type { Completion } from "../../../src/engine/policy/decode/generate.ts";
import { FULL_SAMPLING } from "../../../src/engine/policy/decode/sampler.ts";
import type { MaskDraws } from "../../../src/engine/policy/mask/mask-policy.ts";
import type { PhraseOutput } from "../../../src/engine/policy/phrase-output.ts";
import { answerPolicy, maskLogProb, onGrid } from "../../../src/plugins/mask-policies/answer-policy.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const [SEG, END, SIDE] = [9, 1, 32];
const said = (ids: readonly number[], ended = true): Completion => {
  return { ids, ended, logps: ids.map(() => 0), entropies: ids.map(() => 0) };
};
/** With [SEG]; with text behind it that was never sampled; ended without; cut off without. */
const TEXTS = [said([3, SEG]), said([SEG]), said([4, 5, END]), said([6, 7, 8], false)];
const DRAWS: MaskDraws = {
  normal: () => 0,
  uniform: () => 0.5,
  token: (rollout) => ({ seed: 1, step: 1, loop: 2, row: 0, rollout, position: 0, stream: 1 }),
};

/** Masks of waves that the state of [SEG] shifts; token t of every answer has log-probability −(t + 1) · size. */
function outputOf(size: number): PhraseOutput {
  const masks = (states: Tensor) =>
    tf.tidy(() => {
      const rows = states.shape[0] as number;
      const waves = tf.tensor1d(Array.from({ length: 4 * SIDE * SIDE }, (_, i) => 3 * Math.sin(0.11 * i)));
      return waves.reshape([1, 4, SIDE, SIDE]).add(states.mean(1).reshape([rows, 1, 1, 1]).mul(size));
    });
  const decode = (states: Tensor) => {
    const iou = tf.tensor2d(Array.from({ length: states.shape[0] as number }, () => [0, 0.1, 0.7, 0.3]));
    return { masks: masks(states), iou, objectScore: iou };
  };
  const language = tf.ones([1, 3]);
  return {
    language,
    decode,
    decoded: () => decode(language),
    click: decode,
    otherPrompts: () => null,
    text: {
      segment: SEG,
      word: String,
      words: (ids) => ids.join(" "),
      sample: async (count) => TEXTS.slice(0, count),
      score: (answers, places) => {
        const width = Math.max(...answers.map(({ ids }) => ids.length));
        const row = Array.from({ length: width }, (_, t) => -(t + 1) * size);
        const states = answers.map(({ ids }, n) => [ids.length, places[n] as number, ids[0] as number]);
        return {
          logps: tf.tensor2d(answers.map(() => row)),
          entropies: tf.ones([answers.length, width]),
          language: tf.tensor2d(states).div(5),
        };
      },
    },
  };
}

const SAMPLER = FULL_SAMPLING as Parameters<typeof answerPolicy>[0];

test("the mask's part joins [SEG] alone, and stands alone where [SEG] was appended", async () => {
  const output = outputOf(0.5);
  const acted = await answerPolicy(SAMPLER, 3, true)(output, 4, DRAWS);
  expect(acted.actions).toBe(4);
  expect([...(acted.active as Float32Array)]).toEqual([1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1]);
  expect(acted.answers).toEqual([
    { text: "3 9", segments: 1, truncated: false },
    { text: "9", segments: 1, truncated: false },
    { text: "4 5 9", segments: 0, truncated: false },
    { text: "6 7 8 9", segments: 0, truncated: true },
  ]);
  const own = onGrid(acted.logits);
  const parts = await maskLogProb(own, own.greater(0).toFloat()).data();
  const [a, b, c, d] = [...parts] as [number, number, number, number];
  const wanted = [[-0.5, -1 + a], [-0.5 + b], [-0.5, -1, c], [-0.5, -1, -1.5, d]];
  for (const [n, row] of wanted.entries()) {
    for (const [t, value] of row.entries()) expect(acted.logps[4 * n + t]).toBeCloseTo(value, 5);
  }
  // Other weights are compared with the masks that were sampled, not with their own.
  const other = outputOf(-2);
  const { logps } = acted.logProbs(other);
  const moved = await logps.data();
  expect(moved[4 * 2 + 2]).toBeLessThan(c);
  const same = await acted.logProbs(output).logps.data();
  for (const [at, value] of acted.logps.entries()) expect(same[at]).toBeCloseTo(value, 6);
  acted.dispose();
});

test("without appending, an answer without [SEG] has no mask and no part of one", async () => {
  const acted = await answerPolicy(SAMPLER, 3, false)(outputOf(0.5), 4, DRAWS);
  expect(acted.actions).toBe(3);
  const inside = await acted.logits.greater(0).toFloat().mean([1, 2]).data();
  expect([...inside].map((share) => share > 0)).toEqual([true, true, false, false]);
  expect([...acted.logps.subarray(6)].map((value) => Number(value.toFixed(6)))).toEqual([
    -0.5, -1, -1.5, -0.5, -1, -1.5,
  ]);
  acted.dispose();
});

test("nothing is left on the device", async () => {
  const policy = answerPolicy(SAMPLER, 3, true);
  const output = outputOf(1);
  const decoded = output.decoded();
  const before = tf.memory().numTensors;
  const acted = await policy({ ...output, decoded: () => decoded }, 4, DRAWS);
  expect(tf.memory().numTensors).toBeGreaterThan(before);
  acted.dispose();
  tf.dispose([acted.logits, acted.greedy]);
  expect(tf.memory().numTensors).toBe(before);
});
