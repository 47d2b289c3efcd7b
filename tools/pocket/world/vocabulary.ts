/** Words of the pocket tokenizer: those of the prompts, the drawn scenes and their captions. */
import { COLOURS, KINDS } from "./kinds.ts";

/** In the order of a Qwen-based Sa2VA tokenizer; ids follow the words. */
export const SPECIAL_TOKENS = [
  "<|endoftext|>",
  "<|im_start|>",
  "<|im_end|>",
  "<img>",
  "</img>",
  "<IMG_CONTEXT>",
  "<quad>",
  "</quad>",
  "<ref>",
  "</ref>",
  "<box>",
  "</box>",
  "[SEG]",
  "<p>",
  "</p>",
  "<vp>",
  "</vp>",
] as const;

const PROMPT = `user assistant Please give me a short description of the region in picture marked by region1 region2 region3
There are part regions segment this image Sure it is can you describe detail . , : ? ! ' " - ( ) 1 2 3 4 5 6 7 8 9 10`;

const PLACE = `a an the small little large big at left right top bottom middle of and with on in under over behind beside near between
above below next to front back center corner side edge background foreground it its that this these his her their`;

/**
 * Words that the published pocket model lacks, by the world that adds them, each with its source words, whose rows it starts
 * from; their ids follow the special tokens.
 */
export const ADDED_WORDS = {
  clips: { moves: ["at", "on"], up: ["top"], down: ["bottom"], stands: ["at", "in"], still: ["middle"] },
  bells: { bell: ["object"] },
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
export type AddedWords = keyof typeof ADDED_WORDS;

/** Distinct words; the unknown word is first. */
export function vocabulary(): string[] {
  const words = [
    ...PROMPT.split(/\s+/),
    ...PLACE.split(/\s+/),
    ...KINDS.flatMap(({ words, family }) => [...words, family]),
    ...Object.keys(COLOURS),
    "object",
  ];
  return ["<unk>", ...new Set(words.filter((word) => word !== ""))];
}
