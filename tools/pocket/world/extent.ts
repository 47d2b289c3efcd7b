/**
 * Scenes in which the extent of a mask matters: two regions of a picture overlap and have different captions. Wholes
 * and their halves, touching twins, pairs of objects, and two of three equal ones. The words are those of the other
 * scenes.
 */
import { drawBackground } from "./background.ts";
import { placePhrase } from "./describe.ts";
import { type Dice, pick, sceneDice } from "./dice.ts";
import { type DrawnScene, renderScene } from "./draw.ts";
import { type Colour, KINDS, type Kind } from "./kinds.ts";
import { kindOf, type Scene, type Thing } from "./scene.ts";

export const EXTENTS = ["half", "twins", "pair", "two of three"] as const;
export type Extent = (typeof EXTENTS)[number];

export interface ExtentRegion {
  /** 1 where the region is visible, else 0; row-major at picture size. */
  readonly mask: Uint8Array;
  readonly caption: string;
  /** The object that the region shows or is a part of. */
  readonly thing: Thing;
}

export interface ExtentPicture {
  readonly extent: Extent;
  readonly scene: Scene;
  readonly rgb: DrawnScene["rgb"];
  /** Of every object of the scene, as drawn. */
  readonly masks: DrawnScene["masks"];
  /** Two regions that overlap. */
  readonly regions: readonly [ExtentRegion, ExtentRegion];
}

/** @param side pixels of the square picture; the kinds of extent alternate over the pictures */
export function extentPicture(seed: number, index: number, side: number): ExtentPicture {
  const dice = sceneDice(seed, index);
  const extent = EXTENTS[index % EXTENTS.length] as Extent;
  const things = drawThings(extent, dice);
  const scene: Scene = { background: drawBackground(dice), things };
  const { rgb, masks } = renderScene(scene, side);
  return { extent, scene, rgb, masks, regions: regionsOf(extent, things, masks, side, dice) };
}

/** Places of the drawings, in shares of the side: large ones for parts, in a row where they touch. */
function drawThings(extent: Extent, dice: Dice): Thing[] {
  const kind = Math.floor(dice() * KINDS.length);
  const colours = shuffledColours(KINDS[kind] as Kind, dice);
  const stir = (centre: number): number => centre + 0.04 * (2 * dice() - 1);
  const thing = (x: number, y: number, size: number, own = kind, colour = colours[0] as Colour): Thing => {
    return { kind: own, colour, x, y, size, mirrored: dice() < 0.5 };
  };
  switch (extent) {
    case "half":
      return [thing(stir(0.5), stir(0.5), 0.62 + 0.16 * dice())];
    case "twins": {
      const alone = thing(0.5, stir(0.5), 0.42 + 0.04 * dice());
      const [left, right] = edges(alone);
      // Their drawings meet in the middle of the picture.
      return [0.5 + (0.5 - right), 0.5 - (left - 0.5)].map((x) => ({ ...alone, x }));
    }
    case "pair": {
      const other = pick(
        dice,
        KINDS.map((_, at) => at).filter((at) => at !== kind),
      );
      const colour = pick(dice, (KINDS[other] as Kind).colours);
      return [thing(stir(0.27), stir(0.5), 0.44), thing(stir(0.73), stir(0.5), 0.44, other, colour)];
    }
    case "two of three":
      return [0.19, 0.5, 0.81].map((x, at) => thing(x, stir(0.5), 0.34, kind, colours[at] as Colour));
  }
}

/** Pixels of the picture on which a drawing is measured. */
const MEASURED = 96;

/** Left and right end of a drawing, in shares of the picture's side. */
function edges(thing: Thing): readonly [number, number] {
  const { masks } = renderScene({ background: () => [0, 0, 0], things: [thing] }, MEASURED);
  const columns = Array.from({ length: MEASURED }, (_, x) => x).filter((x) =>
    Array.from({ length: MEASURED }, (_, y) => masks[0]?.[y * MEASURED + x]).includes(1),
  );
  return [(columns[0] as number) / MEASURED, ((columns.at(-1) as number) + 1) / MEASURED];
}

/** At least three, all different; every kind has as many. */
function shuffledColours({ colours }: Kind, dice: Dice): Colour[] {
  const out = [...colours];
  for (let last = out.length - 1; last > 0; last--) {
    const other = Math.floor(dice() * (last + 1));
    [out[last], out[other]] = [out[other] as Colour, out[last] as Colour];
  }
  return out;
}

const nameOf = (thing: Thing): string => `the ${thing.colour} ${kindOf(thing).words[0]}`;

function regionsOf(
  extent: Extent,
  things: readonly Thing[],
  masks: readonly Uint8Array[],
  side: number,
  dice: Dice,
): ExtentPicture["regions"] {
  const [first, second] = things as readonly [Thing, Thing];
  const [one, two, three] = masks as readonly [Uint8Array, Uint8Array, Uint8Array];
  switch (extent) {
    case "half": {
      const where = pick(dice, HALVES);
      return [
        { mask: one, caption: nameOf(first), thing: first },
        { mask: halfOf(one, side, where), caption: `the ${where} of ${nameOf(first)}`, thing: first },
      ];
    }
    case "twins": {
      const [left, right] = [first, second].map(
        (own, at) => `${nameOf(own)} ${placePhrase(at === 0 ? "left" : "right")}`,
      );
      const alone = dice() < 0.5 ? 0 : 1;
      return [
        { mask: alone === 0 ? one : two, caption: (alone === 0 ? left : right) as string, thing: first },
        { mask: union(one, two), caption: `${left} and ${right}`, thing: first },
      ];
    }
    case "pair": {
      const alone = dice() < 0.5 ? 0 : 1;
      const own = alone === 0 ? first : second;
      return [
        { mask: alone === 0 ? one : two, caption: nameOf(own), thing: own },
        { mask: union(one, two), caption: `${nameOf(first)} and ${nameOf(second)}`, thing: first },
      ];
    }
    case "two of three": {
      const third = things[2] as Thing;
      return [
        { mask: union(one, two), caption: `${nameOf(first)} and ${nameOf(second)}`, thing: first },
        { mask: union(two, three), caption: `${nameOf(second)} and ${nameOf(third)}`, thing: second },
      ];
    }
  }
}

const HALVES = ["top", "bottom", "left", "right"] as const;

/** The part of a mask on one side of the middle of its box. */
function halfOf(mask: Uint8Array, side: number, where: (typeof HALVES)[number]): Uint8Array {
  const down = where === "top" || where === "bottom";
  const along = (pixel: number): number => (down ? Math.floor(pixel / side) : pixel % side);
  let [low, high] = [side, -1];
  mask.forEach((inside, pixel) => {
    if (inside === 0) return;
    low = Math.min(low, along(pixel));
    high = Math.max(high, along(pixel));
  });
  const middle = (low + high) / 2;
  const before = where === "top" || where === "left";
  return mask.map((inside, pixel) => (before === along(pixel) <= middle ? inside : 0));
}

const union = (a: Uint8Array, b: Uint8Array): Uint8Array => a.map((inside, pixel) => inside | (b[pixel] as number));
