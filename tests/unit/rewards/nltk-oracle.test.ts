/**
 * METEOR against NLTK itself. PYTHON names an interpreter with NLTK 3.10.4 or newer, WORDNET the folder with the files of
 * WordNet 3.0 (Debian: wordnet-base and wordnet-sense-index); without either the test is skipped.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { Meteor, porterStem } from "../../../src/engine/rewards/meteor/meteor.ts";
import { meteorTokens } from "../../../src/engine/rewards/meteor/tokens.ts";
import { parseWordnet } from "../../../src/engine/rewards/wordnet.ts";
import { randomCaptions } from "./random-captions.ts";

const PYTHON = process.env.PYTHON || "python3";
const WORDNET = process.env.WORDNET ?? "/usr/share/wordnet";
const CHECK = "import nltk, sys; sys.exit(tuple(map(int, nltk.__version__.split('.')[:3])) < (3, 10, 4))";

interface Answer {
  readonly version: string;
  readonly scores: number[];
  readonly stems: string[];
  readonly names: string[][];
}

/** Every hundredth form of the table, and inflected guesses from it. */
function tableWords(text: string): string[] {
  const forms = text
    .split("\n")
    .filter((line, at) => at % 100 === 50 && !/^(synsets|exceptions) /u.test(line))
    .map((line) => line.toLowerCase().split(" ")[0] as string);
  const endings = ["s", "es", "ed", "ing", "ings", "er", "est", "men", "ies", "ers"];
  return forms.flatMap((form, at) => [form, form + endings[at % endings.length]]);
}

function hasNltk(): boolean {
  try {
    if (!existsSync(join(WORDNET, "index.sense"))) return false;
    execFileSync(PYTHON, ["-c", CHECK], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const there = hasNltk();
if (!there) console.info("Skipped: METEOR against NLTK needs NLTK 3.10.4 (PYTHON) and WordNet 3.0 (WORDNET)");

test.skipIf(!there)("random pairs, stems and synonym sets are those of NLTK", async () => {
  const text = await readFile(join(root, "public", "wordnet", "wordnet30.txt"));
  const wordnet = parseWordnet(text);
  const pairs = randomCaptions(Number(process.env.LAB_SEED ?? 2024), 1500 * Number(process.env.LAB_RUNS ?? 1));
  const words = [...new Set([...pairs.flat().flatMap(meteorTokens), ...tableWords(text.toString())])];
  const program = join(root, "tests", "oracle", "nltk_meteor.py");
  const output = execFileSync(PYTHON, ["-W", "ignore", program, "ask", "--wordnet", WORDNET], {
    input: JSON.stringify({ pairs, words }),
    maxBuffer: 2 ** 28,
  });
  const answer = JSON.parse(output.toString()) as Answer;
  const meteor = new Meteor(wordnet);
  for (const [at, [reference, hypothesis]] of pairs.entries()) {
    const difference = Math.abs(meteor.score(reference, hypothesis).score - (answer.scores[at] ?? Number.NaN));
    expect(difference, `${reference} | ${hypothesis}`).toBeLessThan(1e-12);
  }
  for (const [at, word] of words.entries()) {
    expect(porterStem(word), word).toBe(answer.stems[at]);
    expect([...wordnet.lemmas(word)].sort(), word).toEqual(answer.names[at]);
  }
});
