/** Files damaged at random, and what must come of it: a sentence, soon. */
import fc from "fast-check";
import { LabError } from "../../src/engine/errors.ts";

export interface Damage {
  readonly kind: "byte" | "cut" | "zero" | "word" | "huge" | "insert" | "remove";
  /** Where, as a share of the file. */
  readonly at: number;
  readonly value: number;
  readonly length: number;
}

/** One to four damages. */
export const DAMAGES = fc.array(
  fc.record({
    kind: fc.constantFrom<Damage["kind"][]>("byte", "byte", "byte", "cut", "zero", "word", "huge", "insert", "remove"),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    value: fc.nat(255),
    length: fc.integer({ min: 1, max: 64 }),
  }),
  { minLength: 1, maxLength: 4 },
);

export function damaged(bytes: Uint8Array, damages: readonly Damage[]): Uint8Array<ArrayBuffer> {
  let now = new Uint8Array(bytes);
  for (const { kind, at, value, length } of damages) {
    const place = Math.floor(at * Math.max(0, now.length - 1));
    const word = place & ~3;
    if (kind === "byte") now.fill(value, place, place + 1);
    else if (kind === "cut") now = now.slice(0, place);
    else if (kind === "zero") now.fill(0, place, place + length);
    else if (kind === "word") now.fill(value, word, word + 1).fill(value > 200 ? 0xff : 0, word + 1, word + 4);
    else if (kind === "huge") now.fill(0xff, place & ~7, (place & ~7) + (value > 128 ? 7 : 8));
    else if (kind === "insert") now = joined(now.slice(0, place), now.slice(place, place + length), now.slice(place));
    else now = joined(now.slice(0, place), now.slice(place + length));
  }
  return now;
}

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts));
}

/** Far above what any of these small files takes, even on a busy machine. */
const SOON = 20_000;

/**
 * It goes well, or is refused in a sentence of ours.
 * @returns what it gave, or undefined
 * @throws Error when it is refused otherwise, at length, or late
 */
export async function fine<T>(f: () => T | Promise<T>): Promise<T | undefined> {
  const start = performance.now();
  let given: T | undefined;
  try {
    given = await f();
  } catch (thrown) {
    if (!(thrown instanceof LabError) || thrown.code === "internal") {
      throw new Error(`No sentence of ours: ${String(thrown)}`, { cause: thrown });
    }
    if (thrown.message.length < 10 || thrown.message.length > 700) throw new Error(`No sentence: ${thrown.message}`);
  }
  if (performance.now() - start > SOON) throw new Error("This took too long");
  return given;
}
