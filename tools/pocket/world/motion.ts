/** Scenes that move: how each thing goes in a clip, and captions that need it. */
import { alsoFits, BARE, type Description, describe } from "./describe.ts";
import { type Dice, pick } from "./dice.ts";
import type { Scene, Thing } from "./scene.ts";

/** Ways to go, with their direction in shares of the picture's side. */
const WAYS = {
  "moves left": [-1, 0],
  "moves right": [1, 0],
  "moves up": [0, -1],
  "moves down": [0, 1],
  "stands still": [0, 0],
} as const;
type Way = keyof typeof WAYS;
const ALL = Object.keys(WAYS) as Way[];

export interface Clip {
  readonly scene: Scene;
  /** One for each thing. */
  readonly ways: readonly Way[];
}

/** How far a thing goes from the first frame to the last, in shares of the picture's side. */
const DISTANCE = 0.3;
/** Share of clips in which things of one kind have one colour, so that only motion and size tell them apart. */
const ALIKE = 0.6;

/** A scene in motion: things of one kind always go different ways. */
export function drawClip(scene: Scene, dice: Dice): Clip {
  const alike = dice() < ALIKE;
  const ways: Way[] = [];
  const things = scene.things.map((thing, at): Thing => {
    const double = scene.things.findIndex(({ kind }) => kind === thing.kind);
    const taken = ways.filter((_, other) => scene.things[other]?.kind === thing.kind);
    ways.push(
      pick(
        dice,
        ALL.filter((way) => !taken.includes(way)),
      ),
    );
    return alike && double < at ? { ...thing, colour: (scene.things[double] as Thing).colour } : thing;
  });
  return { scene: { ...scene, things }, ways };
}

/** The scene at a time of 0..1; nothing leaves the picture. */
export function sceneAt({ scene, ways }: Clip, time: number): Scene {
  const things = scene.things.map((thing, at): Thing => {
    const [dx, dy] = WAYS[ways[at] as Way];
    const along = (centre: number, way: number): number => {
      const [low, high] = [0.01 + thing.size / 2, 0.99 - thing.size / 2];
      const reach = Math.min(DISTANCE, high - low);
      // The way around its place, moved inside the picture as a whole.
      const start = Math.min(
        Math.max(centre - (way * reach) / 2, way < 0 ? low + reach : low),
        way > 0 ? high - reach : high,
      );
      return way === 0 ? centre : start + way * reach * time;
    };
    return { ...thing, x: along(thing.x, dx), y: along(thing.y, dy) };
  });
  return { ...scene, things };
}

/** The thing with its motion and as few other words as tell it apart: "the red car that moves left". */
export function describeMotion({ scene, ways }: Clip, at: number, dice: Dice): string {
  const thing = scene.things[at] as Thing;
  const options: Description[] = [{}, { colour: true }, { size: true, colour: true }].map((parts) => {
    return { ...BARE, thing, ...parts };
  });
  const apart = options.filter((what) =>
    scene.things.every((other, one) => one === at || ways[one] !== ways[at] || !alsoFits(what, other)),
  );
  return `${describe(apart[0] === undefined ? (options[2] as Description) : pick(dice, apart), dice)} that ${ways[at]}`;
}

/** How a caption says that its thing goes; nothing where it does not. */
export function motionIn(caption: string): string {
  return caption.split(" that ")[1] ?? "";
}
