/** Decimal numbers in text. */

const DECIMAL = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/** The decimal number in a text; NaN for other texts, also for those that JavaScript reads, such as "0x10" and "". */
export function decimal(text: string): number {
  return DECIMAL.test(text) ? Number(text) : Number.NaN;
}
