/** Measures the speed of the device in training. */

import { linear } from "../kernels/linear.ts";
import { type Tensor, tf } from "../tf.ts";

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
