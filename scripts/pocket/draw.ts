/** Rasterises scenes through signed distances: smooth edges in the picture, an exact 0/1 mask per thing. */
import type { RgbImage } from "../../src/engine/data/sample.ts";
import { COLOURS, type Scene, type Shape, type Thing } from "./scene.ts";

/** Signed distance (negative inside) of a unit-sized shape, at coordinates in units of its radius, y down. */
function distance(shape: Shape, px: number, py: number): number {
  const ax = Math.abs(px);
  const ay = Math.abs(py);
  const r = Math.hypot(px, py);
  switch (shape) {
    case "circle":
      return r - 1;
    case "ring":
      return Math.abs(r - 0.72) - 0.27;
    case "square":
      return Math.max(ax, ay) - 0.85;
    case "diamond":
      return (ax + ay - 1.05) * Math.SQRT1_2;
    case "cross":
      return Math.max(Math.min(ax, ay) - 0.32, Math.max(ax, ay) - 0.98);
    case "hexagon":
      return Math.max(ax * 0.866 + ay * 0.5, ay) - 0.86;
    case "triangle":
      return Math.max(ax * 0.866 + (py - 0.15) * -0.5 - 0.47 + (py - 0.15), py - 0.75, ax * 0.89 - py * 0.45 - 0.48);
    case "moon":
      return Math.max(r - 1, 0.82 - Math.hypot(px - 0.5, py));
    case "heart": {
      const lobe = Math.hypot(ax - 0.46, py + 0.36) - 0.54;
      const point = Math.max(ax * 0.76 + py * 0.65 - 0.656, -py - 0.1);
      return Math.min(lobe, point);
    }
    case "star": {
      const sector = (2 * Math.PI) / 5;
      const angle = Math.atan2(px, -py);
      const folded = Math.abs(angle - sector * Math.round(angle / sector));
      const fx = r * Math.sin(folded);
      const fy = r * Math.cos(folded);
      return fx * Math.cos(0.314) + fy * Math.sin(0.314) - Math.sin(0.314) * 1.05;
    }
  }
}

/** Distance in pixels from (x, y) to the thing's outline. */
function pixelDistance(thing: Thing, side: number, x: number, y: number): number {
  const dx = (x + 0.5) / side - thing.x;
  const dy = (y + 0.5) / side - thing.y;
  const cos = Math.cos(thing.turn);
  const sin = Math.sin(thing.turn);
  return (
    distance(thing.shape, (dx * cos + dy * sin) / thing.radius, (dy * cos - dx * sin) / thing.radius) *
    thing.radius *
    side
  );
}

/** Side at which the shadow's offset and softness are one number a pixel. */
const SHADOW_SIDE = 256;

/** @param side pixels of the square picture; the scene looks alike at every size */
export function renderScene(scene: Scene, side: number): RgbImage {
  const data = new Uint8Array(side * side * 3);
  const [from, to] = scene.background;
  const unit = side / SHADOW_SIDE;
  const reach = 9 * unit;
  const rgb = [0, 0, 0];
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const along =
        ((x - side / 2) * Math.cos(scene.backgroundTurn) + (y - side / 2) * Math.sin(scene.backgroundTurn)) / side +
        0.5;
      const blend = Math.min(1, Math.max(0, along));
      for (let c = 0; c < 3; c++) rgb[c] = (from[c] as number) * (1 - blend) + (to[c] as number) * blend;
      for (const thing of scene.things) {
        // Beyond this even the slowest-growing distance (past a star's tip) is out of reach, so most pixels need none.
        const far = thing.radius * side * 1.6 + reach;
        if (Math.abs(x - thing.x * side) > far || Math.abs(y - thing.y * side) > far) continue;
        const d = pixelDistance(thing, side, x, y);
        if (d > reach) continue;
        const behind = pixelDistance(thing, side, x - 2 * unit, y - 4 * unit);
        const shadow = 0.16 * Math.max(0, 1 - Math.max(0, behind) / (8 * unit));
        const cover = Math.min(1, Math.max(0, 0.5 - d));
        const light = 1.06 - 0.16 * ((y / side - thing.y) / thing.radius + 1) * 0.5;
        const colour = COLOURS[thing.colour];
        for (let c = 0; c < 3; c++) {
          const shaded = (rgb[c] as number) * (1 - shadow);
          rgb[c] = shaded * (1 - cover) + Math.min(255, (colour[c] as number) * light) * cover;
        }
      }
      for (let c = 0; c < 3; c++) data[(y * side + x) * 3 + c] = Math.round(rgb[c] as number);
    }
  }
  return { width: side, height: side, data };
}

/** 1 where the thing's outline lies outside the pixel's centre; row-major side·side. */
export function renderMask(thing: Thing, side: number): Uint8Array {
  const mask = new Uint8Array(side * side);
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++) mask[y * side + x] = pixelDistance(thing, side, x, y) < 0 ? 1 : 0;
  return mask;
}
