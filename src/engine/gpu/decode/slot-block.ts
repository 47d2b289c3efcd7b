/**
 * Slots that a thread works on together, so that a weight is loaded once for all of them. Their inputs are the same for
 * every thread of a workgroup: where a software adapter has subgroups of 4 or 8 lanes, each lane loads those of one slot
 * and hands them round, for there a load costs ten times a multiplication. A slot's sums are the same either way.
 */

import { lines } from "../matmul/product-form.ts";

/** Slots of a block in the form for GPUs, and where nothing can be handed round. */
const PLAIN = 4;

export interface SlotBlock {
  readonly slots: number;
  /** Lanes that hand the inputs round; undefined for none. */
  readonly subgroup: number | undefined;
}

/** Slots that the buffers of a batch have room for. */
export function roomFor(rows: number): number {
  const block = rows === 1 ? 1 : rows <= 4 ? 4 : 8;
  return Math.ceil(rows / block) * block;
}

/**
 * The block for a batch with this many slots, which it divides.
 * @param lanes that hand loaded values round, 0 for none
 */
export function slotBlock(slots: number, software: boolean, lanes: number): SlotBlock {
  const subgroup = software && slots > 1 && lanes > 0 ? lanes : undefined;
  if (subgroup !== undefined) return { slots: slots % 8 === 0 ? 8 : PLAIN, subgroup };
  return { slots: Math.min(slots, PLAIN), subgroup };
}

/** Code of a block's inputs: their addresses, loads, and values. */
export interface BlockInputs {
  /** Where slot s begins is given by `start`. */
  readonly addresses: string;
  /** Loads what lies `at` from the beginning, as `name`. */
  load(name: string, at: string): string;
  /** What was loaded as `name` of slot r of the block. */
  value(name: string, r: number): string;
}

/** @param start code of the address of a slot, given that of the slot's number */
export function blockInputs({ slots, subgroup }: SlotBlock, start: (slot: string) => string): BlockInputs {
  const loads = subgroup === undefined ? slots : Math.ceil(slots / subgroup);
  const held = subgroup === undefined ? 1 : Math.min(subgroup, slots);
  const slot = (i: number): string =>
    subgroup === undefined ? `slot0 + ${i}u` : `slot0 + ${i * subgroup}u + local.x % ${held}u`;
  return {
    addresses: lines(loads, (i) => `let p${i} = ${start(`(${slot(i)})`)};`),
    load: (name, at) => lines(loads, (i) => `let ${name}${i} = x[p${i} + ${at}];`),
    value: (name, r) =>
      subgroup === undefined
        ? `${name}${r}`
        : `subgroupBroadcast(${name}${Math.floor(r / subgroup)}, ${r % subgroup}u)`,
  };
}
