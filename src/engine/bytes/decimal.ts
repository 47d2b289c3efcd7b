/** Decimal numbers in text. */

const DECIMAL = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/** The decimal number in a text; NaN for other texts, including "0x10" and "", which JavaScript converts. */
export function decimal(text: string): number {
  return DECIMAL.test(text) ? Number(text) : Number.NaN;
}
