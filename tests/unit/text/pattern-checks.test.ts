/** Patterns of a tokenizer.json: published ones and harmless ones run, one that could take hours is refused. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { patternProblem } from "../../../src/engine/text/pattern-checks.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";

const HOSTILE = "([A-Za-z ,.?<>_/\\n]+)+9";

describe("accepts", () => {
  it.each([
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    // The last alternative of DeepSeek's pattern, with a line break as itself.
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
  ])("the published pattern %#", (pattern) => {
    expect(patternProblem(pattern)).toBeUndefined();
  });

  it.each([
    "\\s+",
    " ",
    "'s|'t| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    "[一-龥぀-ゟ゠-ヿ]+",
    "\\p{N}{1,3}|\\d+[a-z]+|[a-z]*\\d?",
    "(?<=x)a+",
  ])("the harmless pattern %s", (pattern) => {
    expect(patternProblem(pattern)).toBeUndefined();
  });
});

test.each([
  [HOSTILE, "repeats a group"],
  ["(a*)*b", "repeats a group"],
  ["(?:a|a){1,30}b", "repeats a group"],
  [`${"a?".repeat(30)}${"a".repeat(30)}`, "matches a text in more than 256 ways"],
  [`${"(?:a|a)".repeat(30)}b`, "matches a text in more than 256 ways"],
  ["\\s*\\s*\\s*\\s*x", 'repeats "\\s" and "\\s", which share characters'],
  [".*[a-z]*x", 'repeats "." and "[a-z]", which share characters'],
  ["\\w+b[A-C]+", 'repeats "\\w" and "[A-C]", which share characters'],
  ["a{0,100}a{0,100}b", 'repeats "a" and "a", which share characters'],
  ["[\u{1f600}-\u{1f64f}]+[\u{1f601}]+x", 'repeats "[\u{1f600}-\u{1f64f}]" and "[\u{1f601}]", which share characters'],
  ["(a)\\1", 'has the escape "\\1"'],
  ["(?=a+)b", "looks ahead or back any number of characters"],
  ["(?R)", "has a group of an unknown kind"],
  ["(?>a", "does not close a group"],
  ["a)", "closes a group that it did not open"],
  ["[a", "does not close a class"],
  ["a".repeat(3000), "has 3000 characters, more than 2000"],
])("refuses %s", (pattern, reason) => {
  expect(patternProblem(pattern)).toBe(reason);
});

test("accepted patterns end on texts made of their own characters", () => {
  // Quadratic at most: 2,000 characters take milliseconds, and a pattern with more ways would not end.
  for (const pattern of ["a+b?c", "[a-z]+[0-9]*x", "a?a?a?a+b", "(?:a|b)?a{0,4}b{0,4}c+d"]) {
    expect(patternProblem(pattern)).toBeUndefined();
    for (const text of ["a".repeat(2000), "ab".repeat(1000), "abc0".repeat(500)]) {
      expect(text.replaceAll(new RegExp(pattern, "gu"), "").length).toBeLessThanOrEqual(text.length);
    }
  }
});

test("a tokenizer with a pattern without end is refused at once, naming the file and the pattern", async () => {
  const folder = join(root, "tests/golden/sa2va-tiny-qwen2");
  const files = ["tokenizer.json", "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json"];
  const texts = Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
  const open = (change: (definition: Definition) => void) => {
    const definition = JSON.parse(texts["tokenizer.json"] as string) as Definition;
    change(definition);
    return openTokenizer(memoryFolder({ ...texts, "tokenizer.json": JSON.stringify(definition) }));
  };
  await expect(open(() => undefined)).resolves.toBeDefined();
  const split = { type: "Split", pattern: { Regex: HOSTILE }, behavior: "Isolated", invert: false };
  await expect(open((one) => one.pre_tokenizer.pretokenizers.unshift(split))).rejects.toThrow(
    `tokenizer.json has a step Split whose pattern "${HOSTILE}" repeats a group, so a text could take it hours; it is not loaded`,
  );
  // The library reads one of the lists, whichever others a step has.
  const hidden = { type: "Sequence", normalizers: [], decoders: [{ type: "ByteLevel" }], pretokenizers: [split] };
  await expect(open((one) => one.pre_tokenizer.pretokenizers.unshift(hidden))).rejects.toThrow("repeats a group");
  const replace = { type: "Replace", pattern: { Regex: "(\\s+)*x" }, content: " " };
  await expect(
    open((one) => {
      one.normalizer = replace;
    }),
  ).rejects.toThrow('has a step Replace whose pattern "(\\s+)*x" repeats a group');
});

interface Definition {
  pre_tokenizer: { readonly pretokenizers: unknown[] };
  normalizer: unknown;
}
