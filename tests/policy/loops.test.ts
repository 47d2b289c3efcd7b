/** A loop is a folder and its lines in the two lists: nothing else imports its files or names it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { importsOf, isTypeScript, trackedFiles } from "../support/sources.ts";

const LISTS = ["src/engine/rl/loops/abouts.ts", "src/engine/rl/loops/registry.ts"];
const FOLDER = "src/engine/rl/loops/question-answer/";

const files = trackedFiles((path) => /^(src|workers|scripts)\//.test(path) && isTypeScript(path));
const others = files.filter(({ path }) => !path.startsWith(FOLDER) && !LISTS.includes(path));

/** Values of named settings, names of older versions and scripts, the scores of every evaluation, the story of the first screen. */
const NAMES_LOOPS =
  /^src\/engine\/(config\/(aliases|presets|reward-presets)|config\/groups\/mask|eval\/row-scores|runs\/(checkpoint\/best-checkpoint|run-events))\.ts$|^src\/app\/screens\/(home\/|eval\/eval-metrics|runs\/compare\/)/;

it("loops 1 and 2 are named only where a value belongs to one of them", () => {
  const named = /["'`]loop[12][_/]|\bloop[12][A-Z]\w+:|\bloop ?[=!]== ?[12]\b/;
  const wrong = files
    .filter(
      ({ path }) => path.startsWith("src/") && !path.startsWith("src/engine/rl/loops/") && !NAMES_LOOPS.test(path),
    )
    .filter(({ path }) => named.test(readFileSync(join(root, path), "utf8")));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

describe("the loop question → answer", () => {
  it("is in both lists", () => {
    const listed = files.filter(({ path }) => LISTS.includes(path)).flatMap(importsOf);
    expect(listed.filter((target) => target.startsWith(FOLDER))).toHaveLength(2);
  });

  it("is imported by nothing else", () => {
    const wrong = others.filter((file) => importsOf(file).some((target) => target.startsWith(FOLDER)));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  it("is named by nothing else", () => {
    const named = /question-answer|QUESTION_ANSWER|questionAnswer|[lL]oop ?3|loop ?[=!]== ?3\b/;
    const wrong = others.filter(({ path }) => named.test(readFileSync(join(root, path), "utf8")));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });
});
