/** What a fuzzing target is: valid inputs, ways to damage them, and a reader whose answer can be judged. */
import type { Arbitrary } from "fast-check";

/** Contents by path; a target with one input names it itself. */
export type Files = Readonly<Record<string, Uint8Array<ArrayBuffer>>>;

/** One drawn input. `files` is lazy, so that a case that is only counted costs nothing. */
export interface Case {
  /** The damages, for people. */
  readonly what: string;
  files(): Files;
}

export interface Target {
  /** Valid inputs by name, which must be read. */
  readonly inputs: Readonly<Record<string, Files>>;
  /** The same, damaged. */
  readonly cases: Arbitrary<Case>;
  /**
   * Reads the input as the lab does.
   * @throws LabError when the input is refused, Nonsense when the reader returns what cannot be
   */
  read(files: Files): Promise<void>;
}

/** The reader accepted what it must not accept, or refused it in a form that people cannot read. */
export class Nonsense extends Error {}

/** @throws Nonsense unless it holds */
export function check(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Nonsense(otherwise);
}

const LONGEST = 300;

/** What is wrong with a message as one line for people; undefined when nothing is. */
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
