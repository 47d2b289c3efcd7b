import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { pythonStrip } from "../../../src/engine/bytes/text.ts";
import { alignTokens, countChunks, Lexicon, Meteor } from "../../../src/engine/rewards/meteor/meteor.ts";
import { meteorTokens } from "../../../src/engine/rewards/meteor/tokens.ts";
import { parseWordnet } from "../../../src/engine/rewards/wordnet.ts";
import { randomCaptions } from "./random-captions.ts";

const wordnet = parseWordnet(await readFile(new URL("../../../public/wordnet/wordnet30.txt", import.meta.url)));
const meteor = new Meteor(wordnet);

test("tokens are cut at Python's white space only", () => {
  expect(meteorTokens("")).toEqual([]);
  expect(meteorTokens(" \u001c\u0085 ")).toEqual([]);
  expect(meteorTokens("A\u001fb\u0085C.\ufeffd\u200be")).toEqual(["a", "b", "c.\ufeffd\u200be"]);
  expect(pythonStrip("\u001c a\ufeff b \u0085\n")).toBe("a\ufeff b");
  expect(pythonStrip(" \t")).toBe("");
});

test("scores lie in 0..1, agree with their parts, and matches pair each word at most once", () => {
  for (const [reference, hypothesis] of randomCaptions(11, 400)) {
    const detail = meteor.score(reference, hypothesis);
    expect(detail.score).toBeGreaterThanOrEqual(0);
    expect(detail.score).toBeLessThan(1);
    expect(detail.score).toBe((1 - detail.penalty) * detail.fMean);
    const { matches } = detail;
    expect(detail.score > 0).toBe(matches.length > 0);
    expect(new Set(matches.map(([h]) => h)).size).toBe(matches.length);
    expect(new Set(matches.map(([, r]) => r)).size).toBe(matches.length);
    expect(matches.length).toBeLessThanOrEqual(Math.min(detail.hypothesis.length, detail.reference.length));
    expect(detail.chunks).toBeLessThanOrEqual(matches.length);
    for (const [h, r, stage] of matches) {
      expect(detail.hypothesis[h] === detail.reference[r]).toBe(stage === "exact");
    }
  }
});

test("identical captions of n words score 1 - 0.5 / n^3", () => {
  for (const [caption] of randomCaptions(5, 60)) {
    const n = meteorTokens(caption).length;
    if (n === 0) continue;
    expect(meteor.score(caption, caption).score).toBeCloseTo(1 - 0.5 / n ** 3, 14);
  }
  expect(meteor.score("dog", "dog").score).toBe(0.5);
});

test("an empty side scores 0 with every part 0", () => {
  const pairs = [
    ["", "a dog"],
    ["a dog", " "],
    ["", ""],
    ["dog", "cat"],
  ] as const;
  for (const [reference, hypothesis] of pairs) {
    const nothing = { matches: [], chunks: 0, precision: 0, recall: 0, penalty: 0, fMean: 0, score: 0 };
    expect(meteor.score(reference, hypothesis)).toMatchObject(nothing);
  }
});

test("recall weighs nine times precision", () => {
  const short = meteor.score("a dog runs on grass", "a dog").score;
  const long = meteor.score("a dog", "a dog runs on grass").score;
  expect(short).toBeCloseTo((0.4 / (0.9 + 0.1 * 0.4)) * (1 - 0.5 / 8), 14);
  expect(long).toBeCloseTo((0.4 / (0.9 * 0.4 + 0.1)) * (1 - 0.5 / 8), 14);
});

test("only the hypothesis word is expanded, and the stem is looked up, not the word", () => {
  expect(meteor.score("man", "men").matches).toEqual([[0, 0, "synonym"]]);
  expect(meteor.score("men", "man").matches).toEqual([]);
  expect(meteor.score("automobile", "car").matches).toEqual([]);
  expect(meteor.score("auto", "car").matches).toEqual([[0, 0, "synonym"]]);
  // Synonyms as words, but their stems "larg" and "happi" are no dictionary forms.
  expect(wordnet.synonyms("large")).toContain("big");
  expect(meteor.score("big", "large").matches).toEqual([]);
  expect(meteor.score("glad", "happy").matches).toEqual([]);
});

test("both sides are taken from the last word to the first", () => {
  const knowledge = { stem: (word: string) => word, synonyms: (word: string) => new Set([word]) };
  const lexicon = new Lexicon(knowledge, 10);
  expect(alignTokens(["a", "b", "a"], ["a", "a"], lexicon)).toEqual([
    [0, 0, "exact"],
    [2, 1, "exact"],
  ]);
  expect(alignTokens(["a"], ["a", "x", "a"], lexicon)).toEqual([[0, 2, "exact"]]);
});

test("chunks count breaks on either side", () => {
  expect(countChunks([])).toBe(0);
  expect(
    countChunks([
      [0, 0, "exact"],
      [1, 1, "exact"],
      [2, 3, "exact"],
      [4, 4, "exact"],
    ]),
  ).toBe(3);
});

test("the best of several references counts, the first of equals, none is an error", () => {
  expect(meteor.scoreBest(["x", "a dog", "a cat"], "a dog").reference).toEqual(["a", "dog"]);
  expect(meteor.scoreBest(["x y", "z"], "a").reference).toEqual(["x", "y"]);
  expect(() => meteor.scoreBest([], "a")).toThrow("needs a reference caption");
});

test("parameters outside their range are refused", () => {
  for (const wrong of [{ alpha: 1.1 }, { gamma: -0.1 }, { beta: -1 }, { beta: Number.NaN }]) {
    expect(() => new Meteor(wordnet, { ...meteor.parameters, ...wrong })).toThrow("METEOR takes alpha");
  }
});

test("words are worked out once, forgotten when they are not used, and never in the middle of a pair", () => {
  const asked: string[] = [];
  const stem = (word: string): string => {
    asked.push(word);
    return word.slice(0, 2);
  };
  const lexicon = new Lexicon({ stem, synonyms: (word) => new Set([word]) }, 3);
  const align = (hypothesis: string, reference: string): number =>
    alignTokens(hypothesis.split(" "), reference.split(" "), lexicon).length;
  expect(align("abc", "abd")).toBe(1);
  expect(align("abc", "abd")).toBe(1);
  expect(asked).toEqual(["abc", "abd"]);
  // Far more words than are kept, in one pair: equal ones stay equal.
  const many = Array.from({ length: 40 }, (_, n) => `w${n}x`);
  expect(align(many.join(" "), [...many].reverse().join(" "))).toBe(40);
  expect(align(many.map((word) => `${word}1`).join(" "), many.map((word) => `${word}2`).join(" "))).toBe(40);
  expect(align("cde", "cdf")).toBe(1);
  expect(align("cdg", "cdh")).toBe(1);
  expect(align("abc", "abd")).toBe(1);
  expect(asked.filter((word) => word === "abc")).toHaveLength(2);
});
