import { badInput } from "../../errors.ts";
import { checkMaskSize, eachRun, type Rle, rleFromRuns, rleRuns } from "./rle-runs.ts";

/**
 * Pixels of a mask, row-major height * width, 0 or 1 (docs/spec/rewards.md#1-masks-coco-run-length-encoding). Decodes
 * any legal string, canonical or not.
 * @throws LabError("bad-input") when the string is not a mask of its size
 */
export function decodeRle(rle: Rle): Uint8Array<ArrayBuffer> {
  const [height, width] = rle.size;
  const runs = rleRuns(rle);
  const mask = new Uint8Array(height * width);
  let position = 0; // column-major: x * height + y
  for (let index = 0; index < runs.length; index++) {
    const run = runs[index] as number;
    if ((index & 1) === 1 && run > 0) {
      let x = Math.floor(position / height);
      let y = position - x * height;
      let left = run;
      while (left > 0) {
        const stop = Math.min(height, y + left);
        for (let at = y * width + x, end = stop * width + x; at < end; at += width) mask[at] = 1;
        left -= stop - y;
        x++;
        y = 0;
      }
    }
    position += run;
  }
  return mask;
}

/**
 * The canonical compressed form of a mask; any value other than 0 counts as foreground.
 * @param mask row-major pixels, length height * width
 * @throws LabError("bad-input") when the length does not match the size or the size is out of range
 */
export function encodeRle(mask: ArrayLike<number>, height: number, width: number): Rle {
  checkMaskSize(height, width);
  if (mask.length !== height * width) {
    throw badInput(`mask has ${mask.length} pixels, not ${height} x ${width} = ${height * width}`);
  }
  const runs: number[] = [];
  let colour = 0;
  let run = 0;
  for (let x = 0; x < width; x++) {
    for (let y = 0, at = x; y < height; y++, at += width) {
      const pixel = mask[at] === 0 ? 0 : 1;
      if (pixel !== colour) {
        runs.push(run);
        run = 0;
        colour = pixel;
      }
      run++;
    }
  }
  runs.push(run);
  return rleFromRuns(runs, height, width);
}

/** Foreground pixels, a whole number from 0 to height * width. */
export function rleArea(rle: Rle): number {
  let area = 0;
  eachRun(rle, (run, index) => {
    if (index % 2 === 1) area += run;
  });
  return area;
}

/** Whether a mask has no foreground pixel. */
export function rleIsEmpty(rle: Rle): boolean {
  return rleArea(rle) === 0;
}

/**
 * Bounding box [x, y, width, height] of the foreground in pixels; [0, 0, 0, 0] for an empty mask. Zero-length runs
 * do not widen it, which the reference's own box gets wrong.
 */
export function rleBox(rle: Rle): [number, number, number, number] {
  const [height] = rle.size;
  const runs = rleRuns(rle);
  let [left, top, right, bottom] = [Infinity, Infinity, -1, -1];
  let position = 0;
  for (let index = 0; index < runs.length; index++) {
    const run = runs[index] as number;
    if ((index & 1) === 1 && run > 0) {
      const last = position + run - 1;
      const [x0, x1] = [Math.floor(position / height), Math.floor(last / height)];
      // A run that crosses a column border contains the bottom of one column and the top of the next: full height.
      const [y0, y1] = x0 === x1 ? [position % height, last % height] : [0, height - 1];
      left = Math.min(left, x0);
      right = Math.max(right, x1);
      top = Math.min(top, y0);
      bottom = Math.max(bottom, y1);
    }
    position += run;
  }
  return right < 0 ? [0, 0, 0, 0] : [left, top, right - left + 1, bottom - top + 1];
}
