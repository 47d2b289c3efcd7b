import type { RegionSummary } from "./sample.ts";

/**
 * Divides regions into training and held-out ones so that no picture is on both sides. Pictures are sorted by a hash of
 * seed and imageId, and the first share of them is held out, so the choice does not depend on the order of the rows.
 * @param heldOutShare 0..1 of the pictures; above 0 and below 1 with two pictures or more, neither side is empty
 * @returns indices of `summaries`, ascending
 */
export function splitByImage(
  summaries: readonly Pick<RegionSummary, "imageId">[],
  heldOutShare: number,
  seed: number,
): { train: number[]; heldOut: number[] } {
  const images = [...new Set(summaries.map((summary) => summary.imageId))];
  const ranked = images
    .map((id) => [hashText(id, seed), id] as const)
    .sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1));
  const share = Math.min(1, Math.max(0, heldOutShare));
  let count = Math.round(share * images.length);
  if (share > 0 && share < 1 && images.length > 1) count = Math.min(images.length - 1, Math.max(1, count));
  const held = new Set(ranked.slice(0, count).map(([, id]) => id));
  const train: number[] = [];
  const heldOut: number[] = [];
  for (const [index, { imageId }] of summaries.entries()) (held.has(imageId) ? heldOut : train).push(index);
  return { train, heldOut };
}

/**
 * Order of n items in an epoch: a permutation that depends only on (n, seed, epoch), so that a run can be resumed or
 * replayed from any position.
 */
export function epochOrder(n: number, seed: number, epoch: number): Uint32Array {
  const order = Uint32Array.from({ length: n }, (_, index) => index);
  for (let last = n - 1; last > 0; last--) {
    // 32 random bits scaled to 0..last; the bias for lists of this length is below one in a million.
    const at = Math.floor((mix(mix(mix(seed >>> 0) ^ epoch) ^ last) / 2 ** 32) * (last + 1));
    const swap = order[last] as number;
    order[last] = order[at] as number;
    order[at] = swap;
  }
  return order;
}

/** 32-bit finaliser with full avalanche: every input bit changes about half of the output bits. */
function mix(value: number): number {
  let x = (value + 0x9e3779b9) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return (x ^ (x >>> 15)) >>> 0;
}

function hashText(text: string, seed: number): number {
  let state = mix(seed >>> 0);
  for (let at = 0; at < text.length; at++) state = mix(state ^ text.charCodeAt(at));
  return state;
}
