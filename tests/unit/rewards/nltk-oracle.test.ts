import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { Meteor } from "../../../src/engine/rewards/meteor/meteor.ts";
import { porterStem } from "../../../src/engine/rewards/meteor/porter.ts";
import { meteorTokens } from "../../../src/engine/rewards/meteor/tokens.ts";
import { parseWordnet } from "../../../src/engine/rewards/wordnet.ts";
import { randomCaptions } from "./random-captions.ts";

/** Scores, stems and synonym sets by NLTK itself; prints {} where it or its WordNet 3.0 is missing. */
const PROGRAM = `
import json, sys
try:
    import nltk
    from nltk.corpus import wordnet
    from nltk.translate.meteor_score import meteor_score
    assert wordnet.get_version() == "3.0" and nltk.__version__.startswith("3.8")
except Exception:
    print("{}")
    sys.exit()
given = json.load(sys.stdin)
stem = nltk.PorterStemmer().stem
names = lambda w: sorted({l.name() for s in wordnet.synsets(w) for l in s.lemmas() if "_" not in l.name()})
print(json.dumps({
    "scores": [meteor_score([r.strip().lower().split()], h.strip().lower().split()) for r, h in given["pairs"]],
    "stems": [stem(w) for w in given["words"]],
    "names": [names(w) for w in given["words"]],
}))
`;

interface Answer {
  readonly scores?: number[];
  readonly stems: string[];
  readonly names: string[][];
}

const pairs = randomCaptions(2024, 1500);
const wordnetText = await readFile(new URL("../../../public/wordnet/wordnet30.txt", import.meta.url));
const wordnet = parseWordnet(wordnetText);
const words = [...new Set([...pairs.flat().flatMap(meteorTokens), ...tableWords(wordnetText.toString())])];

/** Every hundredth form of the table, and inflected guesses from it. */
function tableWords(text: string): string[] {
  const forms = text
    .split("\n")
    .filter((line, at) => at % 100 === 50 && !/^(synsets|exceptions) /u.test(line))
    .map((line) => line.toLowerCase().split(" ")[0] as string);
  return forms.flatMap((form, at) => [form, form + ["s", "es", "ed", "ing", "er", "est", "men", "ies"][at % 8]]);
}

function askNltk(): Answer | undefined {
  try {
    const output = execFileSync("python3", ["-c", PROGRAM], {
      input: JSON.stringify({ pairs, words }),
      stdio: ["pipe", "pipe", "ignore"],
      maxBuffer: 2 ** 28,
    });
    const answer = JSON.parse(output.toString()) as Answer;
    return answer.scores === undefined ? undefined : answer;
  } catch {
    return undefined;
  }
}

const answer = askNltk();
if (answer === undefined) console.info("NLTK 3.8 with WordNet 3.0 is not installed: its oracle test is skipped");

test.skipIf(answer === undefined)("random pairs, stems and synonym sets are those of NLTK", () => {
  if (answer === undefined) return;
  const meteor = new Meteor(wordnet);
  for (const [at, [reference, hypothesis]] of pairs.entries()) {
    const expected = answer.scores?.[at] ?? Number.NaN;
    expect(Math.abs(meteor.score(reference, hypothesis).score - expected), `${reference} | ${hypothesis}`).toBeLessThan(
      1e-12,
    );
  }
  for (const [at, word] of words.entries()) {
    expect(porterStem(word), word).toBe(answer.stems[at]);
    expect([...wordnet.lemmas(word)].sort(), word).toEqual(answer.names[at]);
  }
});
