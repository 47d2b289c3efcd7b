/** Interface of a reward term; registry.ts has the terms. */
import type { MeteorDetail, RewardTerm, RolloutFacts } from "../term.ts";

/** How an overlap becomes a reward. */
export type IouShape = "plain" | "squared" | "tiered";

/** The line a · (IoU − b), clipped to [low, high]. */
export interface IouBand {
  readonly slope: number;
  readonly centre: number;
  readonly low: number;
  readonly high: number;
}

/** Settings that decide how terms are computed. */
export interface TermSettings {
  readonly iouShape: IouShape;
  /** Value of the IoU term when both masks are empty. */
  readonly emptyPair: number;
  readonly lengthRatio: number;
  readonly repetitionGram: number;
  readonly leakWords: string;
  readonly band: IouBand;
}

export interface TermTools {
  readonly settings: TermSettings;
  readonly meteor: { score(reference: string, hypothesis: string): MeteorDetail };
}

/** A value with its details; if it cannot be computed, null with the reason, never 0 instead. */
export type Measured = Omit<RewardTerm, "name" | "weight">;

export interface TermSpec {
  /** Name in records, metrics and settings; never reused. */
  readonly name: string;
  /** Name on screen. */
  readonly label: string;
  /** One sentence without a full stop. */
  readonly help: string;
  /** Whether the term is a cost from 0 to 1, which is subtracted. */
  readonly cost?: true;
  /**
   * Computes the term of one rollout; absent if the scorer requests the value elsewhere. Called for every rollout,
   * whatever the weight. Returns undefined if its inputs were not measured; the rollout then lacks the term.
   */
  readonly measure?: (facts: RolloutFacts, tools: TermTools) => Measured | undefined;
}

export const NO_GIVEN: Measured = { value: null, note: "no given mask in the file" };
export const NO_REFERENCE: Measured = { value: null, note: "no reference caption in the file" };

/** Words of a text without case and punctuation. */
export function plainWords(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? [];
}
