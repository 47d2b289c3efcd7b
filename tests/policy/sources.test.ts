/** How the sources are written, as far as a machine can tell. */
import { describe, expect, it } from "vitest";
import { codeOf, isTypeScript, trackedFiles } from "../support/sources.ts";

const LONGEST = 600;

const own = trackedFiles((path) => /^(src|workers|scripts|tests|tools|bench)\//.test(path) && isTypeScript(path));
const shipped = own.filter(({ path }) => /^(src|workers)\//.test(path));
const tests = own.filter(({ path }) => path.startsWith("tests/"));
const engine = own.filter(({ path }) => path.startsWith("src/engine/"));

/** Matches of a pattern in the code of files, without comments and strings. */
function places(files: typeof own, pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    codeOf(text)
      .split("\n")
      .flatMap((line, n) => (pattern.test(line) ? [`${path}:${n + 1}`] : [])),
  );
}

describe("sources", () => {
  it("are found at all, and their code is told from their comments", () => {
    expect(shipped.length).toBeGreaterThan(200);
    expect(codeOf('const a = "any"; // any\n/* any\n*/ let b')).toBe('const a = "   ";       \n      \n   let b');
  });

  it("are short enough to be read at once", () => {
    const long = shipped.filter(({ text }) => text.split("\n").length - 1 > LONGEST);
    expect(long.map(({ path }) => path)).toEqual([]);
  });

  it("have no type that means nothing", () => {
    expect(places(own, /(?:[:<|&,(]|\bas|\bextends|=>?)\s*any\b(?!\s*[:(])/)).toEqual([]);
  });

  it("switch neither the compiler nor the rule against it off", () => {
    const off = /@ts-(?:ignore|nocheck)|biome-ignore[^\n]*noExplicit[A]ny/; // written so that it does not find itself
    expect(own.filter(({ text }) => off.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it("of the engine know neither page nor Node", () => {
    expect(places(engine, /\b(?:document|localStorage|sessionStorage|process|Buffer)\s*\./)).toEqual([]);
    expect(engine.filter(({ path }) => path.endsWith(".tsx")).map(({ path }) => path)).toEqual([]);
  });

  it("of the engine take time and chance from outside", () => {
    expect(places(engine, /\bMath\.random\b|\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b/)).toEqual([]);
  });

  it("that are shipped print nothing", () => {
    expect(places(shipped, /\bconsole\./)).toEqual([]);
  });

  it("of tests run all that is there, as often as it takes to fail, however busy the machine is", () => {
    expect(places(tests, /\b(?:it|test|describe)\.(?:only|skip|todo)\b/)).toEqual([]);
    expect(places(tests, /\bretry:/)).toEqual([]);
    const limit =
      /(?:\bwaitFor\w*\(|\.poll\(.*|^(?:it|test)\b.*|^ +(?:it|test)\(.*), *\{.*\btimeout:|\bwaitFor\w*\(\{.*timeout:/;
    expect(places(tests, limit)).toEqual([]);
    expect(places(tests, /^\s*\}, *[\d_]{5,}\);/)).toEqual([]);
  });
});
