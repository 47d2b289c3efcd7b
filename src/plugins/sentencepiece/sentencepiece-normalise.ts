/**
 * Normalisation before SentencePiece splits a text: replacement rules from a compiled table, blanks, and the mark that
 * replaces blanks. The table is a double-array trie over UTF-8 bytes, followed by its replacements, each ended by a
 * zero byte.
 */
import { badInput } from "../../engine/errors.ts";
import type { SentencePieceModel } from "./sentencepiece-model.ts";

/** Replaces a blank inside pieces. */
export const BLANK_MARK = "\u2581";

/** A byte order mark is treated as a letter. */
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * The longest replacement that matches the bytes from `at` on, with the number of bytes it replaces; undefined if none
 * does.
 */
type Rules = (bytes: Uint8Array, at: number) => { readonly text: string; readonly length: number } | undefined;

export type Normalise = (text: string) => string;

/** @param verbatim texts that rules must not change (user-defined pieces) */
export function sentencePieceNormaliser(model: SentencePieceModel, verbatim: readonly string[]): Normalise {
  const { charsMap, addDummyPrefix, removeExtraWhitespaces, escapeWhitespaces } = model.normaliser;
  const rules = charsMap.length === 0 ? undefined : readRules(charsMap);
  const kept = [...verbatim].sort((a, b) => b.length - a.length);
  const blank = escapeWhitespaces ? BLANK_MARK : " ";

  const prefix = addDummyPrefix && !model.whitespaceAsSuffix ? blank : "";
  const suffix = addDummyPrefix && model.whitespaceAsSuffix ? blank : "";

  return (text) => {
    let out = "";
    let afterBlank = removeExtraWhitespaces;
    let onlyBlanks = removeExtraWhitespaces || text === "";
    for (const part of replaced(text, rules, kept)) {
      if (part !== " ") onlyBlanks = false;
      let value = part;
      // Runs of blanks become one; those at the start are removed.
      while (removeExtraWhitespaces && afterBlank && value.startsWith(" ")) value = value.slice(1);
      if (value === "") continue;
      out += value.replaceAll(" ", blank);
      afterBlank = value.endsWith(" ");
    }
    if (onlyBlanks) return "";
    out = prefix + out;
    while (removeExtraWhitespaces && out.endsWith(blank)) out = out.slice(0, -blank.length);
    return out + suffix;
  };
}

/** Pieces of the text after the rules, each from one match or one letter. */
function* replaced(text: string, rules: Rules | undefined, kept: readonly string[]): Generator<string> {
  const encoder = new TextEncoder();
  // A lone surrogate has no UTF-8 form and becomes U+FFFD.
  const bytes = encoder.encode(text);
  const clean = UTF8.decode(bytes);
  let at = 0;
  for (let place = 0; place < clean.length; ) {
    const own = kept.find((item) => clean.startsWith(item, place));
    const letter = String.fromCodePoint(clean.codePointAt(place) as number);
    const rule = own === undefined ? rules?.(bytes, at) : undefined;
    if (rule === undefined) {
      const value = own ?? letter;
      yield value;
      place += value.length;
      at += encoder.encode(value).length;
    } else {
      yield rule.text;
      place += UTF8.decode(bytes.subarray(at, at + rule.length)).length;
      at += rule.length;
    }
  }
}

/** Opens the compiled table. @throws LabError("bad-input") when its sizes are impossible */
function readRules(charsMap: Uint8Array): Rules {
  const view = new DataView(charsMap.buffer, charsMap.byteOffset, charsMap.length);
  const size = charsMap.length < 4 ? Number.POSITIVE_INFINITY : view.getUint32(0, true);
  if (size % 4 !== 0 || 4 + size > charsMap.length) {
    throw badInput("The SentencePiece model's table of replacement rules is cut off", "precompiled_charsmap");
  }
  const units = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
  const texts = charsMap.subarray(4 + size);
  return (bytes, start) => {
    let node = 0;
    let found: { offset: number; length: number } | undefined;
    node ^= offsetOf(units[0] as number);
    for (let at = start; at < bytes.length; at++) {
      const label = bytes[at] as number;
      if (label === 0) break;
      node ^= label;
      const unit = units[node];
      // The lowest byte with the top bit is the label of the unit.
      if (unit === undefined || (unit & 0x800000ff) >>> 0 !== label) break;
      node ^= offsetOf(unit);
      const leaf = units[node];
      if (((unit >>> 8) & 1) === 1 && leaf !== undefined) found = { offset: leaf & 0x7fffffff, length: at - start + 1 };
    }
    if (found === undefined) return undefined;
    const end = texts.indexOf(0, found.offset);
    const text = UTF8.decode(texts.subarray(found.offset, end < 0 ? texts.length : end));
    return { text, length: found.length };
  };
}

/** Distance to the children of a unit; large distances are stored in steps of 256. */
function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & (1 << 9)) >>> 6);
}
