/** The cases of the kernels suite. Their additional objects are created once and kept until the end. */
import { attentions } from "./attentions.ts";
import type { Case } from "./case.ts";
import { layers } from "./layers.ts";
import { moves } from "./moves.ts";
import { lowRank, products } from "./products.ts";
import { reading } from "./reading.ts";
import { scoring } from "./scores.ts";

/** The cases that take most of a step's time. */
export function mainCases(): Case[] {
  return [...products(), reading(), ...attentions(), ...scoring()];
}

export function layerCases(): Case[] {
  return [...lowRank(), ...layers(), ...moves()];
}
