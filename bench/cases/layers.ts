/** Layers between the products: norms, activations, rotary positions, convolutions. */
import { gelu, swiglu } from "../../src/engine/gpu/kernels/activation.ts";
import { conv2d } from "../../src/engine/gpu/kernels/conv.ts";
import { layerNorm, rmsNorm } from "../../src/engine/gpu/kernels/norm.ts";
import { resizeBilinear } from "../../src/engine/gpu/kernels/resize.ts";
import { applyRope, ropeTable } from "../../src/engine/gpu/kernels/rope.ts";
import type { Tensor } from "../../src/engine/gpu/tf.ts";
import type { JaxFunction } from "../baselines/jax.ts";
import type { Case } from "./case.ts";

const EPS = 1e-6;

const jaxRms: JaxFunction = (jax, ...given) => {
  const [x, w] = given as [(typeof given)[0], (typeof given)[0]];
  const { numpy: np } = jax;
  return x.ref.div(np.sqrt(np.mean(np.square(x), -1, { keepdims: true }).add(EPS))).mul(w);
};

const jaxLayerNorm: JaxFunction = (jax, ...given) => {
  const [x, w, b] = given as [(typeof given)[0], (typeof given)[0], (typeof given)[0]];
  return jax.nn.standardize(x, -1, { epsilon: EPS }).mul(w).add(b);
};

function rms(rows: number, width: number, gradient: boolean): Case {
  return {
    name: `RMSNorm ${rows} x ${width}${gradient ? ", with gradient" : ""}`,
    inputs: [[rows, width], [width]],
    run: (...[x, w]) => rmsNorm(x as Tensor, w as Tensor, EPS),
    gradient,
    jax: jaxRms,
    ort: { type: "SimplifiedLayerNormalization", ints: { axis: -1, stash_type: 1 }, floats: { epsilon: EPS } },
  };
}

function layer(rows: number, width: number, gradient: boolean): Case {
  return {
    name: `LayerNorm ${rows} x ${width}${gradient ? ", with gradient" : ""}`,
    inputs: [[rows, width], [width], [width]],
    run: (...[x, w, b]) => layerNorm(x as Tensor, w as Tensor, b as Tensor, EPS),
    gradient,
    jax: jaxLayerNorm,
    ort: { type: "LayerNormalization", ints: { axis: -1 }, floats: { epsilon: EPS } },
  };
}

function activations(): Case[] {
  return [
    {
      name: "GELU 90112, with gradient",
      inputs: [[512, 176]],
      run: (x) => gelu(x as Tensor),
      gradient: true,
      jax: (jax, x) => jax.nn.gelu(x as NonNullable<typeof x>, { approximate: false }),
    },
    {
      name: "GELU 1179648, Hiera stage 1",
      inputs: [[2048, 576]],
      run: (x) => gelu(x as Tensor),
      jax: (jax, x) => jax.nn.gelu(x as NonNullable<typeof x>, { approximate: false }),
      ort: { type: "Gelu" },
    },
    {
      name: "SwiGLU 90112, with gradient",
      inputs: [
        [512, 176],
        [512, 176],
      ],
      run: (...[g, u]) => swiglu(g as Tensor, u as Tensor),
      gradient: true,
      jax: (jax, ...[g, u]) => jax.nn.silu(g as NonNullable<typeof g>).mul(u as NonNullable<typeof u>),
    },
  ];
}

/** [B, H, W, C] as [B, C, H, W]. */
const byChannel = (x: Tensor): Tensor => x.transpose([0, 3, 1, 2]);

function convolution(name: string, inputs: Case["inputs"], stride: number, pad: number): Case {
  return {
    name: `convolution ${name}`,
    inputs,
    run: (...[x, w, b]) => conv2d(x as Tensor, w as Tensor, b as Tensor, stride, pad),
    ort: {
      type: "Conv",
      ints: { strides: [stride, stride], pads: [pad, pad, pad, pad] },
      inputs: (x, ...rest) => [byChannel(x as Tensor), ...rest.map((w) => w.clone())],
      result: byChannel,
    },
  };
}

export function layers(): Case[] {
  const rope = ropeTable([Array.from({ length: 64 }, (_, i) => i)], 16, 10_000);
  return [
    rms(512, 64, false),
    rms(512, 64, true),
    rms(64, 896, false),
    layer(512, 64, false),
    layer(512, 64, true),
    layer(4096, 144, false),
    ...activations(),
    { name: "RoPE 8 x 4 x 64 x 16", inputs: [[8, 4, 64, 16]], run: (x) => applyRope(x as Tensor, rope) },
    {
      name: "bilinear resize 8 x 64 x 64 to 256 x 256",
      inputs: [[8, 64, 64, 1]],
      run: (x) => resizeBilinear(x as Tensor, 256, 256),
    },
    convolution("7 x 7 by 4, 128 x 128 x 3 to 16", [[1, 128, 128, 3], [16, 3, 7, 7], [16]], 4, 3),
    convolution("3 x 3, 64 x 64 x 16 to 32", [[1, 64, 64, 16], [32, 16, 3, 3], [32]], 1, 1),
  ];
}
