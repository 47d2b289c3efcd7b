import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { buildWordnet } from "../../../scripts/build-wordnet.ts";
import { memorySource } from "../../../src/engine/bytes/source.ts";
import { loadWordnet, parseWordnet } from "../../../src/engine/rewards/wordnet.ts";

const DATABASE = process.env.WORDNET ?? "/usr/share/wordnet";
const table = new Uint8Array(await readFile(new URL("../../../public/wordnet/wordnet30.txt", import.meta.url)));
const wordnet = parseWordnet(table);

const SMALL = [
  "sa2va-lab wordnet table 1",
  "wordnet 3.0",
  "synsets n 3",
  "African_elephant Elephant",
  "axe axes_tool",
  "axis pole",
  "synsets v 0",
  "synsets a 0",
  "synsets r 0",
  "exceptions n 1",
  "axes axe axis gone",
  "exceptions v 0",
  "exceptions a 0",
  "exceptions r 0",
  "end",
];
const bytesOf = (lines: readonly string[], end = "\n"): Uint8Array => new TextEncoder().encode(lines.join("\n") + end);

const databaseHere = existsSync(`${DATABASE}/data.noun`);
if (!databaseHere) console.info(`no WordNet database in ${DATABASE}: the table is not built anew`);

test.skipIf(!databaseHere)("the stored table is byte for byte what the script builds", async () => {
  const built = await buildWordnet(DATABASE);
  expect(Buffer.from(built).equals(Buffer.from(table))).toBe(true);
});

test("a folder without the database is refused by name", async () => {
  await expect(buildWordnet("/nowhere")).rejects.toThrow("/nowhere/data.noun cannot be read; no table was written");
});

test("the table is of version 3.0 and small", () => {
  expect(wordnet.version).toBe("3.0");
  expect(table.length).toBeLessThan(1.6 * 2 ** 20);
});

test("the exception list decides alone, names keep case and drop underscores", () => {
  const small = parseWordnet(bytesOf(SMALL));
  expect([...small.lemmas("axes")].sort()).toEqual(["axe", "axis", "pole"]);
  expect([...small.lemmas("elephants")]).toEqual(["Elephant"]);
  expect([...small.lemmas("african_elephant")]).toEqual(["Elephant"]);
  expect(small.lemmas("gone").size).toBe(0);
  expect([...small.synonyms("gone")]).toEqual(["gone"]);
});

test("morphy applies rules once", () => {
  expect(wordnet.lemmas("cats")).toContain("cat");
  expect(wordnet.lemmas("dogss").size).toBe(0);
  expect(wordnet.lemmas("buildings")).toContain("building");
  expect(wordnet.lemmas("buildings")).not.toContain("build");
  // "glasses" is in the index itself and also gives "glass" at once.
  expect(wordnet.lemmas("glasses")).toContain("spectacles");
  expect(wordnet.lemmas("glasses")).toContain("glass");
  expect(wordnet.lemmas("african")).toContain("African");
  expect(wordnet.lemmas("xqzt").size).toBe(0);
});

test("absurd tokens have no synonyms", () => {
  for (const word of ["s".repeat(3_000_000), "ses".repeat(1000), "xinged".repeat(500), "__proto__", "hasOwnProperty"]) {
    expect(wordnet.lemmas(word).size, word.slice(0, 20)).toBe(0);
  }
});

test("a table that is cut off or does not fit is refused with the place", () => {
  const replaced = (at: number, line: string): Uint8Array => bytesOf(SMALL.with(at, line));
  const cases: [Uint8Array, string][] = [
    [new Uint8Array(), "ends after line 0"],
    [bytesOf(["<!doctype html>"]), "does not begin with"],
    [replaced(1, "wordnet x"), "line 2 does not name"],
    [replaced(2, "synsets n 2"), 'line 6 does not begin the section "synsets v"'],
    [replaced(2, "synsets n -3"), 'line 3 does not begin the section "synsets n"'],
    [replaced(4, ""), "line 5 is empty"],
    [replaced(4, "ax\u00e9"), "not an ASCII character"],
    [replaced(10, "axes"), "line 11 is not an irregular form"],
    [replaced(14, "fin"), 'line 15 is not "end"'],
    [bytesOf(SMALL, ""), "ends after line 14"],
    [bytesOf(SMALL, "\n\n"), 'follows "end"'],
  ];
  for (const [bytes, cause] of cases) expect(() => parseWordnet(bytes), cause).toThrow(cause);
});

test("loading names the source", async () => {
  expect((await loadWordnet(memorySource("w.txt", bytesOf(SMALL)))).version).toBe("3.0");
  await expect(loadWordnet(memorySource("w.txt", bytesOf(["404"])))).rejects.toThrow("w.txt: the WordNet table");
});
