/**
 * Dropout whose draws are a function of an address and the element's index. The same address gives the same mask in the
 * backward pass, in a recomputed block, in every pass of a step and after a resume. One dispatch forward, one backward.
 */
import { PHILOX, philox } from "../random.ts";
import { pointProgram, runPoints } from "../rows-program.ts";
import { type Attributes, customKernels, defineOp, suits, toTensor } from "../runtime/custom-op.ts";
import { u32s } from "../runtime/pipelines.ts";
import { type Tensor, tf } from "../tf.ts";

export interface Dropout {
  /** Probability that an element becomes 0, in [0, 1). */
  readonly share: number;
  /** Key and the first three words of the counter of Philox, each a whole number in [0, 2³²). */
  readonly key: readonly [number, number];
  readonly counter: readonly [number, number, number];
}

/** Draws have 2^23 levels, so that host and shader compare the same whole numbers. */
const STEPS = 2 ** 23;

/** x with `share` of its elements set to 0 and the others divided by 1 − share. */
export function dropout(x: Tensor, { share, key, counter }: Dropout): Tensor {
  if (share === 0) return x.clone();
  const attributes = { least: Math.round(share * STEPS), scale: 1 / (1 - share) };
  const [k0, k1] = key;
  const [c0, c1, c2] = counter;
  if (customKernels() && suits(x)) return customDropout({ x }, { ...attributes, k0, k1, c0, c1, c2 })[0] as Tensor;
  const factors = new Float32Array(x.size);
  for (let at = 0; at < factors.length; at += 4) {
    const words = philox([c0, c1, c2, at / 4], [k0, k1]);
    words.forEach((word, i) => {
      if (at + i < factors.length) factors[at + i] = word >>> 9 >= attributes.least ? attributes.scale : 0;
    });
  }
  return tf.tidy(() => x.mul(tf.tensor(factors, x.shape)));
}

/** A thread draws four elements. */
const PROGRAM = pointProgram({
  name: "lab-dropout",
  inputs: { x: "f32" },
  outputs: { y: "f32" },
  uniforms: {
    ...u32s("size count least"),
    scale: "f32",
    ...u32s("k0 k1 c0 c1 c2 rounds"),
  },
  header: PHILOX,
  body: `
    let c = philox(vec4u(u.c0, u.c1, u.c2, i), vec2u(u.k0, u.k1));
    for (var lane = 0u; lane < 4u; lane++) {
      let at = 4u * i + lane;
      if (at < u.count) { y[at] = select(0.0, x[at] * u.scale, (c[lane] >> 9u) >= u.least); }
    }`,
});

const ROUNDS = 10;

function run(x: tf.TensorInfo, { least, scale, k0, k1, c0, c1, c2 }: Attributes): tf.TensorInfo[] {
  const count = tf.util.sizeFromShape(x.shape);
  const uniforms = [count, least, scale, k0, k1, c0, c1, c2, ROUNDS] as number[];
  return runPoints(PROGRAM, [x], [{ shape: x.shape }], Math.ceil(count / 4), uniforms);
}

const customDropout = defineOp({
  name: "LabDropout",
  forward: ({ x }, attributes) => run(x as tf.TensorInfo, attributes),
  gradient: ([dy], _saved, attributes) => ({ x: () => toTensor(run(dy as Tensor, attributes)[0]) }),
});
