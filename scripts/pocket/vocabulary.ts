/** Words of the pocket tokenizer: what prompts and pocket captions use, then frequent words of photo captions. */
import { COLOURS, SHAPES } from "./scene.ts";

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

const PLACE = `a an the small large at left right top bottom middle of and with on in under over behind beside near between
above below next to front back center corner side edge background foreground it its that this these his her their`;

const PHOTO = `man woman person people child boy girl baby group player rider dog cat horse cow sheep elephant bear zebra giraffe
bird gull animal head face hair eye ear nose mouth leg arm hand foot tail wing neck body shirt jacket coat dress pants shorts hat cap
helmet glasses shoe bag backpack umbrella tie ball bat racket board surfboard skateboard snowboard ski kite bicycle bike motorcycle car
truck bus train plane boat ship sign light pole tree plant flower grass leaf branch bush field snow sand beach sea water wave river
sky cloud mountain hill rock road street sidewalk building house wall window door roof fence bench chair table sofa couch bed desk
lamp clock vase book phone laptop computer keyboard screen television cup glass bottle bowl plate fork knife spoon pizza cake sandwich
bread banana apple carrot food kitchen sink stove oven fridge toilet bath brown grey gray dark light bright pale striped spotted
wooden metal plastic stone brick old young tall long short round big little wide thin open closed wet dry standing sitting lying
walking running riding holding wearing looking facing carrying playing eating flying parked covered made two three several many one
other another some no up down out off from into through across around along toward by for as is was has have part object thing shape
pair row line pattern colour color tan beige gold silver`;

/** Distinct words, unknown first. */
export function vocabulary(): string[] {
  const words = [
    ...PROMPT.split(/\s+/),
    ...PLACE.split(/\s+/),
    ...SHAPES,
    ...Object.keys(COLOURS),
    ...PHOTO.split(/\s+/),
  ];
  return ["<unk>", ...new Set(words.filter((word) => word !== ""))];
}
