/** What is measured of a card, as lines of a report; apart from the code that measures, since the page holds no engine. */

/** In the order in which they run. */
export const CARD_STAGES = ["adapter", "self-test", "long", "rates", "decoding", "tuning"] as const;
export type CardStage = (typeof CARD_STAGES)[number];

/** What Sa2VA-1B asks for, or the least that still runs every program. */
export type CardSizes = "1B" | "small";

/** What a stage says: a check, a rate, or facts. */
export interface CardFacts {
  /** Name of the check or rate; absent for facts of a whole stage. */
  readonly case?: string;
  /** Present where the line is a rate. */
  readonly value?: number;
  readonly unit?: CardUnit;
  /** Present where the line is a check. */
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

/** Rates are numbers a second, times are seconds. */
export type CardUnit = "FLOP/s" | "B/s" | "s";
