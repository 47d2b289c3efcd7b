import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { uniform } from "../../../src/engine/gpu/random.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { weightsView } from "../../../src/engine/model/weights/weights.ts";
import { sftBatch } from "../../../src/plugins/supervised/batch.ts";
import { SFT_DEFAULTS, sftLoss } from "../../../src/plugins/supervised/forward.ts";
import { pocketBatch } from "../../../tools/pocket/batch.ts";
import { POCKET_LOSS, type PocketSettings, pocketLoss } from "../../../tools/pocket/loss.ts";
import { disposeTiny, type TinySft, tinySft, trainables } from "../../support/tiny-sft.ts";

let tiny: TinySft;

beforeAll(async () => {
  await tf.setBackend("cpu");
  tiny = await tinySft();
});
afterAll(() => disposeTiny(tiny));

const DECODER = "grounding_encoder.sam2_model.sam_mask_decoder";
/** One of every kind the loss goes through. */
const CHECKED = [
  "mlp1.1.weight",
  "language_model.model.embed_tokens.weight",
  "language_model.model.layers.0.self_attn.k_proj.weight",
  "text_hidden_fcs.0.weight",
  "grounding_encoder.sam2_model.sam_prompt_encoder.no_mask_embed.weight",
  `${DECODER}.transformer.layers.0.cross_attn_image_to_token.q_proj.weight`,
  `${DECODER}.output_upscaling.0.weight`,
  `${DECODER}.output_hypernetworks_mlps.2.layers.1.weight`,
];
const SETTINGS = { ...POCKET_LOSS, diceWeight: 0.5, iouWeight: 0, featureWeight: 0 };
const IOU_HEAD = `${DECODER}.iou_prediction_head.layers.2.weight`;
const STEP = 2e-3;

/** Compares slope and central difference along one direction per tensor. */
async function checkSlopes(names: readonly string[], settings: PocketSettings, rows: number): Promise<void> {
  const { model, features } = tiny;
  const regions = tiny.regions.slice(0, rows);
  const batch = pocketBatch(model, features, [regions]);
  const own = trainables(model, (name) => names.includes(name));
  expect(Object.keys(own).length).toBe(names.length);
  const stored = new Map([...model.frozen, ...model.base]);
  const loss = (set: Record<string, Tensor>): Tensor =>
    tf.tidy(() => pocketLoss(model, weightsView(stored, set, 0), features, batch, settings).loss);
  const { value, grads } = tf.engine().gradients(
    () => loss(own),
    names.map((name) => own[name] as Tensor),
  );
  for (const [at, name] of names.entries()) {
    const tensor = own[name] as Tensor;
    const gradient = await (grads[at] as Tensor).data();
    // A direction of signs that mostly agree with the gradient, so that rounding of the loss does not hide it.
    const direction = Float32Array.from(gradient, (slope, position) => {
      const draw = uniform({ seed: 1, step: 0, loop: 0, row: at, rollout: 0, position, stream: 3 });
      return position % 3 === 0 ? Math.sign(draw - 0.5) : Math.sign(slope);
    });
    const length = Math.sqrt(tensor.size);
    const slope = direction.reduce((sum, d, i) => sum + d * (gradient[i] as number), 0) / length;
    const moved = async (by: number): Promise<number> => {
      const shifted = tf.tidy(() => tensor.add(tf.tensor(direction, tensor.shape).mul(by / length)));
      const result = loss({ ...own, [name]: shifted });
      const [number] = await result.data();
      tf.dispose([shifted, result]);
      return number as number;
    };
    const difference = ((await moved(STEP)) - (await moved(-STEP))) / (2 * STEP);
    expect(Math.abs(slope), name).toBeGreaterThan(1e-4);
    expect(Math.abs(difference - slope), name).toBeLessThan(0.03 * Math.abs(slope) + 2e-4);
  }
  tf.dispose([value, ...grads, ...Object.values(own)]);
}

describe("gradient of the supervised loss", () => {
  it("agrees with central differences in every part of the model", async () => {
    await checkSlopes(CHECKED, SETTINGS, 1);
  });

  // The real IoU jumps where a logit crosses 0, so only the head that predicts it is checked with its term.
  it("agrees with central differences in the head that predicts IoU", async () => {
    await checkSlopes([IOU_HEAD], { ...SETTINGS, iouWeight: 1 }, 2);
  });

  it("does not reach candidates and heads that the published recipe leaves alone", async () => {
    const { model, features, regions } = tiny;
    const batch = sftBatch(model, features, [regions]);
    const own = trainables(model, (name) => name.startsWith(`${DECODER}.iou_prediction_head`));
    const stored = new Map([...model.frozen, ...model.base]);
    const names = Object.keys(own);
    const { value, grads } = tf.engine().gradients(
      () => sftLoss(model, weightsView(stored, own, 0), features, batch, SFT_DEFAULTS).loss,
      names.map((name) => own[name] as Tensor),
      undefined,
      true,
    );
    for (const gradient of grads as (Tensor | null | undefined)[]) {
      if (gradient === null || gradient === undefined) continue;
      expect(Math.max(...(await gradient.abs().data()))).toBe(0);
    }
    tf.dispose([value, ...grads, ...Object.values(own)]);
  });
});
