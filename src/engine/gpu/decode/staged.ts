/**
 * Sums of decode products whose workgroup stages the inputs of its slots in workgroup memory, from which several tiles of
 * four columns read them. NVIDIA's cards check and address every word that they load from a buffer, which costs more than
 * its multiply-adds with one tile. Each lane multiplies groups that share a scale; the order of its sums does not depend on
 * the numbers of slots and tiles.
 */
import { lines } from "../matmul/product-form.ts";
import type { GroupReader } from "../packed/unpack.ts";
import { eachLayer } from "./joined.ts";
import { STAGED_LANES } from "./lanes.ts";
import type { SlotBlock } from "./slot-block.ts";

/** Vectors of four inputs in a group, and how many of them are staged at a time. */
const VECTORS = 8;
const EACH = 4;
/** Vectors between the places of two of them; the last two are empty, so that a copy of eight meets in no bank. */
const ROW = STAGED_LANES + 2;
/** Vectors of a slot in a stage. */
const ROOM = EACH * STAGED_LANES;

/** Bytes of workgroup memory that the largest of these programs takes: sums of eight slots and eight tiles. */
export const STAGED_BYTES = 2 ** 15;

/** Vectors of workgroup memory that the inputs of a block take. */
export const stagedVectors = ({ slots }: SlotBlock): number => slots * EACH * ROW;

/**
 * Code that adds to c0 … what the lane's groups contribute, a vector of four columns per slot. Inputs are `x`, rows of
 * `u.units` units of two vectors.
 * @param reader of group `at`
 */
export function stagedSums({ slots, tiles }: SlotBlock, reader: GroupReader, joined: boolean): string {
  const slotsAtOnce = (tiles * STAGED_LANES) / ROOM;
  const copies = Math.ceil(slots / slotsAtOnce);
  const idle = slots < slotsAtOnce ? ` && thread < ${slots * ROOM}u` : "";
  const multiply = (n: number): string => `{ ${reader.terms(n)}
          ${lines(
            slots,
            (r) => `{ let v = shared_sums[lane + ${(r * EACH + (n % EACH)) * ROW}u];
          c${r} += v.x * tx; c${r} += v.y * ty; c${r} += v.z * tz; c${r} += v.w * tw; }`,
          )} }`;
  const stage = (from: number): string => `
        if (start + ${from}u + own_x < 2u * u.units${idle}) {
          ${lines(copies, (i) => `shared_sums[place + ${i * slotsAtOnce * EACH * ROW}u] = x[x${i} + start + ${from}u];`)}
        }
        workgroupBarrier();
        if (at < groups_k) {
          ${lines(EACH, (j) => multiply(from + j))}
        }
        workgroupBarrier();`;
  return `
      ${reader.constants}
      let groups_k = (u.units + 3u) / 4u;
      let thread = local.y * ${tiles}u + local.x;
      let vector = thread % ${ROOM}u;
      let own_x = vector / ${EACH}u * ${VECTORS}u + vector % ${EACH}u;
      let place = (thread / ${ROOM}u * ${EACH}u + vector % ${EACH}u) * ${ROW}u + vector / ${EACH}u;
      ${lines(copies, (i) => `let x${i} = (slot0 + ${i * slotsAtOnce}u + thread / ${ROOM}u) * 2u * u.units + own_x;`)}
      for (var group0 = 0u; group0 < groups_k; group0 += ${STAGED_LANES}u) {
        let at = group0 + lane;
        let start = group0 * ${VECTORS}u;
        ${reader.variables}
        ${eachLayer(joined, reader.load)}
        ${reader.bases}
        ${lines(VECTORS / EACH, (n) => stage(n * EACH))}
      }`;
}
