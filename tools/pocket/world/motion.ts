/** Scenes that move: the path of each object in a clip, and captions that say from where to where. */
import { alsoFits, BARE, type Description, describe } from "./describe.ts";
import { type Dice, pick } from "./dice.ts";
import { place, type Scene, type Thing } from "./scene.ts";

/** Paths, with their direction in shares of the picture's side. */
const WAYS = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1], still: [0, 0] } as const;
type Way = keyof typeof WAYS;
const ALL = Object.keys(WAYS) as Way[];

export interface Clip {
  readonly scene: Scene;
  /** One per object. */
  readonly ways: readonly Way[];
}

/**
 * Distance of an object from the first frame to the last, in shares of the picture's side: from one third of the
 * picture into the opposite one, even if a frame at an end is not used.
 */
const DISTANCE = 0.62;
/**
 * Share of clips in which objects of one kind have one colour, so that only place, motion and size distinguish them.
 */
const ALIKE = 0.6;
/** Maximum draws of the paths, and the largest share of another object that one may cover at any time. */
const [TRIES, CROWDED] = [12, 0.1];

/** A scene in motion: objects of one kind always take different paths, and mostly avoid each other. */
export function drawClip(scene: Scene, dice: Dice): Clip {
  const alike = dice() < ALIKE;
  const things = scene.things.map((thing, at): Thing => {
    const double = scene.things.findIndex(({ kind }) => kind === thing.kind);
    return alike && double < at ? { ...thing, colour: (scene.things[double] as Thing).colour } : thing;
  });
  let best: Clip | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < TRIES && least > CROWDED; attempt++) {
    const clip = { scene: { ...scene, things }, ways: drawWays(things, dice) };
    const covered = crowding(clip);
    if (covered < least) [best, least] = [clip, covered];
  }
  return best as Clip;
}

function drawWays(things: readonly Thing[], dice: Dice): Way[] {
  const ways: Way[] = [];
  for (const { kind } of things) {
    const taken = ways.filter((_, other) => things[other]?.kind === kind);
    ways.push(
      pick(
        dice,
        ALL.filter((way) => !taken.includes(way)),
      ),
    );
  }
  return ways;
}

/** The largest share of an object's square that another one's covers at any time. */
function crowding(clip: Clip): number {
  let most = 0;
  for (const time of [0, 0.25, 0.5, 0.75, 1]) {
    const { things } = sceneAt(clip, time);
    things.forEach((one, at) => {
      for (const other of things.slice(at + 1)) {
        const shared = (axis: "x" | "y"): number =>
          Math.max(0, Math.min(one.size, other.size, (one.size + other.size) / 2 - Math.abs(one[axis] - other[axis])));
        most = Math.max(most, (shared("x") * shared("y")) / Math.min(one.size, other.size) ** 2);
      }
    });
  }
  return most;
}

/** The scene at a time of 0..1; nothing leaves the picture. */
export function sceneAt({ scene, ways }: Clip, time: number): Scene {
  const things = scene.things.map((thing, at): Thing => {
    const [dx, dy] = WAYS[ways[at] as Way];
    const along = (centre: number, way: number): number => {
      const [low, high] = [0.01 + thing.size / 2, 0.99 - thing.size / 2];
      const reach = Math.min(DISTANCE, high - low);
      // The path around the object's place, moved inside the picture as a whole.
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

/** The object with its first place and its destination: "the red car at the top left that moves to the bottom left". */
export function describeMotion(clip: Clip, at: number, dice: Dice): string {
  const [first, last] = [sceneAt(clip, 0).things, sceneAt(clip, 1).things];
  const thing = first[at] as Thing;
  const goes = (one: number): string =>
    clip.ways[one] === "still" ? "stands still" : `moves to the ${place(last[one] as Thing)}`;
  const named: Description = { ...BARE, thing, colour: true, place: true };
  const sized = { ...named, size: true };
  const apart = [named, named, sized].filter((what) =>
    first.every((other, one) => one === at || goes(one) !== goes(at) || !alsoFits(what, other)),
  );
  return `${describe(apart[0] === undefined ? sized : pick(dice, apart), dice)} that ${goes(at)}`;
}

/** The path that a caption describes by its two places; empty if it names none, "elsewhere" if they match no path. */
export function motionIn(caption: string): Way | "elsewhere" | "" {
  const [from = "", to] = caption.split(" that ");
  if (to === undefined) return "";
  if (to === "stands still") return "still";
  const word = (text: string, name: string): number => Number(text.split(" ").includes(name));
  const step = (low: string, high: string): number =>
    Math.sign(word(to, high) - word(to, low) - (word(from, high) - word(from, low)));
  const [dx, dy] = [step("left", "right"), step("top", "bottom")];
  return ALL.find((way) => way !== "still" && WAYS[way][0] === dx && WAYS[way][1] === dy) ?? "elsewhere";
}
