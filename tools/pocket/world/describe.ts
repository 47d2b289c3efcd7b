/** Descriptions of objects in a scene, from "an animal" to "the small brown dog left of the red car"; always true. */

import { type Dice, pick } from "./dice.ts";
import { article, KINDS, type Kind } from "./kinds.ts";
import { kindOf, place, type Scene, sizeOf, type Thing } from "./scene.ts";

export const RELATIONS = ["left of", "right of", "above", "below"] as const;
type Relation = (typeof RELATIONS)[number];

/** Parts of a description; absent parts are not mentioned. */
export interface Description {
  readonly thing: Thing;
  /** "a" for an object that is only named. */
  readonly definite: boolean;
  /** Named by its family instead of its kind. */
  readonly family: boolean;
  readonly size: boolean;
  readonly colour: boolean;
  readonly place: boolean;
  readonly neighbour: { readonly thing: Thing; readonly relation: Relation } | null;
}

export const BARE = {
  definite: true,
  family: false,
  size: false,
  colour: false,
  place: false,
  neighbour: null,
} as const;

/** Words for each size; a word that is listed twice is drawn twice as often. */
const SIZE_WORDS = { small: ["small", "small", "little"], large: ["large", "large", "big"] } as const;
const USUAL_WORD = 0.8;

/** Text of a description; synonyms are drawn. */
export function describe(what: Description, dice: Dice): string {
  const { thing, neighbour } = what;
  const words = [
    ...(what.size ? [pick(dice, SIZE_WORDS[sizeOf(thing)])] : []),
    ...(what.colour ? [thing.colour] : []),
    what.family ? kindOf(thing).family : kindWord(kindOf(thing), dice),
  ];
  const phrase = `${what.definite ? "the" : article(words[0] as string)} ${words.join(" ")}`;
  if (neighbour !== null) {
    return `${phrase} ${neighbour.relation} the ${neighbour.thing.colour} ${kindWord(kindOf(neighbour.thing), dice)}`;
  }
  return what.place ? `${phrase} ${placePhrase(place(thing))}` : phrase;
}

function kindWord(kind: Kind, dice: Dice): string {
  return kind.words.length === 1 || dice() < USUAL_WORD ? (kind.words[0] as string) : pick(dice, kind.words.slice(1));
}

/** "on the left", "at the top left", "in the middle". */
export function placePhrase(where: string): string {
  if (where === "middle") return "in the middle";
  return where === "left" || where === "right" ? `on the ${where}` : `at the ${where}`;
}

/** Whether the description is also true of `other`. */
export function alsoFits(what: Description, other: Thing): boolean {
  const { thing, neighbour } = what;
  const [own, its] = [kindOf(thing), kindOf(other)];
  return (
    (what.family ? own.family === its.family || own.family === "thing" : thing.kind === other.kind) &&
    (!what.size || sizeOf(other) === sizeOf(thing)) &&
    (!what.colour || other.colour === thing.colour) &&
    (!what.place || place(other) === place(thing)) &&
    (neighbour === null || (other !== neighbour.thing && stands(other, neighbour.relation, neighbour.thing, 0.05)))
  );
}

/** Whether it is true of this object and of no other in the scene. */
export function tellsApart(what: Description, scene: Scene): boolean {
  return !scene.things.some((other) => other !== what.thing && alsoFits(what, other));
}

function stands(thing: Pick<Thing, "x" | "y">, relation: Relation, other: Thing, atLeast: number): boolean {
  switch (relation) {
    case "left of":
      return other.x - thing.x > atLeast;
    case "right of":
      return thing.x - other.x > atLeast;
    case "above":
      return other.y - thing.y > atLeast;
    case "below":
      return thing.y - other.y > atLeast;
  }
}

/** A neighbour that two words identify, and the object's position relative to it; null without one. */
function drawNeighbour(thing: Thing, scene: Scene, dice: Dice): Description["neighbour"] {
  const known = (other: Thing): boolean => tellsApart({ ...BARE, thing: other, colour: true }, scene);
  // Later kinds have no colour in any training caption, neither as objects nor as neighbours.
  const others = scene.things.filter((other) => other !== thing && other.kind < KINDS.length && known(other));
  if (others.length === 0) return null;
  const other = pick(dice, others);
  const [dx, dy] = [thing.x - other.x, thing.y - other.y];
  const relation: Relation =
    Math.abs(dx) >= Math.abs(dy) ? (dx < 0 ? "left of" : "right of") : dy < 0 ? "above" : "below";
  return stands(thing, relation, other, 0.2) ? { thing: other, relation } : null;
}

/** Names the object and little else: true, and often true of others too. */
export function drawVague(thing: Thing, scene: Scene, dice: Dice): Description {
  const how = dice();
  const definite = dice() < 0.3;
  if (how < 0.2) return { ...BARE, thing, definite: false, family: true };
  if (how < 0.8) return { ...BARE, thing, definite };
  const colour = how < 0.9;
  return {
    ...BARE,
    thing,
    definite: tellsApart({ ...BARE, thing, colour, size: !colour }, scene),
    colour,
    size: !colour,
  };
}

/**
 * Colour and place, or a neighbour, or size: true of nothing else in the scene, unless the scene allows no such
 * description.
 */
export function drawDiscriminating(thing: Thing, scene: Scene, dice: Dice): Description {
  for (let attempt = 0; attempt < 6; attempt++) {
    const drawn = richDescription(dice());
    const neighbour = drawn === "neighbour" ? drawNeighbour(thing, scene, dice) : null;
    if (drawn === "neighbour" && neighbour === null) continue;
    const what =
      drawn === "neighbour"
        ? { ...BARE, thing, colour: true, size: dice() < 0.25, neighbour }
        : { ...BARE, thing, ...drawn };
    if (tellsApart(what, scene)) return what;
  }
  return { ...BARE, thing, size: true, colour: true, place: true };
}

function richDescription(how: number): Partial<Description> | "neighbour" {
  if (how < 0.5) return { colour: true, place: true };
  if (how < 0.62) return { size: true, colour: true, place: true };
  if (how < 0.82) return "neighbour";
  return { size: true, colour: true };
}

/** Short descriptions, without and with the object's place. */
const SHORT: readonly Partial<Description>[] = [{}, { colour: true }, { size: true }, { size: true, colour: true }];
const PLACED: readonly Partial<Description>[] = [{ place: true }, { colour: true, place: true }];

/**
 * Any unambiguous phrase, for the mask task. Many are short and omit the place, because a place alone nearly identifies
 * an object, and a model that can rely on it never learns the kinds.
 */
export function drawUnambiguous(thing: Thing, scene: Scene, dice: Dice): Description {
  const how = dice();
  const options = (how < 0.45 ? SHORT : how < 0.55 ? PLACED : [])
    .map((parts): Description => ({ ...BARE, thing, ...parts }))
    .filter((what) => tellsApart(what, scene));
  return options.length > 0 ? pick(dice, options) : drawDiscriminating(thing, scene, dice);
}

/**
 * All words that describe an object. The [SEG] state must name all of them, mentioned or not, so it must find the
 * object in the picture, and the mask decoder receives its place even if the phrase lacks it.
 */
export function allWords(thing: Thing): string[] {
  return [kindOf(thing).words[0] as string, thing.colour, sizeOf(thing), ...place(thing).split(" ")];
}
