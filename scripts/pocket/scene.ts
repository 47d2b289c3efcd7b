/** Random little scenes: a few coloured shapes on a soft background, with captions from vague to discriminating. */
import { STREAM, uniform } from "../../src/engine/gpu/random.ts";

export const SHAPES = [
  "circle",
  "square",
  "triangle",
  "star",
  "heart",
  "ring",
  "cross",
  "diamond",
  "moon",
  "hexagon",
] as const;
export type Shape = (typeof SHAPES)[number];

export const COLOURS = {
  red: [214, 56, 52],
  orange: [238, 140, 44],
  yellow: [240, 205, 70],
  green: [66, 160, 82],
  blue: [54, 112, 214],
  purple: [140, 84, 190],
  pink: [232, 128, 172],
  white: [244, 244, 240],
  black: [44, 46, 54],
} as const satisfies Record<string, readonly [number, number, number]>;
export type Colour = keyof typeof COLOURS;

export interface Thing {
  readonly shape: Shape;
  readonly colour: Colour;
  /** Centre and radius in shares of the picture's side. */
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  /** Radians. */
  readonly turn: number;
}

export interface Scene {
  /** Colours of the two ends of the background. */
  readonly background: readonly [readonly number[], readonly number[]];
  readonly backgroundTurn: number;
  readonly things: readonly Thing[];
}

/** A source of numbers in (0, 1) that belongs to one scene. */
export function sceneDice(seed: number, scene: number): () => number {
  let position = 0;
  return () => uniform({ seed, step: scene, loop: 0, row: 0, rollout: 0, position: position++, stream: STREAM.data });
}

const pick = <T>(dice: () => number, from: readonly T[]): T => from[Math.floor(dice() * from.length)] as T;

const BACKGROUNDS: readonly (readonly number[])[] = [
  [226, 214, 196],
  [198, 216, 226],
  [210, 222, 200],
  [222, 204, 214],
  [205, 205, 212],
  [180, 190, 178],
  [235, 228, 206],
];

/** Two to five things that do not overlap; in most scenes two share shape or colour, so that a vague caption fails. */
export function drawScene(dice: () => number): Scene {
  const count = 2 + Math.floor(dice() * 4);
  const things: Thing[] = [];
  for (let attempt = 0; things.length < count && attempt < 200; attempt++) {
    const twin = things.length > 0 && dice() < 0.6 ? pick(dice, things) : undefined;
    const sameShape = twin !== undefined && dice() < 0.6;
    const shape = twin !== undefined && sameShape ? twin.shape : pick(dice, SHAPES);
    const colour = twin !== undefined && !sameShape ? twin.colour : pick(dice, Object.keys(COLOURS) as Colour[]);
    const radius = dice() < 0.5 ? 0.1 + 0.03 * dice() : 0.16 + 0.06 * dice();
    const thing: Thing = {
      shape,
      colour,
      radius,
      x: radius + 0.02 + dice() * (0.96 - 2 * radius),
      y: radius + 0.02 + dice() * (0.96 - 2 * radius),
      turn: (dice() - 0.5) * 0.6,
    };
    const free = things.every(
      (other) => Math.hypot(other.x - thing.x, other.y - thing.y) > other.radius + radius + 0.03,
    );
    const novel = !things.some(
      (other) => other.shape === shape && other.colour === colour && side(other) === side(thing),
    );
    if (free && novel) things.push(thing);
  }
  return { background: [pick(dice, BACKGROUNDS), pick(dice, BACKGROUNDS)], backgroundTurn: dice() * Math.PI, things };
}

/** Where a thing is, in one word or two. */
export function side(thing: Pick<Thing, "x" | "y">): string {
  const across = thing.x < 0.38 ? "left" : thing.x > 0.62 ? "right" : "";
  const down = thing.y < 0.38 ? "top" : thing.y > 0.62 ? "bottom" : "";
  if (across === "" && down === "") return "middle";
  return [down, across].filter((word) => word !== "").join(" ");
}

export function sizeWord(thing: Thing): "small" | "large" {
  return thing.radius < 0.145 ? "small" : "large";
}

/** What a caption says of a thing; absent means not said. */
export interface Description {
  readonly thing: Thing;
  readonly article: "a" | "the";
  readonly size: boolean;
  readonly colour: boolean;
  readonly place: boolean;
  readonly neighbour: Thing | null;
}

/** A description whose size, colour and place are each kept or dropped at random. */
export function drawDescription(thing: Thing, scene: Scene, dice: () => number): Description {
  const detail = dice();
  const size = detail > 0.55 && dice() < 0.6;
  const colour = detail > 0.2;
  const plain = { thing, size, colour, place: false, neighbour: null };
  if (detail < 0.5) return { ...plain, article: dice() < 0.5 ? "a" : "the" };
  const others = scene.things.filter((other) => other !== thing);
  const neighbour = others[Math.floor(dice() * others.length)];
  if (detail > 0.8 && neighbour !== undefined && Math.abs(neighbour.x - thing.x) > 0.2) {
    return { ...plain, article: "the", neighbour };
  }
  return { ...plain, article: "the", place: true };
}

/** From "a star" to "the small red star at the top left". */
export function captionText({ thing, article, size, colour, place, neighbour }: Description): string {
  const words = [...(size ? [sizeWord(thing)] : []), ...(colour ? [thing.colour] : []), thing.shape];
  const phrase = `${article} ${words.join(" ")}`;
  if (neighbour !== null) {
    const relation = thing.x < neighbour.x ? "left of" : "right of";
    return `${phrase} ${relation} the ${neighbour.colour} ${neighbour.shape}`;
  }
  const where = side(thing);
  if (!place) return phrase;
  return `${phrase} ${where === "middle" ? "in the middle" : `at the ${where}`}`;
}

/** Whether everything that is said is true of `other` too. */
export function alsoFits({ thing, size, colour, place, neighbour }: Description, other: Thing): boolean {
  return (
    other.shape === thing.shape &&
    (!size || sizeWord(other) === sizeWord(thing)) &&
    (!colour || other.colour === thing.colour) &&
    (!place || side(other) === side(thing)) &&
    (neighbour === null || (other !== neighbour && other.x < neighbour.x === thing.x < neighbour.x))
  );
}

/** A description that is true of nothing else in the scene, at random; the fullest one when none of a few draws is. */
export function drawDiscriminating(thing: Thing, scene: Scene, dice: () => number): Description {
  for (let attempt = 0; attempt < 8; attempt++) {
    const drawn = drawDescription(thing, scene, dice);
    if (!scene.things.some((other) => other !== thing && alsoFits(drawn, other))) return drawn;
  }
  return { thing, article: "the", size: true, colour: true, place: true, neighbour: null };
}

/** A caption from vague to discriminating. */
export function captionOf(thing: Thing, scene: Scene, dice: () => number): string {
  return captionText(drawDescription(thing, scene, dice));
}
