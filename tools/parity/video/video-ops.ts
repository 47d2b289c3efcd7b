/** Pieces of SAM2's video parts, each from its golden input. */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { attention } from "../../../src/engine/gpu/kernels/attention/attention.ts";
import { applyRope } from "../../../src/engine/gpu/kernels/rope.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { linearLayer } from "../../../src/engine/model/weights/linear-layer.ts";
import { encodeMemory } from "../../../src/plugins/clips/sam2/clip.ts";
import { timeCode } from "../../../src/plugins/clips/sam2/frame-masks.ts";
import { resizeAntialiased } from "../../../src/plugins/clips/sam2/mask-prompt.ts";
import { axialTable, pairedLinear, sinePositions } from "../../../src/plugins/clips/sam2/memory-attention.ts";
import { SAM } from "../../../src/plugins/clips/sam2/video-shapes.ts";
import { compareArrays, missed, type Tolerance } from "../compare.ts";
import { type GoldenArrays, openArrays } from "../golden-arrays.ts";
import { Captured } from "../probes.ts";
import type { ParityRow } from "../row.ts";
import { channelsFirst } from "./video-clips.ts";
import { openVideoGolden, type VideoGolden } from "./video-golden.ts";

const TOLERANCE: Tolerance = { relative: 1e-4 };
/** Arrays that are inputs of the pieces. */
const INPUTS = ["memory_encoder.low_res_mask", "rope.self.in", "rope.cross.keys", "antialias.in", "pointer_time.in"];

export async function* videoOpsParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  if (folder.get("golden_ops.safetensors") === undefined) return;
  const golden = await openVideoGolden(folder);
  try {
    const arrays = await openArrays(folder, "golden_ops.safetensors");
    const found = new Map([
      ...(await encoderArrays(golden, arrays)),
      ...(await rotaryArrays(golden, arrays)),
      ...(await hostArrays(golden, arrays)),
    ]);
    for (const name of arrays.names.filter((own) => !INPUTS.includes(own))) {
      const values = found.get(name);
      if (values === undefined) yield missed(name, "video", "nothing computes this array");
      else yield compareArrays(name, "one piece", await arrays.read(name), values, TOLERANCE);
    }
    const { input, config } = golden;
    const side = config.imageSize / 16;
    for (const [name, width] of [
      ["neck_position.16", config.hiddenDim],
      ["memory_position", config.memory.dim],
    ] as const) {
      yield compareArrays(name, "positions", await input.read(name), sinePositions(width, side, side), TOLERANCE);
    }
  } finally {
    golden.dispose();
  }
}

type Named = [name: string, values: ArrayLike<number>][];

async function encoderArrays({ weights, config, maps }: VideoGolden, arrays: GoldenArrays): Promise<Named> {
  const captured = new Captured();
  const side = config.imageSize / 4;
  const lowRes = tf.tensor3d(await arrays.read("memory_encoder.low_res_mask"), [1, side, side]);
  const out = encodeMemory(weights, maps[0]?.f16 as Tensor, lowRes, config.imageSize, captured.probe);
  const named: Named = [["memory_encoder.out", await channelsFirst(out)]];
  for (const name of captured.names) named.push([name, await captured.read(name, true)]);
  tf.dispose([lowRes, out]);
  captured.dispose();
  return named;
}

/** One layer's attention with its projections, from queries that stand for the normed features. */
async function rotaryArrays({ weights, config }: VideoGolden, arrays: GoldenArrays): Promise<Named> {
  const side = config.imageSize / 16;
  const [cells, width] = [side * side, config.hiddenDim];
  const [queries, keys] = [await arrays.tensor("rope.self.in"), await arrays.tensor("rope.cross.keys")];
  const table = axialTable(side, side, width);
  const run = (name: string, given: Tensor): Tensor =>
    tf.tidy(() => {
      const path = `${SAM}.memory_attention.layers.0.${name}`;
      const turn = (x: Tensor, count: number): Tensor =>
        applyRope(x.reshape([count, 1, cells, width]), table).reshape([1, 1, count * cells, width]);
      const all = given.shape[0] as number;
      const count = Math.floor(all / cells);
      const projected = pairedLinear(weights, `${path}.k_proj`, given);
      const parts = [turn(projected.slice([0, 0], [count * cells, width]), count)];
      if (all > count * cells) parts.push(projected.slice([count * cells, 0], [-1, width]).reshape([1, 1, -1, width]));
      const values = linearLayer(weights, `${path}.v_proj`, given).reshape([1, 1, all, width]);
      const q = turn(pairedLinear(weights, `${path}.q_proj`, queries), 1);
      const mixed = attention(q, tf.concat(parts, 2), values, 1 / Math.sqrt(width));
      return linearLayer(weights, `${path}.out_proj`, mixed.reshape([cells, width]));
    });
  const [own, cross] = [run("self_attn", queries), run("cross_attn_image", keys)];
  const angles = tf.tidy(() => tf.stack([table.cos, table.sin], 4));
  const named: Named = [
    ["rope.self.out", await own.data()],
    ["rope.cross.out", await cross.data()],
    ["rope.cos_sin", await angles.data()],
  ];
  tf.dispose([queries, keys, table.cos, table.sin, own, cross, angles]);
  return named;
}

async function hostArrays({ config }: VideoGolden, arrays: GoldenArrays): Promise<Named> {
  const [height, width] = arrays.shape("antialias.in") as [number, number];
  const mask = await arrays.read("antialias.in");
  const sizes = arrays.names.flatMap((name) => /^antialias\.out_(\d+)x(\d+)$/.exec(name) ?? []);
  const named: Named = [];
  for (let at = 0; at < sizes.length; at += 3) {
    const [to, across] = [Number(sizes[at + 1]), Number(sizes[at + 2])];
    named.push([sizes[at] as string, resizeAntialiased(mask, height, width, to, across)]);
  }
  const times = await arrays.read("pointer_time.in");
  named.push(["pointer_time.out", [...times].flatMap((time) => timeCode(time, config.hiddenDim))]);
  return named;
}
