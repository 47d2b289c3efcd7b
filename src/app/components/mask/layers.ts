import type { Rle } from "../../../engine/data/mask/rle.ts";

export type MaskRole = "given" | "policy" | "partner";

export interface MaskLayer {
  readonly role: MaskRole;
  readonly mask: Rle;
  /** Replaces the role's colour when several masks have the same role. */
  readonly colour?: string;
  /** A thin dashed line without fill, around which nothing is dimmed. */
  readonly faint?: true;
}

/** Fill colours of the layers, the same in both themes because they lie on photographs. */
export const LAYER_COLOURS = {
  given: "#56B4E9",
  policy: "#E69F00",
  partner: "#009E73",
  missed: "#0072B2",
  extra: "#D55E00",
} as const;

/** Their names, for a legend in words. */
export const COLOUR_WORDS = { given: "blue", policy: "orange", partner: "green" } as const;

/** Outline of a sampled mask beside the mask without noise. */
export const SAMPLED_COLOUR = "#FFFFFF";

/** Colours of the masks of one answer, in order, repeated after the last. */
const ANSWER_COLOURS = ["#E69F00", "#CC79A7", "#009E73", "#F0E442", "#D55E00", "#0072B2", "#56B4E9"] as const;

export function answerColour(at: number): string {
  return ANSWER_COLOURS[at % ANSWER_COLOURS.length] as string;
}
