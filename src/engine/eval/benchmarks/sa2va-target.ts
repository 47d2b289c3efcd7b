/** The truth mask of overlapping parts as the Sa2VA evaluators make it, for comparison with their numbers only. */
import { decodeRle, type Rle, rleFromRuns } from "../../data/mask/rle.ts";

/**
 * The parts of an object are added; the encoder then starts a run at each change of value, so that overlaps become
 * holes or invert what follows (docs/spec/evaluation.md#14-the-truth-mask-three-results-for-one-annotation). Reports of
 * this lab use the union.
 * @param parts masks of this size, each polygon one; none gives an empty mask
 */
export function sa2vaTarget(parts: readonly Rle[], height: number, width: number): Rle {
  const sum = new Uint8Array(height * width);
  for (const part of parts) {
    for (const [at, pixel] of decodeRle(part).entries()) sum[at] = (sum[at] as number) + pixel;
  }
  const runs: number[] = [];
  let [value, run] = [0, 0];
  for (let x = 0; x < width; x++) {
    for (let y = 0; y < height; y++) {
      const pixel = sum[y * width + x] as number;
      if (pixel !== value) {
        runs.push(run);
        [value, run] = [pixel, 0];
      }
      run++;
    }
  }
  runs.push(run);
  return rleFromRuns(runs, height, width);
}
