import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { pocketBatch } from "../../../tools/pocket/batch.ts";
import { clusterInterval } from "../../../tools/pocket/evaluate.ts";
import { POCKET_LOSS } from "../../../tools/pocket/loss.ts";
import { pack, packedLayout, unpack } from "../../../tools/pocket/packed.ts";
import { SftTrainer, type SftVectors } from "../../../tools/pocket/trainer.ts";
import { expectSameBits } from "../../support/same-bits.ts";
import { disposeTiny, type TinySft, tinySft, trainables } from "../../support/tiny-sft.ts";

let tiny: TinySft;
beforeAll(async () => {
  await tf.setBackend("cpu");
  tiny = await tinySft();
});
afterAll(() => disposeTiny(tiny));

const SETTINGS = {
  loss: { ...POCKET_LOSS, featureWeight: 0 },
  learningRate: 1e-3,
  schedule: { kind: "cosine", warmupSteps: 0, totalSteps: 10, floor: 0, cycles: 0.5 },
  maxGradNorm: 1,
  emaDecay: 0.9,
  loraScale: 0,
} as const;

async function train(steps: number, resume?: SftVectors): Promise<{ vectors: SftVectors; losses: number[] }> {
  const { model, features, regions } = tiny;
  const start = trainables(model, (name) => /^(mlp1|text_hidden_fcs)\./.test(name));
  const trainer = new SftTrainer(model, start, SETTINGS, resume);
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) {
    const micro = regions.map((region) => ({ batch: pocketBatch(model, features, [[region]]), features }));
    losses.push((await trainer.step(micro)).loss);
  }
  const vectors = await trainer.vectors();
  trainer.dispose();
  tf.dispose(Object.values(start));
  return { vectors, losses };
}

describe("supervised trainer", () => {
  it("repeats and resumes bit for bit, lowers the loss and leaves nothing behind", async () => {
    const before = tf.memory().numTensors;
    const whole = await train(2);
    const half = await train(1);
    const rest = await train(1, half.vectors);
    expect([...half.losses, ...rest.losses]).toEqual(whole.losses);
    expect(rest.vectors.step).toBe(whole.vectors.step);
    for (const part of ["params", "ema", "m", "v"] as const)
      expectSameBits(rest.vectors[part], whole.vectors[part], part);
    expect(whole.losses.at(-1)).toBeLessThan(whole.losses[0] as number);
    expect(tf.memory().numTensors).toBe(before);
  });

  it("refuses the vectors of another model", async () => {
    const wrong = new Float32Array(3);
    await expect(train(1, { step: 1, params: wrong, ema: wrong, m: wrong, v: wrong })).rejects.toThrow(/another size/);
  });

  it("packs and unpacks any number of tensors, absent ones as zero", async () => {
    const set: Record<string, Tensor> = {};
    for (let at = 0; at < 40; at++) set[`t${at}`] = tf.range(at, at + 1 + (at % 5)).reshape([1, -1]);
    const layout = packedLayout(set, Object.keys(set));
    const flat = pack(layout, { ...set, t7: undefined });
    const back = unpack(layout, flat);
    for (const [name, tensor] of Object.entries(set)) {
      const wanted = name === "t7" ? new Float32Array(tensor.size) : await tensor.data();
      expect(back[name]?.shape).toEqual(tensor.shape);
      expect(Array.from((await back[name]?.data()) as Float32Array)).toEqual(Array.from(wanted));
    }
    tf.dispose([flat, ...Object.values(set), ...Object.values(back)]);
  });
});

describe("cluster interval", () => {
  it("is wider when regions of a picture agree than when they are distinguished", () => {
    const values = Array.from({ length: 60 }, (_, at) => Number(at % 6 < 3));
    const byPicture = clusterInterval(
      values,
      values.map((_, at) => Math.floor(at / 3)),
      5,
    );
    const apart = clusterInterval(
      values,
      values.map((_, at) => at),
      5,
    );
    expect(byPicture.mean).toBe(0.5);
    expect(byPicture.high - byPicture.low).toBeGreaterThan(1.3 * (apart.high - apart.low));
    expect(apart.low).toBeLessThan(0.5);
    expect(apart.high).toBeGreaterThan(0.5);
  });
});
