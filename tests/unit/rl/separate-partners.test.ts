/** Which weights the partner of a loop has. */
import { beforeAll, expect, test } from "vitest";
import { requireConfig } from "../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import type { Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { LOOPS, type LoopId } from "../../../src/engine/rl/loops/abouts.ts";
import { freshState } from "../../../src/engine/rl/optim/training-state.ts";
import { partnerOf } from "../../../src/engine/rl/step/sample.ts";
import { runWeights, type Step } from "../../../src/engine/rl/step/step.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const BLOCKS: Readonly<Record<string, string>> = {
  "mlp1.1.weight": "projector",
  "layers.0.lora_A.weight": "lora.layer.0",
  "text_hidden_fcs.0.weight": "seg-prompt",
  "mask_decoder.weight": "mask-decoder",
};
const FROZEN = "frozen.weight";

/** "start" or "ema" by name, for one loop's partner. */
function followed(loop: LoopId, changes: Partial<LabConfig>): Record<string, string> {
  const params = Object.fromEntries(Object.keys(BLOCKS).map((name) => [name, tf.zeros([1])]));
  const state = freshState(params, (name) => BLOCKS[name] as string, 1);
  // As an update replaces the average.
  state.ema = Object.fromEntries(Object.keys(BLOCKS).map((name) => [name, tf.ones([1])]));
  const model = { base: new Map(), frozen: new Map([[FROZEN, tf.scalar(7)]]) } as unknown as Sa2vaModel;
  const config = requireConfig(changes);
  const step = { model, config, partner: runWeights(model, () => state.ema, 1, config) } as unknown as Step;
  const own = partnerOf(state, step, loop);
  state.ema = { ...state.ema, "mask_decoder.weight": tf.tensor1d([2]) };
  expect(own.get(FROZEN).dataSync()[0]).toBe(7);
  return Object.fromEntries(
    Object.keys(BLOCKS).map((name) => [BLOCKS[name], own.get(name) === state.ema[name] ? "ema" : "start"]),
  );
}

test("one partner follows everything that any loop trains, also after later updates", () => {
  for (const loop of [1, 2] as const) {
    expect(new Set(Object.values(followed(loop, { loop2Reach: "masks" })))).toEqual(new Set(["ema"]));
  }
});

test("with separate partners each follows what its own loop trains", () => {
  const language = { projector: "ema", "lora.layer.0": "ema" };
  const masks = { "seg-prompt": "ema", "mask-decoder": "ema" };
  const start = (own: object) => Object.fromEntries(Object.keys(own).map((name) => [name, "start"]));
  const apart = { partnerScope: "loop" } as const;
  for (const { id } of LOOPS.filter(({ samples }) => samples === "text")) {
    expect(followed(id, apart)).toEqual({ ...language, ...start(masks) });
  }
  expect(followed(2, { ...apart, loop2Reach: "masks" })).toEqual({ ...start(language), ...masks });
  expect(followed(2, { ...apart, loop2Reach: "all" })).toEqual({ ...language, ...masks });
});
