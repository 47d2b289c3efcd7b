/** Small random scenes: two to four drawings on a background, most of them with doubles of one kind. */
import { type Background, drawBackground } from "./background.ts";
import { type Dice, pick } from "./dice.ts";
import { ALL_KINDS, type Colour, KINDS, type Kind } from "./kinds.ts";

export interface Thing {
  /** Index in ALL_KINDS. */
  readonly kind: number;
  readonly colour: Colour;
  /** Centre and side of the drawing's square in shares of the picture's side. */
  readonly x: number;
  readonly y: number;
  readonly size: number;
  /** Mirrored left to right. */
  readonly mirrored: boolean;
}

export interface Scene {
  readonly background: Background;
  /** Later ones are drawn over earlier ones. */
  readonly things: readonly Thing[];
}

export const kindOf = (thing: Pick<Thing, "kind">): Kind => ALL_KINDS[thing.kind] as Kind;

/** Positions of objects: centres, and the maximum random offset in each direction. */
interface Layout {
  readonly slots: readonly (readonly [number, number])[];
  readonly jitter: readonly [number, number];
  readonly large: number;
}

const QUARTERS: Layout = {
  slots: [
    [0.26, 0.27],
    [0.74, 0.27],
    [0.26, 0.73],
    [0.74, 0.73],
  ],
  jitter: [0.04, 0.04],
  large: 0.42,
};
const ROW: Layout = {
  slots: [
    [0.18, 0.5],
    [0.5, 0.5],
    [0.82, 0.5],
  ],
  jitter: [0.01, 0.28],
  large: 0.34,
};
const COLUMN: Layout = { ...ROW, slots: ROW.slots.map(([x, y]) => [y, x]), jitter: [0.28, 0.01] };
/** Two in opposite quarters and one in the middle. */
const DIAGONAL: Layout = {
  slots: [
    [0.2, 0.2],
    [0.5, 0.5],
    [0.8, 0.8],
    [0.2, 0.8],
    [0.8, 0.2],
  ],
  jitter: [0.03, 0.03],
  large: 0.35,
};
const LAYOUTS: readonly (readonly [share: number, layout: Layout])[] = [
  [0.5, QUARTERS],
  [0.7, ROW],
  [0.85, COLUMN],
  [1, DIAGONAL],
];

const SMALL = 0.235;
/** Objects below this side are called small. */
export const SMALL_BELOW = 0.29;

/** Share of scenes with three objects of one kind, and of those with at least two. */
const THREE_ALIKE = 0.3;
const TWO_ALIKE = 0.85;

export interface SceneWishes {
  /** Kind of the first object and of those alike, an index in ALL_KINDS; drawn by default. */
  readonly kind?: number;
  /** Number of objects of that kind; drawn by default. */
  readonly alike?: number;
}

/** Two to four objects in separate places; in most scenes two or three are of one kind and differ in something else. */
export function drawScene(dice: Dice, wishes: SceneWishes = {}): Scene {
  const background = drawBackground(dice);
  const draw = dice();
  const layout = (LAYOUTS.find(([share]) => draw < share) ?? LAYOUTS[0])?.[1] as Layout;
  const slots = shuffled(dice, layout.slots);
  const alikeDraw = dice();
  const alike = wishes.alike ?? (alikeDraw < THREE_ALIKE ? 3 : alikeDraw < TWO_ALIKE ? 2 : 1);
  const count = Math.min(slots.length, Math.max(alike, 2 + Math.floor(dice() * 3)));
  const things: Thing[] = [];
  const kinds: number[] = [];
  for (let at = 0; at < count; at++) {
    const first = at > 0 ? (kinds[0] as number) : wishes.kind;
    const kind = first !== undefined && at < alike ? first : freshKind(dice, kinds);
    kinds.push(kind);
    things.push(drawThing(dice, kind, things, slots[at] as readonly [number, number], layout));
  }
  return { background, things: shuffled(dice, things) };
}

function drawThing(
  dice: Dice,
  kind: number,
  before: readonly Thing[],
  [x, y]: readonly [number, number],
  layout: Layout,
): Thing {
  const double = before.filter((other) => other.kind === kind);
  // Doubles usually differ in colour; otherwise size or place must distinguish them.
  const used = double.map(({ colour }) => colour);
  const all = (ALL_KINDS[kind] as Kind).colours;
  const others = all.filter((colour) => !used.includes(colour));
  const colour = double.length > 0 && dice() < 0.4 ? (used[0] as Colour) : pick(dice, others.length > 0 ? others : all);
  const size = (dice() < 0.4 ? SMALL : layout.large) * (0.97 + 0.06 * dice());
  const within = (centre: number, jitter: number): number =>
    Math.min(0.99 - size / 2, Math.max(0.01 + size / 2, centre + (2 * dice() - 1) * jitter));
  return {
    kind,
    colour,
    size,
    x: within(x, layout.jitter[0]),
    y: within(y, layout.jitter[1]),
    mirrored: dice() < 0.5,
  };
}

function freshKind(dice: Dice, used: readonly number[]): number {
  const free = KINDS.map((_, at) => at).filter((at) => !used.includes(at));
  return pick(dice, free);
}

function shuffled<T>(dice: Dice, items: readonly T[]): T[] {
  const out = [...items];
  for (let at = out.length - 1; at > 0; at--) {
    const other = Math.floor(dice() * (at + 1));
    [out[at], out[other]] = [out[other] as T, out[at] as T];
  }
  return out;
}

/** Place of an object in one or two words; nearer to the middle than 0.12 of the side counts as middle. */
export function place(thing: Pick<Thing, "x" | "y">): string {
  const across = thing.x < 0.38 ? "left" : thing.x > 0.62 ? "right" : "";
  const down = thing.y < 0.38 ? "top" : thing.y > 0.62 ? "bottom" : "";
  if (across === "" && down === "") return "middle";
  return [down, across].filter((word) => word !== "").join(" ");
}

export const sizeOf = (thing: Pick<Thing, "size">): "small" | "large" => (thing.size < SMALL_BELOW ? "small" : "large");

/** Indices of the objects, doubles first, because captions must distinguish these. */
export function doublesFirst({ things }: Scene): number[] {
  const doubles = (at: number): number => things.filter((other) => other.kind === things[at]?.kind).length;
  return things.map((_, at) => at).sort((a, b) => doubles(b) - doubles(a));
}
