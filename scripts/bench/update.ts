/** What follows the gradients of a step, over the trainable set of the pocket model: norm and health, AdamW, moving average. */
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import { summaryPass } from "../../src/engine/gpu/flat/passes.ts";
import { summarise } from "../../src/engine/gpu/kernels/summary.ts";
import { ownKernels } from "../../src/engine/gpu/own-kernels.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { openSa2va } from "../../src/engine/model/sa2va.ts";
import { moveAverage } from "../../src/engine/rl/ema.ts";
import { GradientSum } from "../../src/engine/rl/gradient-sum.ts";
import { ADAM_DEFAULTS, AdamState, applyAdamw } from "../../src/engine/rl/optimiser.ts";
import { copySet, disposeSet, mapSet } from "../../src/engine/rl/parameter-sets.ts";
import { startState } from "../../src/engine/rl/start-run.ts";
import { disposeState } from "../../src/engine/rl/training-state.ts";
import { nodeFolder } from "../lib/node-files.ts";
import { POCKET_MODEL } from "../lib/node-rows.ts";

export const updateCase = {
  name: "norm, AdamW and average of the pocket model's trainable set",

  async open(): Promise<{ readonly own: () => Tensor[]; readonly dispose: () => void }> {
    const model = await openSa2va(await nodeFolder(POCKET_MODEL), "pocket");
    const config = requireConfig({}, presetConfig("demo"), "bench");
    const start = startState(model, config);
    const params = mapSet(start.params, (tensor) => tensor.add(0));
    disposeState(start);
    model.dispose();
    const gradients = mapSet(params, (tensor) => tf.randomNormal(tensor.shape, 0, 1, "float32", 1));
    // Each contender keeps the moments as it left them.
    const states = { own: AdamState.fresh(params), stock: AdamState.fresh(params) };
    const own = (): Tensor[] => {
      const state = ownKernels() ? states.own : states.stock;
      const sum = new GradientSum(state.layout);
      sum.add(copySet(gradients));
      const health =
        sum.flats === undefined ? summarise(Object.values(gradients)) : summaryPass(state.layout, sum.flats);
      const next = applyAdamw(params, sum, state, 1e-4, { ...ADAM_DEFAULTS, weightDecay: 0.01 }, 0.5);
      sum.dispose();
      const { next: average, distance } = moveAverage(params, next, 0.999, state.layout);
      return [health, ...Object.values(next), ...(distance === undefined ? [] : [distance]), ...Object.values(average)];
    };
    return {
      own,
      dispose() {
        for (const set of [params, gradients]) disposeSet(set);
        states.own.dispose();
        states.stock.dispose();
      },
    };
  },
};
