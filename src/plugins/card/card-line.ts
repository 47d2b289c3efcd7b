/**
 * Measurements of a card as lines of a report; separate from the code that measures, because the page has no engine.
 */

/** Stages, in the order in which they run. */
export const CARD_STAGES = ["adapter", "self-test", "long", "rates", "decoding", "tuning"] as const;
export type CardStage = (typeof CARD_STAGES)[number];

/** The sizes of Sa2VA-1B, or the smallest ones that still run every program. */
export type CardSizes = "1B" | "small";

/** One line of a stage: a check, a rate, or facts. */
export interface CardFacts {
  /** Name of the check or rate; absent for facts about a whole stage. */
  readonly case?: string;
  /** Present if the line is a rate. */
  readonly value?: number;
  readonly unit?: CardUnit;
  /** Present if the line is a check. */
  readonly passed?: boolean;
  /** Why a stage was not completed. */
  readonly failed?: string;
  readonly [field: string]: unknown;
}

/** A line of the report. */
export interface CardLine extends CardFacts {
  readonly stage: string;
}

export interface CardRate extends CardFacts {
  readonly case: string;
  readonly value: number;
  readonly unit: CardUnit;
}

/** Rates are per second, times in seconds. */
export type CardUnit = "FLOP/s" | "B/s" | "s";
