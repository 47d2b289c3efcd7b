/**
 * The error type whose messages users read: `message` is one line of at most 300 characters that names the file or
 * setting, the cause and what was kept; `code` is stable and tells callers how to react.
 */
export type ErrorCode =
  | "bad-input" // a file, row or argument from the user is invalid
  | "bad-config" // a setting is out of range or does not fit the model
  | "unsupported" // valid, but not supported; the message names the supported forms
  | "gpu" // device error, device lost, no adapter
  | "cancelled" // the user stopped it
  | "held" // a reward is not available now: the run pauses before the step is stored, and can continue
  | "storage" // OPFS, quota, file system
  | "network" // a server did not answer or closed the connection; complete files are kept, a retry may help
  | "internal"; // a violated invariant

/** Maximum characters of a message. */
export const LONGEST_SENTENCE = 300;

export class LabError extends Error {
  readonly code: ErrorCode;
  /** The file, row or setting that the message is about, if any. */
  readonly subject: string | undefined;
  /** What the message only counts, in full: one line each. */
  readonly list: readonly string[];

  /** @param message put on one line and shortened in the middle if it is too long */
  constructor(
    code: ErrorCode,
    message: string,
    options: { subject?: string; cause?: unknown; list?: readonly string[] } = {},
  ) {
    super(shortened(message, LONGEST_SENTENCE), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "LabError";
    this.code = code;
    this.subject = options.subject;
    this.list = (options.list ?? []).map((line) => shortened(line, LONGEST_SENTENCE));
  }
}

/** @param subject the file, row or setting that the message is about */
export function badInput(message: string, subject?: string, cause?: unknown): LabError {
  return new LabError("bad-input", message, { ...(subject === undefined ? {} : { subject }), cause });
}

/** Any thrown value as a LabError; foreign errors become `internal` with their own message. */
export function toLabError(thrown: unknown, code: ErrorCode = "internal"): LabError {
  if (thrown instanceof LabError) return thrown;
  return new LabError(code, thrownText(thrown), { cause: thrown });
}

/** Message of a thrown value, on one line of at most 300 characters. */
export function thrownText(thrown: unknown): string {
  return thrown instanceof Error ? shortened(thrown.message, LONGEST_SENTENCE) : quote(thrown, LONGEST_SENTENCE);
}

/**
 * A foreign value inside a sentence: a string in double quotes, numbers and booleans as text, anything else by its kind.
 * Never throws and never runs code of the value.
 * @param most maximum characters of the text
 */
export function quote(value: unknown, most = 100): string {
  if (typeof value === "string") return `"${shortened(value, most)}"`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  return shortened(String(value), most);
}

/** A text on one line, shortened in the middle to `most` characters. */
export function shortened(text: string, most: number): string {
  // Shorten before cleaning, because a text may be as long as a file.
  const cut = text.length <= 8 * most ? text : `${text.slice(0, 4 * most)} … ${text.slice(-4 * most)}`;
  const line = plainLine(cut);
  if (line.length <= most) return line;
  const tail = Math.floor(most / 4);
  return wellFormed(`${line.slice(0, most - tail - 3)} … ${tail === 0 ? "" : line.slice(-tail)}`);
}

/** Applied after line ends have become spaces, so only an escape can precede the bracket. */
const ESCAPE_SEQUENCE = /\p{Cc}\[[0-?]*[ -/]*[@-~]/gu;
/** Control characters, and marks that reverse or hide text. */
const UNSEEN = /[\p{Cc}\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]/gu;

/** A foreign text, safe to show: one line, no terminal escapes, control characters, soft hyphens or bidirectional marks. */
export function plainLine(text: string): string {
  return wellFormed(text)
    .replace(/[\s\u0085\u2028\u2029]+/gu, " ")
    .replace(ESCAPE_SEQUENCE, "")
    .replace(UNSEEN, "")
    .replace(/\u00AD/g, "")
    .trim();
}

/**
 * A foreign text that keeps its lines and tabs but hides nothing: terminal escapes, control characters and
 * bidirectional marks appear as numbers, such as \\u202e, which JSON reads as the same text.
 */
export function markUnseen(text: string): string {
  return text.replace(UNSEEN, (mark) =>
    LAYOUT.includes(mark) ? mark : `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A foreign text with its lines and tabs, without control characters and bidirectional marks. */
export function dropUnseen(text: string): string {
  return text.replace(UNSEEN, (mark) => (LAYOUT.includes(mark) ? mark : ""));
}

const LAYOUT = "\n\r\t";

/** Replaces lone surrogates, which cutting a text can leave. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}
