/** The cases of the kernels suite; what they need besides their inputs is made once and left to the end. */
import { attentions } from "./attentions.ts";
import type { Case } from "./case.ts";
import { layers } from "./layers.ts";
import { moves } from "./moves.ts";
import { lowRank, products } from "./products.ts";
import { reading } from "./reading.ts";
import { scoring } from "./scores.ts";

/** Where most of a step's time goes. */
export function mainCases(): Case[] {
  return [...products(), reading(), ...attentions(), ...scoring()];
}

export function layerCases(): Case[] {
  return [...lowRank(), ...layers(), ...moves()];
}
