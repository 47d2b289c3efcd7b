import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { sftBatch } from "../../src/engine/sft/batch.ts";
import { SFT_DEFAULTS } from "../../src/engine/sft/forward.ts";
import { SftTrainer } from "../../tools/pocket/trainer.ts";
import { useGpu } from "../support/gpu.ts";
import { disposeTiny, type TinySft, tinySft, trainables } from "../support/tiny-sft.ts";

let engine: EngineDevice;
let tiny: TinySft;
beforeAll(async () => {
  engine = await useGpu();
  tiny = await tinySft();
});
afterAll(() => disposeTiny(tiny));

const STEPS = 24;

describe("supervised training on the GPU", () => {
  it("overfits one picture: tokens and masks both, with steady memory", async () => {
    const { model, features, regions } = tiny;
    const start = trainables(
      model,
      (name) => !/vision_model|image_encoder|gaussian_matrix|mask_downscaling/.test(name),
    );
    const loss = { ...SFT_DEFAULTS, candidateShare: 0.1, iouWeight: 0.5, pointingWeight: 1, trainEmbedding: true };
    const schedule = { kind: "constant" } as const;
    const settings = { loss, learningRate: 4e-3, schedule, maxGradNorm: 1, emaDecay: 0.9, loraScale: 0 };
    const trainer = new SftTrainer(model, start, settings);
    const shape = { captionTokens: 0, segmentTokens: 0, maskTarget: "area" } as const;
    const batch = sftBatch(model, features.tiles, [regions], shape);
    const first = await trainer.step([{ batch, features }]);
    const tensors = tf.memory().numTensors;
    let last = first;
    for (let step = 1; step < STEPS; step++) last = await trainer.step([{ batch, features }]);
    engine.check();
    expect(tf.memory().numTensors).toBe(tensors);
    expect(last.stepped).toBe(true);
    expect(last.parts.token).toBeLessThan(0.3 * first.parts.token);
    expect(last.parts.dice).toBeLessThan(0.75 * first.parts.dice);
    expect(last.parts.pointing).toBeLessThan(first.parts.pointing);
    trainer.dispose();
    tf.dispose(Object.values(start));
  });
});
