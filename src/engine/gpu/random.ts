/**
 * Counter-based random numbers: a draw is a pure function of its address, so that a rollout can be replayed alone and a
 * resumed run continues with exactly the same numbers (docs/spec/grpo.md#13-sampler).
 *
 * Philox 4x32 with ten rounds (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"). It uses only 32-bit
 * unsigned operations, so a shader can compute the same values.
 */

/** Purpose of a draw; the streams of one key are independent. */
export const STREAM = {
  token: 0,
  mask: 1,
  data: 2,
  init: 3,
  curriculum: 4,
  shuffle: 5,
  dropout: 6,
  judge: 96,
} as const;

/** Address of one draw. Every part is a whole number in [0, 2³²), `loop` in [0, 256), `stream` in [0, 2²⁴). */
export interface RandomKey {
  readonly seed: number;
  readonly step: number;
  readonly loop: number;
  /** Row of the batch (prompt). */
  readonly row: number;
  /** Rollout inside the group. */
  readonly rollout: number;
  /** Token, pixel, grid cell or channel. */
  readonly position: number;
  readonly stream: number;
}

/** Four 32-bit words. */
export type Words = readonly [number, number, number, number];

const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const ROUNDS = 10;
const LOW = 0xffff;

/** Upper 32 bits of the 64-bit product, from 16-bit halves. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & LOW;
  const aHigh = a >>> 16;
  const bLow = b & LOW;
  const bHigh = b >>> 16;
  const cross = aHigh * bLow + ((aLow * bLow) >>> 16);
  const middle = aLow * bHigh + (cross & LOW);
  return (aHigh * bHigh + Math.floor(cross / 0x10000) + Math.floor(middle / 0x10000)) >>> 0;
}

/** Applies the Philox 4x32-10 bijection under `key` to `counter`. */
export function philox(counter: Words, key: readonly [number, number]): Words {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0);
    const low0 = Math.imul(MULTIPLIER_0, c0) >>> 0;
    const high1 = multiplyHigh(MULTIPLIER_1, c2);
    const low1 = Math.imul(MULTIPLIER_1, c2) >>> 0;
    [c0, c1, c2, c3] = [(high1 ^ c1 ^ k0) >>> 0, low1, (high0 ^ c3 ^ k1) >>> 0, low0];
    k0 = (k0 + WEYL_0) >>> 0;
    k1 = (k1 + WEYL_1) >>> 0;
  }
  return [c0, c1, c2, c3];
}

/** The same in WGSL; the number of rounds is a uniform, so that compilers do not unroll the loop. */
export const PHILOX = `
  fn multiplyHigh(a: u32, b: u32) -> u32 {
    let a0 = a & 0xffffu; let a1 = a >> 16u;
    let b0 = b & 0xffffu; let b1 = b >> 16u;
    let cross = a1 * b0 + ((a0 * b0) >> 16u);
    let middle = a0 * b1 + (cross & 0xffffu);
    return a1 * b1 + (cross >> 16u) + (middle >> 16u);
  }
  fn philox(counter: vec4u, key: vec2u) -> vec4u {
    var c = counter;
    var k = key;
    for (var round = 0u; round < u.rounds; round++) {
      let high0 = multiplyHigh(0xd2511f53u, c.x);
      let high1 = multiplyHigh(0xcd9e8d57u, c.z);
      c = vec4u(high1 ^ c.y ^ k.x, 0xcd9e8d57u * c.z, high0 ^ c.w ^ k.y, 0xd2511f53u * c.x);
      k += vec2u(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
  }`;

/** Philox counter and key of an address: the counter is `counter` followed by `position`. */
export function drawAddress(key: RandomKey): {
  readonly counter: readonly [number, number, number];
  readonly key: readonly [number, number];
  readonly position: number;
} {
  return {
    counter: [key.step >>> 0, key.row >>> 0, key.rollout >>> 0],
    key: [key.seed >>> 0, ((key.stream << 8) | (key.loop & 0xff)) >>> 0],
    position: key.position >>> 0,
  };
}

/** The 128 random bits of an address. */
export function randomWords(key: RandomKey): Words {
  const address = drawAddress(key);
  return philox([...address.counter, address.position], address.key);
}

/**
 * A word as a uniform number strictly between 0 and 1. Only 23 bits are used: with 24 the largest value would round to
 * 1 in float32, and the double logarithm of a Gumbel draw to infinity (docs/spec/webgpu.md#10-numerics).
 */
export function wordToUniform(word: number): number {
  return ((word >>> 9) + 0.5) * 2 ** -23;
}

/** Uniform in (0, 1), both ends excluded, exact in float32. */
export function uniform(key: RandomKey): number {
  return wordToUniform(randomWords(key)[0]);
}

/** Standard normal by Box and Muller's transform of the first two words; |value| stays below 5.8. */
export function normal(key: RandomKey): number {
  const words = randomWords(key);
  return Math.sqrt(-2 * Math.log(wordToUniform(words[0]))) * Math.cos(2 * Math.PI * wordToUniform(words[1]));
}
