/** Rows of one batch are padded to the longest; alone each has its own length. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { weightsView } from "../../../src/engine/model/weights/weights.ts";
import { type SftRegion, sftBatch } from "../../../src/plugins/supervised/batch.ts";
import { SFT_DEFAULTS, type SftSettings, sftLoss } from "../../../src/plugins/supervised/forward.ts";
import { disposeTiny, type TinySft, tinySft, trainables } from "../../support/tiny-sft.ts";

let tiny: TinySft;
beforeAll(async () => {
  await tf.setBackend("cpu");
  tiny = await tinySft();
});
afterAll(() => disposeTiny(tiny));

const TRAINED = [
  "mlp1.1.weight",
  "language_model.model.layers.0.self_attn.k_proj.weight",
  "text_hidden_fcs.0.weight",
  "grounding_encoder.sam2_model.sam_mask_decoder.output_upscaling.0.weight",
];
const SHAPE = { captionTokens: 0, segmentTokens: 0, maskTarget: "nearest" } as const;

/** Labelled tokens, and loss and gradients one after the other. */
async function lossOf(rows: readonly SftRegion[], changes: Partial<SftSettings>) {
  const { model, features } = tiny;
  const batch = sftBatch(model, features, [rows], SHAPE);
  const own = trainables(model, (name) => TRAINED.includes(name));
  const view = weightsView(new Map([...model.frozen, ...model.base]), own, 0);
  const { value, grads } = tf.engine().gradients(
    () => sftLoss(model, view, features, batch, { ...SFT_DEFAULTS, ...changes }).loss.asScalar(),
    TRAINED.map((name) => own[name] as Tensor),
    undefined,
    true,
  );
  const reached = grads.filter((grad) => (grad as Tensor | null) !== null);
  const numbers: number[] = [];
  for (const tensor of [value, ...reached]) numbers.push(...(await tensor.data()));
  tf.dispose([value, ...reached, ...Object.values(own)]);
  const tokens = batch.caption.labelled.flat().reduce((sum, labelled) => sum + labelled, 0);
  return { tokens, numbers };
}

it.each([
  ["tokens", { bceWeight: 0, diceWeight: 0 }],
  ["masks", { tokenWeight: 0 }],
] as const)(
  "rows of very different length have the loss and the gradient that they have alone: %s",
  async (name, changes) => {
    const [first, second] = tiny.regions as [SftRegion, SftRegion];
    const rows = [
      { ...first, caption: "", phrase: "the blue circle ".repeat(6) },
      { ...second, caption: "a red square ".repeat(8), phrase: "" },
      { ...first, caption: "blue", phrase: "a" },
    ];
    const whole = await lossOf(rows, changes);
    const alone = await Promise.all(rows.map((row) => lossOf([row], changes)));
    // Every token counts alike, and every mask.
    const shares = alone.map(({ tokens }) => (name === "tokens" ? tokens / whole.tokens : 1 / rows.length));
    const summed = whole.numbers.map((_, at) =>
      alone.reduce((sum, { numbers }, row) => sum + (shares[row] as number) * (numbers[at] as number), 0),
    );
    expect(whole.numbers.length).toBeGreaterThan(1000);
    expect(Math.max(...summed.slice(1).map(Math.abs))).toBeGreaterThan(0.03);
    for (const [at, wanted] of summed.entries())
      expect(Math.abs((whole.numbers[at] as number) - wanted)).toBeLessThan(2e-6);
  },
);
