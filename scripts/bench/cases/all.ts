/** All cases of the kernels suite; what they need besides their inputs is made once and left to the end. */
import { attentions } from "./attentions.ts";
import type { Case } from "./case.ts";
import { layers } from "./layers.ts";
import { largeProducts, lowRank, products } from "./products.ts";
import { scoring } from "./scores.ts";

/** In the order in which they are measured: when the time is up, the last ones are left out. */
export function cases(): Case[] {
  return [...products(), ...attentions(), ...scoring(), ...lowRank(), ...layers(), ...largeProducts()];
}
