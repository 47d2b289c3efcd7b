import { describe, expect, it } from "vitest";
import {
  ANY,
  NO_FILTER,
  parseRowFilter,
  type RowFacts,
  type RowFilter,
  rowFilterText,
  rowMatcher,
} from "../../../src/engine/data/row-filter.ts";

const ROW: RowFacts = { file: "a b/c.arrow", caption: "The Red cup, half full", category: ["cup"], maskShare: 0.125 };
const matches = (text: string, row: Partial<RowFacts> = {}): boolean =>
  rowMatcher(parseRowFilter(text))({ ...ROW, ...row });

describe("the text of a row filter", () => {
  it("is read in any order; other words are searched", () => {
    expect(parseRowFilter("red area:0.01..0.2  category:chair cup words:2.. shard:a/b.arrow")).toEqual({
      category: "chair",
      shard: "a/b.arrow",
      area: [0.01, 0.2],
      words: [2, ANY[1]],
      search: "red cup",
    });
    expect(parseRowFilter(" \n")).toEqual(NO_FILTER);
  });

  it.each<Partial<RowFilter>>([
    {},
    { category: "dining table", shard: 'a "b"\\c d.arrow' },
    { category: '"' },
    { area: [1e-7, 0.2], words: [ANY[0], 8] },
    { search: 'red "half full" 12:30 a"b' },
    { category: "cup", search: "cup" },
  ])("comes back from its own text: %j", (changes) => {
    const filter = { ...NO_FILTER, ...changes };
    expect(parseRowFilter(rowFilterText(filter))).toEqual(filter);
  });

  it("quotes a searched word that reads like a condition", () => {
    const text = rowFilterText({ ...NO_FILTER, search: "area:red words:" });
    expect(text).toBe('"area:red" "words:"');
    expect(matches(text)).toBe(false);
    expect(matches(text, { caption: "area:red, words: two" })).toBe(true);
  });

  it.each([
    ["area:0.2", 'rowFilter has "area:0.2", which is not a range such as area:0.01..0.2'],
    ["words:two..8", 'rowFilter has "words:two..8", which is not a range such as words:2..8'],
    ["words:8..2", /is not a range/],
    ["words:..", /is not a range/],
    ["words:1..2..3", /is not a range/],
    ["area:nan..1", /is not a range/],
    ["words:0x2..8", /is not a range/],
    ["category:", 'rowFilter has "category:" without a value'],
    ["words:1..2 red words:3..4", "rowFilter names words twice"],
  ])("%s is refused", (text, sentence) => {
    expect(() => parseRowFilter(text)).toThrow(sentence);
  });
});

describe("rows", () => {
  it.each([
    ["", true],
    ["category:cup", true],
    ["category:cu", false],
    ['shard:"a b/c.arrow"', true],
    ["shard:c.arrow", false],
    ["area:0.125..0.125 words:5..5", true],
    ["area:0.126..", false],
    ["area:..0.124", false],
    ["words:6..", false],
    ["FULL red", true],
    ["full blue", false],
    ['"red cup"', true],
    ['"cup red"', false],
    // A quote that is still being typed.
    ['"red c', true],
  ])("that %s asks for", (text, is) => {
    expect(matches(text)).toBe(is);
  });
});
