/**
 * Slots that a thread processes together, so that each weight is loaded once for all of them. All threads of a
 * workgroup have the same inputs. Where a software adapter has subgroups of 4 or 8 lanes, each lane loads the inputs of
 * one slot and broadcasts them, because a load costs ten times a multiplication there. The sums of a slot are the same
 * either way.
 */

import { lines } from "../matmul/product-form.ts";

/** Slots per block on a software adapter without a broadcast. */
const PLAIN = 4;
/**
 * Slots per block in the form for GPUs, largest first. Sixteen take all 256 registers of AMD's cards, which leaves two
 * waves per SIMD, and more than NVIDIA's and Apple's have.
 */
const CARD = [8, 4] as const;

export interface SlotBlock {
  readonly slots: number;
  /** Lanes that broadcast the inputs; undefined without a broadcast. */
  readonly subgroup: number | undefined;
  /** Whether the sums are in the form for software adapters. */
  readonly software: boolean;
  /** Tiles of four columns that share inputs in workgroup memory (staged.ts): 4, 8, or 1 where each loads its own. */
  readonly tiles: number;
}

/** Slots to allocate in the buffers of a batch. */
export function roomFor(rows: number): number {
  const block = rows === 1 ? 1 : rows <= 4 ? 4 : rows <= 8 ? 8 : 16;
  return Math.ceil(rows / block) * block;
}

/**
 * The block for a batch with this many slots; its size divides the number of slots.
 * @param lanes number of lanes that broadcast loaded values, 0 for none
 * @param tiles that share inputs, of packed weights with scales on a card
 */
export function slotBlock(slots: number, software: boolean, lanes: number, tiles = 1): SlotBlock {
  const subgroup = software && slots > 1 && lanes > 0 ? lanes : undefined;
  const own = { subgroup, software, tiles };
  if (subgroup !== undefined) return { slots: slots % 8 === 0 ? 8 : PLAIN, ...own };
  if (software) return { slots: Math.min(slots, PLAIN), ...own };
  return { slots: CARD.find((size) => slots % size === 0) ?? 1, ...own };
}

/** Code that addresses and reads the inputs of a block. */
interface BlockInputs {
  /** Declares the start addresses of the slots, from `start`. */
  readonly addresses: string;
  /**
   * The elements at offset `at`: statements before their use, and the value of slot r. Without a broadcast, a slot's
   * element is read where it is used; all slots' at once would not fit a card's registers.
   */
  read(name: string, at: string): { readonly load: string; readonly value: (r: number) => string };
}

/**
 * @param start code for the address of a slot, given the code for its number
 * @param buffer name of the buffer to read
 */
export function blockInputs(
  { slots, subgroup }: SlotBlock,
  start: (slot: string) => string,
  buffer = "x",
): BlockInputs {
  const loads = subgroup === undefined ? slots : Math.ceil(slots / subgroup);
  const held = subgroup === undefined ? 1 : Math.min(subgroup, slots);
  const slot = (i: number): string =>
    subgroup === undefined ? `slot0 + ${i}u` : `slot0 + ${i * subgroup}u + local.x % ${held}u`;
  return {
    addresses: lines(loads, (i) => `let ${buffer}At${i} = ${start(`(${slot(i)})`)};`),
    read: (name, at) =>
      subgroup === undefined
        ? { load: "", value: (r) => `${buffer}[${buffer}At${r} + ${at}]` }
        : {
            load: lines(loads, (i) => `let ${name}${i} = ${buffer}[${buffer}At${i} + ${at}];`),
            value: (r) => `subgroupBroadcast(${name}${Math.floor(r / subgroup)}, ${r % subgroup}u)`,
          },
  };
}

/**
 * Code that adds to the sums c0 … of all slots what vectors of their inputs contribute. Software adapters compile one
 * inner product per column and vector; on cards each term is one multiply-add, for which the columns are turned round
 * once for all slots.
 * @param inputs code of the vectors of slot r
 * @param columns for each of those vectors, the names of the four columns' weights
 * @param scale names a vector of factors of the columns, if they have any; on cards their elements count from `least`
 * below zero
 */
export function addProducts(
  { slots, software }: SlotBlock,
  inputs: (r: number) => readonly string[],
  columns: readonly (readonly string[])[],
  scale?: { readonly name: string; readonly least: number },
): string {
  const vectors = columns.map((_, at) => at);
  if (software) {
    const factor = scale === undefined ? "" : `${scale.name} * `;
    const sums = [0, 1, 2, 3].map((c) => columns.map((of, at) => `dot(v${at}, ${of[c]})`).join(" + "));
    return lines(
      slots,
      (r) => `{ ${vectors.map((at) => `let v${at} = ${inputs(r)[at]};`).join(" ")}
          c${r} += ${factor}vec4f(${sums.join(", ")}); }`,
    );
  }
  const terms = vectors.flatMap((at) => ["x", "y", "z", "w"].map((part) => [at, part] as const));
  const turned = terms.map(([at, part]) => {
    const own = `vec4f(${(columns[at] as readonly string[]).map((name) => `${name}.${part}`).join(", ")})`;
    return `let t${at}${part} = ${scale === undefined ? own : `${own} * ${scale.name} - ${scale.name}Least`};`;
  });
  return `${scale === undefined ? "" : `let ${scale.name}Least = ${scale.least}.0 * ${scale.name};`}
        ${turned.join(" ")}
        ${lines(
          slots,
          (r) => `{ ${vectors.map((at) => `let v${at} = ${inputs(r)[at]};`).join(" ")}
          ${terms.map(([at, part]) => `c${r} += v${at}.${part} * t${at}${part};`).join(" ")} }`,
        )}`;
}
