/** A checkpoint of a few tensors with numbers that are easily lost. */
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import type {
  CheckpointState,
  TensorData,
  TensorMap,
  TensorSet,
  TensorSource,
} from "../../../src/engine/runs/checkpoint/trainer-state.ts";

export const Q = "language_model.model.layers.0.self_attn.q_proj";
export const SHAPES: readonly (readonly [string, readonly number[]])[] = [
  ["mlp1.1.weight", [3, 2]],
  [`${Q}.lora_B.weight`, [4, 2]],
  [`${Q}.lora_A.weight`, [2, 5]],
  ["text_hidden_fcs.0.bias", [7]],
  ["language_model.lm_head.weight", [1, 1]],
];

/** Arrays in memory as the tensors of a checkpoint. */
export function inMemory(map: TensorMap): Map<string, TensorSource> {
  return new Map(
    [...map].map(([name, { shape, data }]) => [name, { shape, read: async () => Float32Array.from(data) }]),
  );
}

/** The elements of every tensor of a set. */
export async function readAll(set: TensorSet): Promise<Map<string, TensorData>> {
  const map = new Map<string, TensorData>();
  for (const [name, { shape, read }] of set) map.set(name, { shape, data: await read() });
  return map;
}

/** Numbers whose bits matter: the largest, -0, subnormals, and steps of one bit. */
export function tensors(seed: number): Map<string, TensorSource> {
  const arrays = new Map(
    SHAPES.map(([name, shape], n): [string, TensorData] => {
      const count = shape.reduce((product, side) => product * side, 1);
      const bits = Uint32Array.from({ length: count }, (_, at) => 0x3f800000 + seed * 1000 + n * 100 + at);
      bits[0] = [0x007fffff, 0x80000000, 1, 0xff7fffff, 0x3eaaaaab][n] as number;
      return [name, { shape, data: new Float32Array(bits.buffer) }];
    }),
  );
  return inMemory(arrays);
}

export function state(step = 100): CheckpointState {
  return {
    step,
    params: tensors(1),
    ema: tensors(2),
    moments: { m: tensors(3), v: tensors(4) },
    optimiserStep: step - 1,
    lora: { r: 2, alpha: 4, targets: ["q_proj"] },
    config: { ...defaultConfig(), steps: 7, learningRate: 0.1 + 0.2 },
    trainer: { cursor: 3, kl: Number.NaN, minus: -0, list: [1e-300, "NaN", null, { deep: Number.NEGATIVE_INFINITY }] },
    baseModel: { name: "pocket", hash: "00ff" },
    history: [{ step, epoch: 0.5, loss: Number.NaN }],
    best: { step: 50, metric: 0.25 },
  };
}
