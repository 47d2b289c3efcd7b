/** Composes scenes from drawings: the picture, and the visible pixels of every object. */
import type { RgbImage } from "../../../src/engine/data/sample.ts";
import type { Scene, Thing } from "./scene.ts";
import { SPRITE_SIDE, sprite } from "./sprites.ts";

export interface DrawnScene {
  readonly rgb: RgbImage;
  /** For every object, 1 where it is visible, else 0; row-major at picture size. */
  readonly masks: readonly Uint8Array[];
}

/** Softness and offset of an object's shadow, in shares of the picture's side. */
const SHADOW = { down: 0.018, side: 0.008, dark: 0.2 } as const;

/** @param side pixels of the square picture; the scene looks the same at every size */
export function renderScene(scene: Scene, side: number): DrawnScene {
  const data = new Uint8Array(side * side * 3);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const colour = scene.background((x + 0.5) / side, (y + 0.5) / side);
      for (let c = 0; c < 3; c++) data[(y * side + x) * 3 + c] = Math.round(colour[c] as number);
    }
  }
  const masks = scene.things.map(() => new Uint8Array(side * side));
  for (const [at, thing] of scene.things.entries()) {
    const stamp = shrink(thing, side);
    shade(data, side, stamp);
    paste(data, side, stamp, (pixel) => {
      masks.forEach((mask, other) => {
        mask[pixel] = other === at ? 1 : 0;
      });
    });
  }
  return { rgb: { width: side, height: side, data }, masks };
}

/** An object at its size: premultiplied RGBA, 0..1, with its place in the picture. */
interface Stamp {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly pixels: Float32Array;
}

/** Every picture pixel is the mean of the part of the drawing it covers. */
function shrink(thing: Thing, side: number): Stamp {
  const source = sprite(thing.kind, thing.colour);
  const scale = SPRITE_SIDE / (thing.size * side);
  const [x0, y0] = [(thing.x - thing.size / 2) * side, (thing.y - thing.size / 2) * side];
  const [left, top] = [Math.floor(x0), Math.floor(y0)];
  const width = Math.ceil(thing.size * side) + 1;
  const pixels = new Float32Array(width * width * 4);
  const columns = Array.from({ length: width }, (_, x) => weights((left + x - x0) * scale, scale));
  const rows = Array.from({ length: width }, (_, y) => weights((top + y - y0) * scale, scale));
  for (let y = 0; y < width; y++) {
    for (let x = 0; x < width; x++) {
      const to = (y * width + x) * 4;
      for (const [row, tall] of rows[y] as Weight[]) {
        for (const [column, wide] of columns[x] as Weight[]) {
          const from = (row * SPRITE_SIDE + (thing.mirrored ? SPRITE_SIDE - 1 - column : column)) * 4;
          const cover = (tall * wide * (source[from + 3] as number)) / 255;
          if (cover === 0) continue;
          for (let c = 0; c < 3; c++)
            pixels[to + c] = (pixels[to + c] as number) + cover * (source[from + c] as number);
          pixels[to + 3] = (pixels[to + 3] as number) + cover;
        }
      }
    }
  }
  return { left, top, width, pixels };
}

type Weight = readonly [cell: number, share: number];

/** Cells of the drawing in [from, from + length) with their shares of it, which sum to 1 inside the drawing. */
function weights(from: number, length: number): Weight[] {
  const out: Weight[] = [];
  for (let cell = Math.max(0, Math.floor(from)); cell < Math.min(SPRITE_SIDE, from + length); cell++) {
    const share = Math.min(cell + 1, from + length) - Math.max(cell, from);
    if (share > 0) out.push([cell, share / length]);
  }
  return out;
}

function shade(data: Uint8Array, side: number, { left, top, width, pixels }: Stamp): void {
  const [dx, dy] = [Math.round(SHADOW.side * side), Math.round(SHADOW.down * side)];
  paint(side, left + dx, top + dy, width, (pixel, from) => {
    const light = 1 - SHADOW.dark * (pixels[from + 3] as number);
    for (let c = 0; c < 3; c++) data[pixel * 3 + c] = Math.round((data[pixel * 3 + c] as number) * light);
  });
}

function paste(data: Uint8Array, side: number, stamp: Stamp, seen: (pixel: number) => void): void {
  const { left, top, width, pixels } = stamp;
  paint(side, left, top, width, (pixel, from) => {
    const cover = pixels[from + 3] as number;
    if (cover === 0) return;
    for (let c = 0; c < 3; c++) {
      data[pixel * 3 + c] = Math.round((data[pixel * 3 + c] as number) * (1 - cover) + (pixels[from + c] as number));
    }
    if (cover >= 0.5) seen(pixel);
  });
}

function paint(
  side: number,
  left: number,
  top: number,
  width: number,
  at: (pixel: number, from: number) => void,
): void {
  for (let y = Math.max(0, -top); y < width && top + y < side; y++) {
    for (let x = Math.max(0, -left); x < width && left + x < side; x++) {
      at((top + y) * side + left + x, (y * width + x) * 4);
    }
  }
}
