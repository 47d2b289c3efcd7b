/** A fuzzing target: valid inputs, ways to damage them, and a reader whose answer can be checked. */
import type { Arbitrary } from "fast-check";

/** Contents by path; a target with one input chooses the path. */
export type Files = Readonly<Record<string, Uint8Array<ArrayBuffer>>>;

/** One drawn input. `files` is lazy, so a case that is only counted costs nothing. */
export interface Case {
  /** The damages as text. */
  readonly what: string;
  files(): Files;
}

export interface Target {
  /** Valid inputs by name; the reader must accept them. */
  readonly inputs: Readonly<Record<string, Files>>;
  /** The same, damaged. */
  readonly cases: Arbitrary<Case>;
  /**
   * Reads the input as the lab does.
   * @throws LabError when the input is refused, Nonsense when the reader returns an invalid value
   */
  read(files: Files): Promise<void>;
}

/** The reader accepted an input that it must refuse, or refused one without a readable sentence. */
export class Nonsense extends Error {}

/** @throws Nonsense unless it holds */
export function check(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Nonsense(otherwise);
}

const LONGEST = 300;

/** The fault of a message as one line; undefined when there is none. */
export function faultOfSentence(message: string): string | undefined {
  if (message.length < 10) return `is too short: "${message}"`;
  if (message.length > LONGEST) return `has ${message.length} characters: ${message.slice(0, LONGEST)}…`;
  // Control characters include line breaks and terminal escapes; format characters include text direction marks.
  const odd = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.exec(message);
  return odd === null ? undefined : `holds U+${odd[0].codePointAt(0)?.toString(16)}: ${JSON.stringify(message)}`;
}

/** @throws Nonsense unless the message is one line of at most 300 characters */
export function checkSentence(message: string): void {
  const fault = faultOfSentence(message);
  check(fault === undefined, `A sentence ${fault}`);
}
