/** Measures the adapter's multiply-add rates: many independent sums in registers, without loads. */

import { linear } from "../kernels/linear.ts";
import type { Arithmetic } from "../packed/half.ts";
import { type Tensor, tf } from "../tf.ts";
import { halfPrograms, toTensor } from "./custom-op.ts";
import type { GpuProgram } from "./pipelines.ts";
import { runProgram } from "./program.ts";

const THREADS = 64;
const GROUPS = 64;
const SUMS = 8;

const lines = (line: (i: number) => string): string => Array.from({ length: SUMS }, (_, i) => line(i)).join("\n");

const peakProgram = (type: Arithmetic): GpuProgram => ({
  name: `lab-card-peak-${type}`,
  ...(type === "f16" ? { enable: ["f16"] } : {}),
  inputs: {},
  outputs: { result: "f32" },
  uniforms: { turns: "u32", factor: "f32" },
  workgroup: [THREADS, 1],
  body: `
    let x = vec4<${type}>(${type}(u.factor));
    ${lines((i) => `var s${i} = vec4<${type}>(${type}(local.x) + ${i}.0);`)}
    for (var t = 0u; t < u.turns; t++) { ${lines((i) => `s${i} = fma(s${i}, x, x);`)} }
    let all = ${Array.from({ length: SUMS }, (_, i) => `s${i}`).join(" + ")};
    result[group.x * ${THREADS}u + local.x] = f32(all.x + all.y + all.z + all.w);`,
});

/** Milliseconds of wall time, or of processor time, which load on the machine changes less. */
export type Clock = () => number | Promise<number>;

/** Many runs, because a shared processor may run at half its speed for seconds. */
const RUNS = 24;

/** Floating-point operations per second; 0 if programs cannot use this precision. */
export type Rates = Readonly<Record<Arithmetic, number>>;

/** Both rates, each the best of several runs. */
export async function peakRates(clock: Clock, runs = RUNS): Promise<Rates> {
  const f32 = await peakRate("f32", clock, runs);
  return { f32, f16: halfPrograms() ? await peakRate("f16", clock, runs) : 0 };
}

/** The best of several runs, not counting the first, which compiles. */
export async function peakRate(type: Arithmetic, clock: Clock, runs: number): Promise<number> {
  const program = peakProgram(type);
  let best = 0;
  let turns = 256;
  for (let run = 0; run < runs; run++) {
    const start = await clock();
    const y = toTensor(runProgram(program, [], [{ shape: [THREADS * GROUPS] }], [turns, 0.5], [GROUPS, 1, 1])[0]);
    await y.data();
    y.dispose();
    const seconds = ((await clock()) - start) / 1000;
    if (run > 0) best = Math.max(best, (2 * 4 * SUMS * turns * THREADS * GROUPS) / seconds);
    if (seconds < 0.05) turns *= 4;
  }
  return best;
}

/** Speed of the device in training: products of training's shape, and small operations one after another. */
export interface Throughput {
  /** Floating-point operations per second; a multiply-add counts as two. */
  readonly flops: number;
  /** Seconds of one small operation. */
  readonly dispatch: number;
}

const ROWS = 128;
const WIDTH = 512;
/** Products are repeated until a series takes this long; only the last, longest series counts. */
const ENOUGH_SECONDS = 0.05;
const SMALL_OPERATIONS = 100;

/**
 * Takes about a tenth of a second once the programs are compiled. Results are read back, so the time includes the whole
 * queue.
 * @param now monotonic seconds
 */
export async function measureThroughput(now: () => number): Promise<Throughput> {
  const x = tf.ones([ROWS, WIDTH]);
  const weight = tf.fill([WIDTH, WIDTH], 1 / WIDTH);
  const small = tf.ones([64]);
  const timed = async (work: () => Tensor): Promise<number> => {
    const began = now();
    const result = tf.tidy(work);
    await result.data();
    result.dispose();
    return now() - began;
  };
  const products = (count: number) => (): Tensor => {
    let y: Tensor = x;
    for (let n = 0; n < count; n++) y = linear(y, weight);
    return tf.slice(y, [0, 0], [1, 1]);
  };
  const additions = (): Tensor => {
    let y: Tensor = small;
    for (let n = 0; n < SMALL_OPERATIONS; n++) y = y.add(small);
    return y;
  };
  try {
    // Compiles the programs.
    await timed(products(1));
    await timed(additions);
    const empty = await timed(() => small.clone());
    let count = 1;
    let seconds = await timed(products(count));
    while (seconds < ENOUGH_SECONDS && count < 4096) {
      count *= 4;
      seconds = await timed(products(count));
    }
    const adding = await timed(additions);
    return {
      flops: (2 * ROWS * WIDTH * WIDTH * count) / Math.max(1e-6, seconds - empty),
      dispatch: Math.max(1e-7, (adding - empty) / SMALL_OPERATIONS),
    };
  } finally {
    tf.dispose([x, weight, small]);
  }
}
