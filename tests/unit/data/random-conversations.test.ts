/** Random conversations about one to four regions: no caption may belong to another mask, in any file form. */
import { describe, expect, test } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import type { Rle } from "../../../src/engine/data/mask/rle.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { boxMask, png } from "./make.ts";

const THINGS = ["red cup", "white plate", "wooden spoon", "grey cat on the chair", "man with a hat", "2nd zebra"];
const DISTRACTORS: readonly (readonly [string, string])[] = [
  ["What is in the picture?", "A kitchen."],
  ["Is there a dog? Answer yes or no.", "No."],
  ["How many people are there?", "Three."],
  ["Describe the image in detail.", "A kitchen with a table."],
  ["Are there any windows?", "Yes, two."],
];
/** Names of region N, counted from `first`. */
const NAMES: Readonly<Record<string, (number: number) => string>> = {
  "<region1>": (n) => `<region${n}>`,
  region1: (n) => `region${n}`,
  "Region 1": (n) => `Region ${n}`,
  "[region 1]": (n) => `[region ${n}]`,
  "<mask_1>": (n) => `<mask_${n}>`,
  "<obj1>": (n) => `<obj${n}>`,
};
const REGION_QUESTIONS = [
  "Describe {}.",
  "What is {}?",
  "Please describe {} in the image.",
  "<image>\nWhat can you tell me about {}?",
];
const SEG_QUESTIONS = [
  "Please segment the {} in this image.",
  "Can you segment the {} in this image?",
  "Where is the {}? Please output segmentation mask.",
  "What is the {} in this image? Please respond with segmentation mask.",
];
const SEGS = ["[SEG]", "Sure, [SEG].", "It is <seg>.", "Sure, the segmentation result is <SEG>."];

type Turn = { readonly from: string; readonly value: string };
interface Case {
  readonly turns: readonly Turn[];
  /** One per mask. */
  readonly captions: readonly string[];
}

function draws(seed: number): { below(n: number): number; shuffled<T>(list: readonly T[]): T[] } {
  let state = seed >>> 0;
  const below = (n: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), 1 | state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) % n;
  };
  const shuffled = <T>(list: readonly T[]): T[] => {
    const all = [...list];
    for (let at = all.length - 1; at > 0; at--) {
      const other = below(at + 1);
      [all[at], all[other]] = [all[other] as T, all[at] as T];
    }
    return all;
  };
  return { below, shuffled };
}

/** A conversation that names its regions in any order, with other questions between. */
function namedCase(seed: number, name: (number: number) => string, first: number): Case {
  const { below, shuffled } = draws(seed);
  const masks = 1 + below(4);
  const things = shuffled(THINGS).slice(0, masks);
  const captions = things.map((thing) => `A ${thing}, seen from ${["above", "below", "the left"][below(3)]}.`);
  const pairs = shuffled([...captions.keys()]).map((mask): [string, string] => {
    const question = REGION_QUESTIONS[below(REGION_QUESTIONS.length)] as string;
    return [question.replace("{}", name(mask + first)), captions[mask] as string];
  });
  return { turns: withDistractors(pairs, below), captions };
}

/** A conversation whose answers are [SEG], one mask each, in order. */
function segCase(seed: number): Case {
  const { below, shuffled } = draws(seed);
  const masks = 1 + below(4);
  const things = shuffled(THINGS).slice(0, masks);
  const pairs = things.map((thing): [string, string] => [
    (SEG_QUESTIONS[below(SEG_QUESTIONS.length)] as string).replace("{}", thing),
    SEGS[below(SEGS.length)] as string,
  ]);
  return { turns: withDistractors(pairs, below), captions: things.map((thing) => `the ${thing}`) };
}

function withDistractors(pairs: readonly [string, string][], below: (n: number) => number): Turn[] {
  const all: (readonly [string, string])[] = [];
  for (const pair of pairs) {
    if (below(2) === 0) all.push(DISTRACTORS[below(DISTRACTORS.length)] as readonly [string, string]);
    all.push(pair);
  }
  if (below(3) === 0) all.push(DISTRACTORS[below(DISTRACTORS.length)] as readonly [string, string]);
  return all.flatMap(([question, answer], at) => [
    { from: "human", value: `${at === 0 ? "<image>\n" : ""}${question.replace("<image>\n", "")}` },
    { from: "gpt", value: answer },
  ]);
}

const maskOf = (at: number): Rle => boxMask(24, 32, 7 * at, 3, 6, 5 + at);

type Writer = (cases: readonly Case[]) => Record<string, string | Uint8Array>;
const json = (turns: (one: readonly Turn[]) => object): Writer => {
  return (cases) => {
    const rows = cases.map((one) => ({
      image: "a.png",
      masks: one.captions.map((_, at) => maskOf(at)),
      ...turns(one.turns),
    }));
    return { "rows.json": JSON.stringify(rows), "a.png": png(32, 24) };
  };
};
const FORMS: Readonly<Record<string, Writer>> = {
  "JSON, conversations": json((conversations) => ({ conversations })),
  "JSON lines, messages of parts": (cases) => {
    const messages = (turns: readonly Turn[]): object[] =>
      turns.map(({ from, value }) => ({
        role: from === "human" ? "user" : "assistant",
        content: [{ type: "image" }, { type: "text", text: value.replace("<image>\n", "") }],
      }));
    const rows = cases.map(({ turns, captions }) =>
      JSON.stringify({ image: "a.png", masks: captions.map((_, at) => maskOf(at)), messages: messages(turns) }),
    );
    return { "rows.jsonl": rows.join("\n"), "a.png": png(32, 24) };
  },
  "JSON, a struct of lists": json((turns) => ({
    conversations: { from: turns.map(({ from }) => from), value: turns.map(({ value }) => value) },
  })),
  "JSON, turns as text": json((turns) => ({ conversations: JSON.stringify(turns) })),
  Osprey: (cases) => {
    const rows = cases.map(({ turns, captions }) => ({
      file_name: "a.png",
      height: 24,
      width: 32,
      annotation: captions.map((_, at) => ({ segmentation: maskOf(at) })),
      conversations: turns,
    }));
    return { "osprey.json": JSON.stringify(rows), "a.png": png(32, 24) };
  },
  Arrow: (cases) => {
    const rows = cases.map(({ turns, captions }) => ({
      image: { bytes: png(32, 24), path: null },
      mask: captions.map((_, at) => maskOf(at)),
      conversations: turns,
    }));
    return { "data-00000-of-00001.arrow": writeRegionShard(rows, { layout: "relation" }) };
  },
};

async function expectRight(files: Record<string, string | Uint8Array>, cases: readonly Case[]): Promise<void> {
  const set = await openRegionSet(memoryFolder(files));
  expect(set.skipped).toEqual([]);
  expect(set.summaries.map(({ row, region, caption, mask }) => [row, region, caption, mask.counts])).toEqual(
    cases.flatMap(({ captions }, row) => captions.map((caption, at) => [row, at, caption, maskOf(at).counts])),
  );
}

const SEEDS = Array.from({ length: 40 }, (_, at) => at);

describe.each(Object.entries(FORMS))("%s", (_form, write) => {
  test.each(Object.entries(NAMES).flatMap(([name, of]) => [[name, 1, of] as const, [name, 0, of] as const]))(
    "regions named %s, counted from %i",
    async (_name, first, of) => {
      const cases = SEEDS.map((seed) => namedCase(seed, of, first));
      await expectRight(write(cases), cases);
    },
  );

  test("answers of [SEG]", async () => {
    const cases = SEEDS.map((seed) => segCase(1000 + seed));
    await expectRight(write(cases), cases);
  });
});

test("a set decides what a row leaves open, and says for how many rows", async () => {
  const open = (number: number): Case => ({
    turns: [
      { from: "human", value: `Describe <region${number}>.` },
      { from: "gpt", value: "A red cup." },
    ],
    captions: ["x", "y"],
  });
  const write = FORMS["JSON, conversations"] as Writer;
  const read = async (...numbers: number[]) => {
    const set = await openRegionSet(memoryFolder(write(numbers.map(open))));
    const decided = set.ignored.flatMap(({ reason }) => (reason.includes("counted from") ? [reason] : []));
    return [set.summaries.map(({ row, region }) => [row, region]), decided] as const;
  };
  const from = (first: number, rows: string): string[] => [
    `the texts of ${rows} name regions counted from ${first}, the smallest number in the data set`,
  ];
  const [zero, one] = [
    [0, 0],
    [0, 1],
  ];
  expect(await read(1, 2)).toEqual([[zero, [1, 1]], from(1, "2 rows")]);
  expect(await read(1, 0)).toEqual([[one, [1, 0]], from(0, "1 row")]);
  // Region 2 of a set that counts from 0 has no mask.
  expect(await read(0, 2)).toEqual([[zero], from(0, "1 row")]);
});
