/** Masks as COCO polygons, for tools that need them. */
import { traceOutlines } from "../../engine/data/mask/outline.ts";

/**
 * Polygons [x0, y0, x1, y1, …] along pixel edges whose union is exactly the mask, also in `rleFromPolygons`. COCO has no
 * holes, so a part with a hole is cut by vertical lines through its holes.
 * @param mask row-major, any value except 0 is foreground
 */
export function maskPolygons(mask: Uint8Array, width: number, height: number): number[][] {
  const polygons: number[][] = [];
  const open: (readonly [from: number, to: number])[] = [[0, width]];
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    const [from, to] = range;
    const outlines = traceOutlines(columns(mask, width, height, from, to), to - from, height);
    const hole = outlines.find((points) => signedArea(points) < 0);
    if (hole === undefined) {
      for (const points of outlines)
        polygons.push(Array.from(points, (value, at) => value + (at % 2 === 0 ? from : 0)));
      continue;
    }
    const left = hole.reduce((least, value, at) => (at % 2 === 0 ? Math.min(least, value) : least), to - from);
    const cut = from + left + 1;
    open.push([cut, to], [from, cut]);
  }
  return polygons;
}

/** The part of a mask between two columns. */
function columns(mask: Uint8Array, width: number, height: number, from: number, to: number): Uint8Array {
  if (from === 0 && to === width) return mask;
  const part = new Uint8Array((to - from) * height);
  for (let y = 0; y < height; y++) part.set(mask.subarray(y * width + from, y * width + to), y * (to - from));
  return part;
}

/** Signed area: positive for outlines of foreground, negative for holes, in the orientation of `traceOutlines`. */
function signedArea(points: Int32Array): number {
  let sum = 0;
  for (let at = 0; at < points.length; at += 2) {
    const next = (at + 2) % points.length;
    sum +=
      (points[at] as number) * (points[next + 1] as number) - (points[next] as number) * (points[at + 1] as number);
  }
  return sum;
}
