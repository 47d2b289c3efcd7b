/**
 * The update at the end of a training step: norm and finiteness of the gradient, clip, AdamW, moving average and its
 * distance, by the function the trainer calls; the same arithmetic in one jitted function of jax-js.
 */
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { openSa2va } from "../../src/engine/model/sa2va.ts";
import {
  disposeState,
  freshState,
  gradientSum,
  type TrainingState,
  updateState,
} from "../../src/engine/rl/optim/training-state.ts";
import { startState } from "../../src/engine/rl/run/start/run-facts.ts";
import { type JaxArray, type JaxLibrary, settle, toJax } from "../baselines/jax.ts";
import { tensorBaseline } from "../baselines/tensors.ts";
import type { BenchContext } from "../context.ts";
import type { Pocket } from "../pocket.ts";
import type { OpenedCase } from "./opened.ts";

type Shape = readonly number[];
const several = (count: number, ...shapes: Shape[]): Shape[] => Array.from({ length: count }, () => shapes).flat();

export interface UpdateCase {
  readonly name: string;
  /** Shapes of the trainable tensors. */
  readonly shapes: (openPocket: () => Promise<Pocket>) => Promise<readonly Shape[]>;
}

async function pocketShapes(openPocket: () => Promise<Pocket>): Promise<readonly Shape[]> {
  const model = await openSa2va((await openPocket()).model, "pocket");
  const state = await startState(model, requireConfig({}, presetConfig("demo"), "bench"));
  const shapes = Object.values(state.params).map(({ shape }) => shape);
  disposeState(state);
  model.dispose();
  return shapes;
}

export const UPDATES: readonly UpdateCase[] = [
  { name: "norm, clip, AdamW, average: all that the pocket model trains", shapes: pocketShapes },
  {
    // Rank 128 on the seven linear layers of one of the 24 blocks.
    name: "norm, clip, AdamW, average: a block of Sa2VA-1B, 2.9 million",
    shapes: async () => [
      ...several(2, [128, 896], [896, 128]),
      ...several(2, [128, 896], [128, 128]),
      ...several(2, [128, 896], [4864, 128]),
      ...several(1, [128, 4864], [896, 128]),
    ],
  },
];

/** Tensors of one jitted function; with hundreds it compiles for minutes. */
const MOST_JITTED = 32;

const MOMENTS = { beta1: 0.9, beta2: 0.999, eps: 1e-8, rate: 1e-4, decay: 0.999 };

export async function openUpdate(
  { name, shapes: shapesOf }: UpdateCase,
  { jax, openPocket, leftOut }: Pick<BenchContext, "jax" | "openPocket" | "leftOut">,
): Promise<OpenedCase> {
  const shapes = await shapesOf(openPocket);
  const many = shapes.length > MOST_JITTED;
  if (many && jax !== undefined) leftOut(`jax-js, ${name}`, `one jitted function of ${shapes.length} tensors`);
  const drawn = (seed: number): Record<string, Tensor> =>
    Object.fromEntries(shapes.map((shape, i) => [`t${i}`, tf.randomNormal([...shape], 0, 1, "float32", seed + i)]));
  const gradients = drawn(1);
  const config = requireConfig({ maxGradNorm: 1 }, presetConfig("demo"), "bench");
  // Each baseline keeps its weights and moments.
  const states = { own: freshState(drawn(1000), () => "all", 1), stock: freshState(drawn(1000), () => "all", 1) };
  const update = (state: TrainingState) => async (): Promise<Tensor[]> => {
    const sum = gradientSum(state);
    // The call consumes them; a clone shares the data.
    sum.add(Object.fromEntries(Object.entries(gradients).map(([name, gradient]) => [name, gradient.clone()])));
    await updateState(state, { sum, loops: [], dot: 0 }, config, async () => undefined);
    return [];
  };
  const peer = jax === undefined || many ? undefined : await jaxUpdate(jax, Object.values(gradients));
  return {
    baselines: {
      own: tensorBaseline(true, update(states.own)),
      stock: tensorBaseline(false, update(states.stock)),
      ...(peer === undefined ? {} : { jaxjs: peer.run }),
    },
    async dispose() {
      disposeState(states.own);
      disposeState(states.stock);
      tf.dispose(Object.values(gradients));
      for (const array of peer?.held ?? []) array.dispose();
    },
  };
}

async function jaxUpdate(jax: JaxLibrary, tensors: readonly Tensor[]) {
  const { numpy: np } = jax;
  const { beta1, beta2, eps, rate, decay } = MOMENTS;
  const count = tensors.length;
  // Gradient, weight, both moments and average of every tensor, one after the other.
  const held: JaxArray[] = [];
  for (let set = 0; set < 5; set++) for (const tensor of tensors) held.push(await toJax(jax, tensor.abs()));
  const step = jax.jit((...given: JaxArray[]) => {
    const [grads, params, firsts, seconds, means] = Array.from({ length: 5 }, (_, set) =>
      given.slice(set * count, (set + 1) * count),
    ) as [JaxArray[], JaxArray[], JaxArray[], JaxArray[], JaxArray[]];
    const squares = grads.map((grad) => np.sum(np.square(grad.ref)));
    const norm = np.sqrt(squares.reduce((a, b) => a.add(b)));
    const factor = np.minimum(np.reciprocal(norm.ref.add(1e-6)), 1);
    const results: JaxArray[] = [];
    let apart: JaxArray | undefined;
    grads.forEach((grad, i) => {
      const clipped = grad.mul(factor.ref);
      const m = (firsts[i] as JaxArray).mul(beta1).add(clipped.ref.mul(1 - beta1));
      const v = (seconds[i] as JaxArray).mul(beta2).add(np.square(clipped).mul(1 - beta2));
      const next = (params[i] as JaxArray).sub(m.ref.div(np.sqrt(v.ref).add(eps)).mul(rate));
      const old = means[i] as JaxArray;
      const mean = old.ref.add(next.ref.sub(old).mul(1 - decay));
      const distance = np.sum(np.square(next.ref.sub(mean.ref)));
      apart = apart === undefined ? distance : apart.add(distance);
      results.push(next, m, v, mean);
    });
    factor.dispose();
    return [...results, apart as JaxArray, norm];
  });
  const run = async (calls: number): Promise<void> => {
    for (let i = 0; i < calls; i++) {
      const results = step(...held.map((array) => array.ref)) as JaxArray[];
      await settle(results);
      // As in ours: the norm decides whether the step happens, so every step reads it.
      await (results.pop() as JaxArray).data();
      await (results.pop() as JaxArray).data();
      for (const array of results) array.dispose();
    }
  };
  return { run, held };
}
