import type { Rle } from "../../../engine/data/rle.ts";

export type MaskRole = "given" | "policy" | "partner";

export interface MaskLayer {
  readonly role: MaskRole;
  readonly mask: Rle;
}

/** Fill colours of the layers; they lie on photographs, so that they are the same in both themes. */
export const LAYER_COLOURS = {
  given: "#56B4E9",
  policy: "#E69F00",
  partner: "#009E73",
  missed: "#0072B2",
  extra: "#D55E00",
} as const;
