/** Content of the drawn scenes: kinds of objects, with the drawing, colours and words of each. */

/** Hue in degrees, saturation and lightness in 0..1 of the flat colour of each name. */
export const COLOURS = {
  red: [2, 0.82, 0.52],
  orange: [27, 0.95, 0.55],
  yellow: [48, 0.97, 0.57],
  green: [132, 0.55, 0.41],
  blue: [212, 0.85, 0.5],
  purple: [272, 0.5, 0.5],
  pink: [335, 0.85, 0.73],
  brown: [22, 0.5, 0.32],
  black: [240, 0.06, 0.17],
  white: [40, 0.1, 0.95],
  gray: [220, 0.05, 0.56],
} as const satisfies Record<string, readonly [number, number, number]>;
export type Colour = keyof typeof COLOURS;

export interface Kind {
  /** The usual word first. */
  readonly words: readonly string[];
  /** Word for the family of the kind, such as "animal". */
  readonly family: string;
  /** Name of the drawing in Fluent Emoji Flat. */
  readonly icon: string;
  /**
   * Hues, in degrees, of the drawing's parts that take the thing's colour; the first exceeds the second if the range
   * crosses red.
   */
  readonly hues: readonly [number, number];
  /** The flat colour of those parts as drawn. */
  readonly drawn: readonly [number, number, number];
  readonly colours: readonly Colour[];
}

const kind = (
  words: string,
  family: string,
  icon: string,
  hues: readonly [number, number],
  drawn: readonly [number, number, number],
  colours: string,
): Kind => ({ words: words.split("|"), family, icon, hues, drawn, colours: colours.split(" ") as Colour[] });

export const KINDS = [
  kind("car|auto", "vehicle", "automobile", [340, 15], [358, 0.94, 0.58], "red blue green yellow purple"),
  kind("bus", "vehicle", "bus", [30, 50], [40, 1, 0.59], "orange red green purple"),
  kind("boat", "vehicle", "sailboat", [36, 60], [48, 1, 0.62], "yellow red purple green"),
  kind("dog", "animal", "dog", [15, 45], [31, 0.86, 0.67], "brown black white gray"),
  kind("cat", "animal", "cat", [15, 45], [31, 0.86, 0.67], "orange black white gray"),
  kind("fish", "animal", "fish", [185, 225], [201, 1, 0.47], "blue red orange green purple"),
  kind("bird", "animal", "bird", [325, 360], [341, 0.92, 0.41], "red blue green yellow"),
  kind("turtle", "animal", "turtle", [120, 185], [165, 0.87, 0.26], "green brown purple"),
  kind("butterfly", "animal", "butterfly", [10, 40], [21, 1, 0.57], "orange blue pink green"),
  kind("apple", "fruit", "red-apple", [340, 20], [4, 0.94, 0.58], "red green yellow"),
  kind("tree", "plant", "deciduous-tree", [80, 130], [103, 0.71, 0.33], "green orange pink"),
  kind("flower", "plant", "tulip", [300, 345], [317, 1, 0.71], "pink red yellow purple blue"),
  kind("mushroom", "plant", "mushroom", [345, 15], [1, 0.94, 0.58], "red brown blue purple"),
  kind("house", "thing", "house", [22, 40], [32, 0.87, 0.71], "yellow blue green pink"),
  kind("ball", "toy", "basketball", [10, 35], [22, 1, 0.56], "orange red blue green"),
  kind("balloon", "toy", "balloon", [340, 15], [358, 0.94, 0.58], "red blue yellow green pink"),
  kind("star", "thing", "star", [35, 60], [47, 1, 0.62], "yellow red blue green purple"),
  kind("heart", "thing", "red-heart", [330, 15], [358, 0.94, 0.58], "red blue green purple pink"),
  kind("umbrella", "thing", "umbrella", [250, 285], [264, 0.47, 0.58], "purple red blue yellow green"),
  kind("teapot", "thing", "teapot", [330, 15], [358, 0.94, 0.58], "red blue green white"),
  kind("book", "thing", "closed-book", [325, 350], [341, 0.92, 0.41], "red blue green yellow purple"),
  kind("clock", "thing", "alarm-clock", [340, 15], [358, 0.94, 0.58], "red blue green purple"),
  kind("hat", "thing", "top-hat", [240, 300], [267, 0.3, 0.28], "black brown blue green"),
  kind("cake", "thing", "birthday-cake", [22, 42], [34, 0.85, 0.72], "orange pink brown green"),
  kind("chair", "thing", "chair", [0, 30], [12, 0.24, 0.41], "brown red blue green"),
  kind("gift|present", "thing", "wrapped-gift", [30, 55], [40, 1, 0.59], "yellow blue green pink"),
  kind("shirt", "thing", "t-shirt", [70, 110], [90, 0.69, 0.5], "green red blue yellow"),
  kind("bag", "thing", "backpack", [335, 15], [358, 0.94, 0.58], "red blue green purple"),
] as const satisfies readonly Kind[];

/**
 * Kinds that no picture of the published pocket model shows: the world "bells" draws them, and its training captions name them
 * and nothing else about them.
 */
const LATER_KINDS = [
  kind("bell", "thing", "bell", [20, 50], [37, 1, 0.59], "yellow red blue green purple"),
] as const satisfies readonly Kind[];

export const ALL_KINDS: readonly Kind[] = [...KINDS, ...LATER_KINDS];
/** Index in ALL_KINDS. */
export const BELL = KINDS.length;

/** The word before a caption's noun. */
export const article = (word: string): "a" | "an" => (/^[aeiou]/.test(word) ? "an" : "a");
