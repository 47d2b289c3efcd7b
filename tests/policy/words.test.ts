/**
 * Words that the project does not use, in code, comments, messages and documents (docs/writing.md): private names of things
 * that have a name in the field, and phrases that have to be read twice.
 */
import { describe, expect, it } from "vitest";
import { trackedFiles } from "../support/sources.ts";

/** A pattern and what to write instead. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bplay(?:ed)?[ -]?outs?\b|played ?loop|play ?loop ?\d/i, "group, rollouts"],
  [/\bdrafts\b/i, "rollouts"],
  [/\bholdings\b/i, "memory by owner"],
  [/\bobstacles?\b/i, "blocker"],
  [/\boccupancy\b/i, "session lock"],
  [/keepGoing/, "recovery from a lost device"],
  [/\bshelf\b/i, "cache"],
  [/\bcontenders?\b|Contender/, "baseline"],
  [/\bInstruments?\b|\b(?:two|other|which|an) instruments?\b/, "kind of judge"],
  [/\bown[ -]reward|ownReward/i, "custom reward, or run reward"],
  [/\bown kernel|ownKernel|\bown program/i, "custom kernel"],
  [/usual.programs/i, "precompile"],
  [/\bwhoever\b/i, "name the caller or owner"],
  [/\bhardly\b/i, "barely"],
  [/\bnobody\b/i, "say who, or use the passive"],
  [/\bshall\b/i, "must, or the present tense"],
  [/\bso many of\b|\bof so many\b|\bso many (?:rows|bytes|values)\b/i, "this many, or number of"],
  [/\bon (?:this|the|a) beat\b|\bbeats?\b(?= (?:of|that|above|steps))/i, "interval"],
  [/\bof (?:one's|its|their|our|his|your) own\b(?! \w)/i, "its own …, or separate"],
  [/\bunder way\b/i, "current, or in progress"],
  [/\btold apart\b/i, "distinguished"],
  [/\b(?:is|are|was) told\b/i, "receives, or is reported"],
];

/** Quotations, licences and documents that name the words. */
const LEFT_OUT =
  /^(?:docs\/writing\.md|docs\/spec\/|tests\/|tools\/pocket\/world\/README\.md|LICENSE|public\/|package-lock|.*\.jsonl?$)/;

const isText = (path: string): boolean => /\.(?:tsx?|mjs|md|css|html)$/.test(path) && !LEFT_OUT.test(path);

/** Uses of the words in a file, as "path:line: word → replacement". */
function found(path: string, text: string): string[] {
  return text.split("\n").flatMap((line, at) =>
    WORDS.flatMap(([pattern, instead]) => {
      const word = pattern.exec(line);
      return word === null ? [] : [`${path}:${at + 1}: "${word[0]}" → ${instead}`];
    }),
  );
}

describe("the words of the project", () => {
  const files = trackedFiles(isText);

  it("are checked in all its files", () => {
    expect(files.length).toBeGreaterThan(700);
    expect(found("a.ts", "/** Whoever asks is told. */")).toHaveLength(2);
    expect(found("a.ts", "const ownReward = playout; // in a folder of its own, under way")).toHaveLength(4);
    expect(found("a.ts", "/** The caller's own folder. */ const instrument = drawn;")).toEqual([]);
  });

  it("are the field's, in plain English", () => {
    expect(files.flatMap(({ path, text }) => found(path, text))).toEqual([]);
  });
});
