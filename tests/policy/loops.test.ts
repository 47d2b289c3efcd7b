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
