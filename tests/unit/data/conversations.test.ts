/** Which mask each answer of a conversation is about, and what becomes its caption. */
import { describe, expect, test } from "vitest";
import { captionsOf, type Turn } from "../../../src/engine/data/captions.ts";
import { phraseOf } from "../../../src/engine/data/talk/questions.ts";

/** Turns from alternating questions and answers. */
function talk(...texts: string[]): Turn[] {
  return texts.map((value, at) => ({ role: at % 2 === 0 ? "human" : "gpt", value }));
}

const CUP = "A red cup.";
const PLATE = "A white plate.";

test.each<[string, string[], number, (string | undefined)[]]>([
  ["the whole picture first", ["<image>\nWhat is in the picture?", "A kitchen.", "Describe <region1>.", CUP], 1, [CUP]],
  [
    "yes or no first",
    ["Is there a dog? Answer yes or no.", "No.", "Please describe the marked region.", CUP],
    1,
    [CUP],
  ],
  [
    "yes or no in the answer alone",
    ["A dog in <region1>, right?", "No, it isn't.", "What is <region1>?", CUP],
    1,
    [CUP],
  ],
  ["a number first", ["How many cups are there?", "Two.", "Describe the highlighted area.", CUP], 1, [CUP]],
  ["a property first", ["What color is <region1>?", "Red.", "Describe <region1>.", CUP], 1, [CUP]],
  ["a property alone", ["What is the category of <region1>?", "cup"], 1, ["cup"]],
  [
    "the picture in other words",
    ["Where was this photo taken?", "In a kitchen.", "What is in the mask?", CUP],
    1,
    [CUP],
  ],
  ["the weather", ["What's the weather like?", "Sunny.", "Describe it.", CUP], 1, [CUP]],
  ["the region of the picture", ["Describe the masked region in the image.", CUP], 1, [CUP]],
  [
    "a question of GLaMM",
    ["Can you provide me with a detailed description of the region in the picture marked by <bbox>?", CUP],
    1,
    [CUP],
  ],
  [
    "a question of GLaMM in two sentences",
    ["I'm curious about the region represented by <region> in the picture. Could you describe it in detail?", CUP],
    1,
    [CUP],
  ],
  ["swapped regions", ["Describe region2.", PLATE, "Describe region1.", CUP], 2, [CUP, PLATE]],
  ["swapped tags", ["Describe <region2>.", PLATE, "Describe <region1>.", CUP], 2, [CUP, PLATE]],
  ["swapped words", ["What is Region 2?", PLATE, "And region 1?", CUP], 2, [CUP, PLATE]],
  ["square brackets", ["Describe [region 2].", PLATE, "Describe [region 1].", CUP], 2, [CUP, PLATE]],
  ["masks", ["Describe <mask_2>.", PLATE, "Describe <mask_1>.", CUP], 2, [CUP, PLATE]],
  ["ordinals", ["Describe the second region.", PLATE, "Describe the first region.", CUP], 2, [CUP, PLATE]],
  ["numbers in words", ["What is region two?", PLATE, "What is region one?", CUP], 2, [CUP, PLATE]],
  ["letters", ["What is region B?", PLATE, "What is region A?", CUP], 2, [CUP, PLATE]],
  ["objects", ["Object 2: what is it?", PLATE, "Object 1: what is it?", CUP], 2, [CUP, PLATE]],
  [
    "ordinals in the answer",
    ["Describe both masked regions.", "The second region is a plate. The first region is a cup."],
    2,
    ["This region is a cup.", "This region is a plate."],
  ],
  [
    "a short question behind a request",
    ["Please segment the red cup.", "[SEG]", "What about the plate?", "[SEG]"],
    2,
    ["the red cup", "the plate"],
  ],
  ["tags of GAR", ["Describe <Prompt1>.", PLATE, "Describe <Prompt0>.", CUP], 2, [CUP, PLATE]],
  ["placeholders", ["What is <region>?", CUP, "What is <region>?", PLATE], 2, [CUP, PLATE]],
  ["placeholders of Osprey", ["What is <mask><pos>?", CUP, "What is <mask><pos>?", PLATE], 2, [CUP, PLATE]],
  [
    "a list of all regions in front",
    [
      "<image>\nThere are 2 part regions in the picture: region1<mask><pos>, region2<mask><pos>. What is region2?",
      PLATE,
      "And region1?",
      CUP,
    ],
    2,
    [CUP, PLATE],
  ],
  [
    "visual prompts of Sa2VA",
    [
      "<image> There are 2 part regions in the picture: region1<vp><IMG_CONTEXT></vp>, region2<vp><IMG_CONTEXT><IMG_CONTEXT></vp>.\nPlease describe region2.",
      PLATE,
      "Please describe region1.",
      CUP,
    ],
    2,
    [CUP, PLATE],
  ],
  [
    "an answer that names another region",
    ["Describe <region2>.", "A plate below <region1>.", "Describe <region1>.", CUP],
    2,
    [CUP, "A plate below the other region."],
  ],
  [
    "one answer for all regions",
    ["Describe each region.", "<region2>: A white plate. <region1>: A red cup."],
    2,
    [CUP, PLATE],
  ],
  [
    "one answer on lines",
    ["Describe the two regions.", "Sure!\n1. Region 2: a plate\n2. Region 1: a cup"],
    2,
    ["a cup", "a plate"],
  ],
  [
    "two regions in a question, both in the answer",
    ["Describe <region1> and <region2>.", "<region1> is a cup. <region2> is a plate."],
    2,
    ["This region is a cup.", "This region is a plate."],
  ],
  [
    "two regions, yes or no",
    ["Is <region1> above <region2>?", "Yes.", "What is <region1>?", CUP, "What is <region2>?", PLATE],
    2,
    [CUP, PLATE],
  ],
  [
    "marked regions in order",
    ["Describe the marked region.", CUP, "Describe the marked region.", PLATE],
    2,
    [CUP, PLATE],
  ],
  [
    "a question that goes on",
    ["What is <region2>?", PLATE, "What is it made of?", "Porcelain.", "What is <region1>?", CUP],
    2,
    [CUP, PLATE],
  ],
  ["a region never named", ["What is <region3>?", CUP], 3, [undefined, undefined, CUP]],
  ["a request for a mask", ["<image>\nPlease segment the red cup in this image.", "Sure, [SEG]."], 1, ["the red cup"]],
  [
    "a request without the token",
    ["Please segment the dog.", "There is no dog.", "Describe the region.", CUP],
    1,
    [CUP],
  ],
  [
    "other spellings",
    ["Please segment the red cup.", "<seg>", "Please segment the plate.", "It is <SEG>."],
    2,
    ["the red cup", "the plate"],
  ],
  ["numbered tokens", ["Segment the plate.", "[SEG1]", "Segment the cup.", "[SEG0]"], 2, ["the cup", "the plate"]],
  [
    "numbered tokens from 1",
    ["Segment the plate.", "[SEG2]", "Segment the cup.", "[SEG1]"],
    2,
    ["the cup", "the plate"],
  ],
  [
    "grounded phrases",
    [
      "Could you describe the image? Please respond with interleaved segmentation masks for the corresponding parts of the answer.",
      "<p> A red cup </p> [SEG] stands on <p> a table </p> [SEG].",
    ],
    2,
    ["A red cup", "a table"],
  ],
  ["one phrase for two tokens", ["Where are they?", "<p>two cups</p> [SEG] [SEG]"], 2, ["two cups", "two cups"]],
  [
    "words in front of the tokens",
    ["Segment everything on the table.", "The cup is [SEG] and the plate is [SEG]."],
    2,
    ["The cup", "the plate"],
  ],
  [
    "a list in the question",
    ["Please segment the cup, the plate and the spoon.", "They are [SEG], [SEG] and [SEG]."],
    3,
    ["the cup", "the plate", "the spoon"],
  ],
  ["a token and a description", ["What is <region1>?", "A red cup [SEG]."], 1, ["A red cup."]],
  ["Chinese", ["图片里有什么？", "厨房。", "请描述标记的区域。", "红色杯子。"], 1, ["红色杯子。"]],
])("%s", (_, texts, masks, expected) => {
  const found = captionsOf(talk(...texts), masks);
  expect([found.fatal, found.captions]).toEqual([undefined, expected]);
});

test.each<[string, string[], number, RegExp]>([
  [
    "more tokens than masks",
    ["Segment the cup and the plate.", "[SEG] and [SEG]"],
    1,
    /answers have 2 \[SEG\], but the row has 1 mask/,
  ],
  ["fewer tokens than masks", ["Segment the cup.", "[SEG]"], 2, /answers have 1 \[SEG\], but the row has 2 masks/],
  [
    "fewer answers than masks",
    ["Describe the marked region.", CUP],
    2,
    /the row has 2 masks and 1 answer, and no text names its mask/,
  ],
  [
    "more placeholders than masks",
    ["What is <region>?", CUP, "What is <region>?", PLATE, "What is <region>?", "A spoon."],
    2,
    /questions have 3 placeholders/,
  ],
  ["a region that does not exist", ["What is <region3>?", CUP], 2, /refers to <region3>, but the row has 2 masks/],
])("refused: %s", (_, texts, masks, reason) => {
  expect(captionsOf(talk(...texts), masks).fatal).toMatch(reason);
});

test("words of a sentence before [SEG] are no phrase", () => {
  const found = captionsOf(
    talk("Describe the scene with masks.", "The image shows a man [SEG] riding a horse [SEG]."),
    2,
  );
  expect(found.captions).toEqual([undefined, undefined]);
  expect(found.refused?.[0]).toMatch(/^no phrase for each \[SEG\] can be read from the question/);
});

test("a set that counts from 0", () => {
  const turns = talk("Describe <region1>.", PLATE, "Describe <region0>.", CUP);
  expect(captionsOf(turns, 2, 0).captions).toEqual([CUP, PLATE]);
  expect(captionsOf(talk("Describe <region2>.", PLATE), 2, 0).fatal).toBe(
    "the text refers to <region2>, counted from 0, but the row has 2 masks",
  );
});

describe("phrases of questions", () => {
  const PHRASES = [
    "the red cup",
    "man in a blue shirt on the left",
    "the cup the person would drink from",
    "2nd zebra from right",
    'the "stop" sign',
  ];
  const TEMPLATES = [
    "Can you segment the {} in this image?",
    "Please segment {} in this image.",
    "What is {} in this image? Please respond with segmentation mask.",
    "What is {} in this image? Please output segmentation mask",
    "Could you provide a segmentation mask for the {} in this image?",
    "Please identify and segment the {} in this image.",
    "Where is the {} in this picture? Please respond with a segmentation mask.",
    "Can you highlight the {} in this image with a segmentation mask?",
    "{} Please respond with segmentation mask.",
    "{} Please output segmentation mask and explain why.",
    "Please segment the region described as: {}",
    "Please segment the object according to the description: {}",
    "Segment {}.",
    "Could you please segment out {} for me?",
    "I want you to segment {}.",
    "Please output the segmentation mask of {}.",
    "Please find {}, and output its segmentation mask.",
    'Segment "{}" in the image.',
    "What are {} in this image?\nPlease output segmentation masks.",
    "<p>{}</p>",
  ];
  test.each(TEMPLATES)("%s", (template) => {
    for (const phrase of PHRASES) {
      const sentence = template.startsWith("{}") ? `${phrase}.` : phrase;
      const found = phraseOf(template.replace("{}", sentence).replace("the the", "the"));
      expect(found?.replace(/^the /, "")).toBe(phrase.replace(/^the /, ""));
    }
  });

  test.each([
    "Segment it.",
    "Please segment this object.",
    "Where should I sit? Please output segmentation mask.",
    "When you are thirsty, which of these would help? Please respond with segmentation mask.",
    "I'd like to have the left-most person segmented.",
    "Please respond with a segmentation mask.",
    "Segment everything.",
    "",
  ])("none in %j", (question) => {
    expect(phraseOf(question)).toBeUndefined();
  });
});

test("a question is kept only with a region that has a caption", () => {
  const picture = talk("Describe the image.", "A kitchen.");
  const became = (turns: readonly Turn[]): string | undefined => captionsOf(turns, 1).pairs?.[0]?.became();
  expect(became(picture)).toBe("no caption: the question is about the whole picture");
  expect(became([...picture, ...talk("Describe the region.", CUP)])).toMatch(/whole picture; kept as a question$/);
});

test("long runs of digits and spaces in questions and answers take no time of their square", () => {
  const digits = "7".repeat(200_000);
  expect(captionsOf([...talk(digits, CUP), ...talk("Describe it.", PLATE)], 2).fatal).toContain(
    "points to one of 2 masks",
  );
  const spaces = `[SEG] is ${" ".repeat(380)}x`.repeat(90);
  expect(new Set(captionsOf(talk("Segment them.", spaces), 90).captions)).toEqual(new Set(["x"]));
});
