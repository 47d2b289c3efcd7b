import { Lru } from "../../../engine/bytes/collections.ts";
import { traceOutlines } from "../../../engine/data/mask/outline.ts";
import { decodeRle, type Rle } from "../../../engine/data/mask/rle.ts";

/** A mask ready to be drawn: its outline as a path in image pixels, and its size. */
export interface Shape {
  readonly path: Path2D;
  readonly area: number;
  readonly width: number;
  readonly height: number;
}

/** The three parts of a comparison of two masks. */
interface DifferenceShapes {
  /** In both. */
  readonly hit: Shape;
  /** In the given mask only. */
  readonly missed: Shape;
  /** In the other mask only. */
  readonly extra: Shape;
}

/** Enough for the tiles of a few steps; a shape of a photograph takes tens of kilobytes. */
const CAPACITY = 400;

const pixels = new Lru<string, Uint8Array<ArrayBuffer>>(24);
const shapes = new Lru<string, Shape>(CAPACITY);
const differences = new Lru<string, DifferenceShapes>(CAPACITY);

/** Outline and area of a mask, decoded once. @throws LabError("bad-input") when the mask text is broken */
export function shapeOf(rle: Rle): Shape {
  return shapes.get(keyOf(rle), () => toShape(decoded(rle), rle.size[1], rle.size[0]));
}

/** Hit, missed and extra pixels of `other` against `given`; both of one size. */
export function differenceOf(given: Rle, other: Rle): DifferenceShapes {
  return differences.get(`${keyOf(given)}|${keyOf(other)}`, () => {
    const [height, width] = given.size;
    const [a, b] = [decoded(given), decoded(other)];
    const part = (keep: (inA: boolean, inB: boolean) => boolean): Shape =>
      toShape(
        a.map((value, at) => (keep(value === 1, b[at] === 1) ? 1 : 0)),
        width,
        height,
      );
    return {
      hit: part((inA, inB) => inA && inB),
      missed: part((inA, inB) => inA && !inB),
      extra: part((inA, inB) => !inA && inB),
    };
  });
}

function decoded(rle: Rle): Uint8Array<ArrayBuffer> {
  return pixels.get(keyOf(rle), () => decodeRle(rle));
}

function keyOf(rle: Rle): string {
  return `${rle.size[0]}x${rle.size[1]}:${rle.counts}`;
}

function toShape(mask: Uint8Array<ArrayBuffer>, width: number, height: number): Shape {
  const path = new Path2D();
  for (const outline of traceOutlines(mask, width, height)) {
    for (let at = 0; at < outline.length; at += 2) {
      const [x, y] = [outline[at] as number, outline[at + 1] as number];
      if (at === 0) path.moveTo(x, y);
      else path.lineTo(x, y);
    }
    path.closePath();
  }
  let area = 0;
  for (const value of mask) area += value;
  return { path, area, width, height };
}
