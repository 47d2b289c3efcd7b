/** Hiera against a plain loop version, with windows that do not divide the maps: padding, pooling and window lag. */
import { beforeAll, describe, expect, it } from "vitest";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { inPace } from "../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { HIERA_L, type Sam2Config } from "../../src/engine/model/sam2/config.ts";
import { hiera, hieraBlocks } from "../../src/engine/model/sam2/hiera.ts";
import { weightsView } from "../../src/engine/model/weights/weights.ts";
import { useGpu } from "../support/gpu.ts";

let engine: EngineDevice;
beforeAll(async () => {
  engine = await useGpu();
});

const CONFIG: Sam2Config = {
  ...HIERA_L,
  imageSize: 96,
  embedDim: 4,
  numHeads: 1,
  stages: [1, 2, 2, 1],
  globalAttBlocks: [4],
  windowSpec: [8, 5, 4, 2],
  posEmbedSize: [3, 3],
};
const TRUNK = "grounding_encoder.sam2_model.image_encoder.trunk";

type Arrays = Map<string, { readonly shape: readonly number[]; readonly data: Float32Array }>;
/** A map of `side` × `side` cells with `width` channels. */
interface Grid {
  readonly side: number;
  readonly width: number;
  readonly data: Float64Array;
}

function randomWeights(): Arrays {
  let state = 12345;
  const next = (): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state / 2 ** 32 - 0.5) * 0.8;
  };
  const arrays: Arrays = new Map();
  const add = (name: string, ...shape: number[]): void => {
    const size = shape.reduce((product, side) => product * side, 1);
    arrays.set(`${TRUNK}.${name}`, { shape, data: Float32Array.from({ length: size }, next) });
  };
  const addLinear = (name: string, out: number, inside: number): void => {
    add(`${name}.weight`, out, inside);
    add(`${name}.bias`, out);
  };
  add("patch_embed.proj.weight", 4, 3, 7, 7);
  add("patch_embed.proj.bias", 4);
  add("pos_embed", 1, 4, 3, 3);
  add("pos_embed_window", 1, 4, 8, 8);
  let width = 4;
  for (const [index, block] of hieraBlocks(CONFIG).entries()) {
    const out = block.pool ? 2 * width : width;
    const path = `blocks.${index}`;
    for (const [norm, size] of [
      ["norm1", width],
      ["norm2", out],
    ] as const) {
      add(`${path}.${norm}.weight`, size);
      add(`${path}.${norm}.bias`, size);
    }
    addLinear(`${path}.attn.qkv`, 3 * out, width);
    addLinear(`${path}.attn.proj`, out, out);
    addLinear(`${path}.mlp.layers.0`, 4 * out, out);
    addLinear(`${path}.mlp.layers.1`, out, 4 * out);
    if (block.pool) addLinear(`${path}.proj`, out, width);
    width = out;
  }
  return arrays;
}

/** Cell-wise function: f(cell values) → new values. */
function mapCells(grid: Grid, width: number, f: (cell: Float64Array) => number[]): Grid {
  const data = new Float64Array(grid.side ** 2 * width);
  for (let cell = 0; cell < grid.side ** 2; cell++) {
    data.set(f(grid.data.subarray(cell * grid.width, (cell + 1) * grid.width)), cell * width);
  }
  return { side: grid.side, width, data };
}

function erf(x: number): number {
  let [sum, term] = [x, x];
  for (let n = 1; n < 80; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return Math.abs(x) > 5 ? Math.sign(x) : (2 / Math.sqrt(Math.PI)) * sum;
}

/** One block by definition: every query of a window attends to every key of its window, padding included. */
function plainBlock(arrays: Arrays, index: number, x: Grid): Grid {
  const block = hieraBlocks(CONFIG)[index]!;
  const get = (name: string): Float32Array => arrays.get(`${TRUNK}.blocks.${index}.${name}`)!.data;
  const linear =
    (name: string) =>
    (cell: ArrayLike<number>): number[] => {
      const [weight, bias] = [get(`${name}.weight`), get(`${name}.bias`)];
      return Array.from(bias, (start, row) => {
        let sum = start;
        for (let at = 0; at < cell.length; at++) sum += weight[row * cell.length + at]! * cell[at]!;
        return sum;
      });
    };
  const norm =
    (name: string) =>
    (cell: Float64Array): number[] => {
      const mean = cell.reduce((a, b) => a + b, 0) / cell.length;
      const variance = cell.reduce((a, b) => a + (b - mean) ** 2, 0) / cell.length;
      const [weight, bias] = [get(`${name}.weight`), get(`${name}.bias`)];
      return Array.from(cell, (value, at) => ((value - mean) / Math.sqrt(variance + 1e-6)) * weight[at]! + bias[at]!);
    };
  const pool = (grid: Grid): Grid => {
    const side = Math.floor(grid.side / 2);
    const data = new Float64Array(side ** 2 * grid.width).fill(Number.NEGATIVE_INFINITY);
    for (let y = 0; y < 2 * side; y++) {
      for (let px = 0; px < 2 * side; px++) {
        for (let c = 0; c < grid.width; c++) {
          const at = ((y >> 1) * side + (px >> 1)) * grid.width + c;
          data[at] = Math.max(data[at]!, grid.data[(y * grid.side + px) * grid.width + c]!);
        }
      }
    }
    return { side, width: grid.width, data };
  };
  const normed = mapCells(x, x.width, norm("norm1"));
  const out = block.pool ? 2 * x.width : x.width;
  const shortcut = block.pool ? pool(mapCells(normed, out, linear("proj"))) : x;
  const window = block.window === 0 ? x.side : block.window;
  const outWindow = block.pool ? Math.floor(window / 2) : window;
  const result = new Float64Array(shortcut.data);
  const project = linear("attn.proj");
  const depth = out / block.heads;
  for (let top = 0; top < x.side; top += window) {
    for (let left = 0; left < x.side; left += window) {
      const cells: number[][] = [];
      for (let y = top; y < top + window; y++) {
        for (let px = left; px < left + window; px++) {
          const inside = y < x.side && px < x.side;
          const start = (y * x.side + px) * x.width;
          const cell = inside ? normed.data.subarray(start, start + x.width) : new Float64Array(x.width);
          cells.push(linear("attn.qkv")(cell));
        }
      }
      const whole: Grid = { side: window, width: out, data: Float64Array.from(cells.flatMap((c) => c.slice(0, out))) };
      const queries = block.pool ? pool(whole) : whole;
      for (let q = 0; q < queries.side ** 2; q++) {
        const mixed: number[] = [];
        for (let head = 0; head < block.heads; head++) {
          const scores = cells.map((cell) => {
            let dot = 0;
            for (let c = 0; c < depth; c++)
              dot += queries.data[q * out + head * depth + c]! * cell[out + head * depth + c]!;
            return Math.exp(dot / Math.sqrt(depth));
          });
          const total = scores.reduce((a, b) => a + b, 0);
          for (let c = 0; c < depth; c++) {
            mixed.push(
              cells.reduce((sum, cell, at) => sum + (scores[at]! / total) * cell[2 * out + head * depth + c]!, 0),
            );
          }
        }
        const y = (top / window) * outWindow + Math.floor(q / queries.side);
        const px = (left / window) * outWindow + (q % queries.side);
        if (y >= shortcut.side || px >= shortcut.side) continue;
        const added = project(mixed);
        for (let c = 0; c < out; c++) result[(y * shortcut.side + px) * out + c]! += added[c]!;
      }
    }
  }
  const attended: Grid = { side: shortcut.side, width: out, data: result };
  const gelu = (values: number[]): number[] => values.map((v) => 0.5 * v * (1 + erf(v / Math.SQRT2)));
  return mapCells(attended, out, (cell) => {
    const hidden = gelu(linear("mlp.layers.0")(norm("norm2")(cell)));
    return linear("mlp.layers.1")(hidden).map((value, at) => value + cell[at]!);
  });
}

describe("Hiera blocks", () => {
  it("use the window of the stage before at a stage change, and the whole map where asked", () => {
    expect(hieraBlocks(CONFIG).map((block) => [block.window, block.pool, block.heads, block.stageEnd])).toEqual([
      [8, false, 1, true],
      [8, true, 2, false],
      [5, false, 2, true],
      [5, true, 4, false],
      [0, false, 4, true],
      [4, true, 8, true],
    ]);
    const large = hieraBlocks(HIERA_L);
    expect([2, 8, 44].map((index) => large[index]?.window)).toEqual([8, 4, 16]);
    expect([1, 7, 43, 47].every((index) => large[index]?.stageEnd === true)).toBe(true);
  });

  it("equal the plain loops when windows need padding", async () => {
    const arrays = randomWeights();
    const frozen = new Map<string, Tensor>();
    for (const [name, { shape, data }] of arrays) frozen.set(name, tf.tensor(data, [...shape]));
    const pixels = tf.tidy(() =>
      tf
        .range(0, 96 * 96 * 3)
        .mul(0.37)
        .sin()
        .reshape([1, 96, 96, 3]),
    );
    const seen: Tensor[] = [];
    const keep = (name: string, value: Tensor): void => {
      if (name === "hiera.pos_embed" || name === "hiera.patch_embed" || name.startsWith("hiera.block")) {
        seen.push(tf.keep(value.clone()));
      }
    };
    const stages = await inPace(hiera(weightsView(frozen, {}, 0), CONFIG, pixels, keep));
    const values = await Promise.all(seen.map((tensor) => tensor.data()));
    engine.check();
    // Each block is checked from the true output of the block before it.
    let x: Grid = { side: 24, width: 4, data: Float64Array.from(values[0]!, (v, at) => v + values[1]![at]!) };
    for (let index = 0; index < 6; index++) {
      const expected = plainBlock(arrays, index, x);
      const got = values[index + 2]!;
      expect(got.length, `block ${index}`).toBe(expected.data.length);
      const largest = expected.data.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
      const worst = expected.data.reduce((most, v, at) => Math.max(most, Math.abs(v - got[at]!)), 0);
      expect(worst / largest, `block ${index}`).toBeLessThan(1e-5);
      x = { side: expected.side, width: expected.width, data: Float64Array.from(got) };
    }
    expect(stages.map((stage) => stage.shape)).toEqual([
      [1, 24, 24, 4],
      [1, 12, 12, 8],
      [1, 6, 6, 16],
      [1, 3, 3, 32],
    ]);
    tf.dispose([...frozen.values(), pixels, ...seen, ...stages]);
  });
});
