/**
 * The decoder of tokenizer.json for vocabularies with byte pieces (Llama, Phi-3). Hugging Face's JavaScript library
 * decodes runs of bytes leniently; the original writes one U+FFFD for every byte of a run that is not UTF-8.
 */
import { isRecord } from "../bytes/json.ts";

/** Maps tokens to tokens; a chain of steps ends in one text. */
type Step = (tokens: string[]) => string[];

export type Decode = (tokens: readonly string[]) => string;

/** @returns undefined for a decoder without byte pieces or with an unknown step */
export function byteFallbackDecoder(decoder: unknown): Decode | undefined {
  const parts = isRecord(decoder) && decoder.type === "Sequence" ? decoder.decoders : [decoder];
  if (!Array.isArray(parts) || !parts.some((part) => isRecord(part) && part.type === "ByteFallback")) return undefined;
  const steps = parts.map(stepOf);
  if (steps.some((step) => step === undefined)) return undefined;
  return (tokens) => (steps as Step[]).reduce((current, step) => step(current), [...tokens]).join("");
}

function stepOf(value: unknown): Step | undefined {
  if (!isRecord(value)) return undefined;
  switch (value.type) {
    case "ByteFallback":
      return joinBytes;
    case "Fuse":
      return (tokens) => [tokens.join("")];
    case "Replace": {
      const from = isRecord(value.pattern) ? value.pattern.String : undefined;
      const to = value.content;
      if (typeof from !== "string" || typeof to !== "string") return undefined;
      return (tokens) => tokens.map((token) => token.replaceAll(from, () => to));
    }
    case "Strip": {
      const { content, start, stop } = value;
      if (typeof content !== "string" || typeof start !== "number" || typeof stop !== "number") return undefined;
      return (tokens) => tokens.map((token) => strip(token, content, start, stop));
    }
    case "Metaspace": {
      const mark = typeof value.replacement === "string" ? value.replacement : "\u2581";
      const prefixed = value.prepend_scheme !== "never" && value.add_prefix_space !== false;
      const unmark = (token: string, at: number): string => {
        const own = at === 0 && prefixed && token.startsWith(mark) ? token.slice(mark.length) : token;
        return own.replaceAll(mark, " ");
      };
      return (tokens) => tokens.map(unmark);
    }
    default:
      return undefined;
  }
}

function joinBytes(tokens: readonly string[]): string[] {
  const out: string[] = [];
  let bytes: number[] = [];
  const flush = (): void => {
    if (bytes.length > 0) out.push(textOf(bytes));
    bytes = [];
  };
  for (const token of tokens) {
    const hex = /^<0x([0-9A-Fa-f]{2})>$/.exec(token)?.[1];
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else {
      flush();
      out.push(token);
    }
  }
  flush();
  return out;
}

function textOf(bytes: readonly number[]): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch (thrown) {
    if (thrown instanceof TypeError) return "\ufffd".repeat(bytes.length);
    throw thrown;
  }
}

/** Strips at most this many occurrences of a letter from either end. */
function strip(text: string, letter: string, start: number, stop: number): string {
  let [from, to] = [0, text.length];
  for (let count = 0; count < start && text.startsWith(letter, from); count++) from += letter.length;
  for (let count = 0; count < stop && to > from && text.endsWith(letter) && text[to - 1] === letter; count++) to--;
  return text.slice(from, to);
}
