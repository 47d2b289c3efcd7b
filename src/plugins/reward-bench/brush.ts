/** Painting on masks: row-major pixels, 0 or 1. */

/** Sets all pixels within `radius` of the line between two points, in place. */
export function paintLine(
  pixels: Uint8Array,
  width: number,
  height: number,
  from: readonly [number, number],
  to: readonly [number, number],
  radius: number,
  value: 0 | 1,
): void {
  const [x0, x1] = [Math.min(from[0], to[0]) - radius, Math.max(from[0], to[0]) + radius];
  const [y0, y1] = [Math.min(from[1], to[1]) - radius, Math.max(from[1], to[1]) + radius];
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = dx * dx + dy * dy;
  for (let y = Math.max(0, Math.floor(y0)); y < Math.min(height, Math.ceil(y1) + 1); y++) {
    for (let x = Math.max(0, Math.floor(x0)); x < Math.min(width, Math.ceil(x1) + 1); x++) {
      const [px, py] = [x + 0.5 - from[0], y + 0.5 - from[1]];
      const along = length === 0 ? 0 : Math.min(1, Math.max(0, (px * dx + py * dy) / length));
      if ((px - along * dx) ** 2 + (py - along * dy) ** 2 <= Math.max(0.5, radius) ** 2) pixels[y * width + x] = value;
    }
  }
}

/** A copy of the mask, dilated (1) or eroded (-1) by 1/64 of the longer side, at least a pixel. */
export function grown(pixels: Uint8Array, width: number, height: number, by: 1 | -1): Uint8Array {
  const steps = Math.max(1, Math.round(Math.max(width, height) / 64));
  let now = pixels;
  for (let step = 0; step < steps; step++) now = grownOnce(now, width, height, by);
  return now;
}

function grownOnce(pixels: Uint8Array, width: number, height: number, by: 1 | -1): Uint8Array {
  const next = Uint8Array.from(pixels);
  const wanted = by === 1 ? 1 : 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = y * width + x;
      if (pixels[at] === wanted) continue;
      const near =
        (x > 0 && pixels[at - 1] === wanted) ||
        (x + 1 < width && pixels[at + 1] === wanted) ||
        (y > 0 && pixels[at - width] === wanted) ||
        (y + 1 < height && pixels[at + width] === wanted);
      if (near) next[at] = wanted;
    }
  }
  return next;
}
