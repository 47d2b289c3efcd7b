/** A reward term is a file here and its line in registry.ts. */
import type { MeteorDetail, RewardTerm, RolloutFacts } from "../term.ts";

/** How an overlap becomes a reward. */
export type IouShape = "plain" | "squared" | "tiered";

/** Settings that decide how terms are computed. */
export interface TermSettings {
  readonly iouShape: IouShape;
  /** Value of the IoU term when both masks are empty. */
  readonly emptyPair: number;
  readonly lengthRatio: number;
  readonly repetitionGram: number;
  readonly leakWords: string;
}

export interface TermTools {
  readonly settings: TermSettings;
  readonly meteor: { score(reference: string, hypothesis: string): MeteorDetail };
}

/** A value with its details; null with the reason when it cannot be computed, never 0 in its place. */
export type Measured = Omit<RewardTerm, "name" | "weight">;

export interface TermSpec {
  /** Name in records, metrics and settings; never reused. */
  readonly name: string;
  /** Name on screen. */
  readonly label: string;
  /** One sentence without a full stop. */
  readonly help: string;
  /** A cost from 0 to 1, which is subtracted. */
  readonly cost?: true;
  /**
   * The term of one rollout; absent where the scorer has to ask for it. Called for every rollout, whatever the weight.
   * Undefined where what it needs was not measured; the rollout then has no such term.
   */
  readonly measure?: (facts: RolloutFacts, tools: TermTools) => Measured | undefined;
}

export const NO_GIVEN: Measured = { value: null, note: "no given mask in the file" };
export const NO_REFERENCE: Measured = { value: null, note: "no reference caption in the file" };
