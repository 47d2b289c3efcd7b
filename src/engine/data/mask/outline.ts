/** Steps in travel order east, south, west, north (y grows downwards). */
const STEP_X = [1, 0, -1, 0] as const;
const STEP_Y = [0, 1, 0, -1] as const;

/**
 * Closed outlines of a mask along pixel edges, foreground on the right of the direction of travel; holes run in the other
 * direction, so that the even-odd rule fills exactly the foreground.
 *
 * @param mask row-major pixels, length width * height; any value but 0 is foreground
 * @returns per outline its corner points [x0, y0, x1, y1, …] in pixel-edge coordinates, 0..width and 0..height
 */
export function traceOutlines(mask: ArrayLike<number>, width: number, height: number): Int32Array<ArrayBuffer>[] {
  const inside = (x: number, y: number): boolean =>
    x >= 0 && y >= 0 && x < width && y < height && mask[y * width + x] !== 0;
  // Every closed outline has an edge that runs east above a foreground pixel: these edges are the starts.
  const seen = new Uint8Array(width * height);
  const outlines: Int32Array<ArrayBuffer>[] = [];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = y * width + x;
      if (mask[at] === 0 || seen[at] === 1 || inside(x, y - 1)) continue;
      outlines.push(follow(x, y, width, seen, inside));
    }
  }
  return outlines;
}

function follow(
  startX: number,
  startY: number,
  width: number,
  seen: Uint8Array,
  inside: (x: number, y: number) => boolean,
): Int32Array<ArrayBuffer> {
  const points: number[] = [];
  let [x, y, heading] = [startX, startY, 0];
  do {
    if (heading === 0) seen[y * width + x] = 1;
    x += STEP_X[heading] as number;
    y += STEP_Y[heading] as number;
    // The two pixels that meet ahead of this corner, left and right of the line of travel.
    const [left, right] = ahead(x, y, heading);
    const turn = inside(left[0], left[1]) ? 3 : inside(right[0], right[1]) ? 0 : 1;
    if (turn !== 0) points.push(x, y);
    heading = (heading + turn) % 4;
  } while (x !== startX || y !== startY || heading !== 0);
  return Int32Array.from(points);
}

function ahead(x: number, y: number, heading: number): readonly [readonly [number, number], readonly [number, number]] {
  if (heading === 0) return [[x, y - 1] as const, [x, y] as const];
  if (heading === 1) return [[x, y] as const, [x - 1, y] as const];
  if (heading === 2) return [[x - 1, y] as const, [x - 1, y - 1] as const];
  return [[x - 1, y - 1] as const, [x, y - 1] as const];
}
