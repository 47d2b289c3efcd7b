/**
 * Sines and cosines of random Fourier features at the centres of a grid's cells: SAM2's encoding of image positions.
 *
 * Layout: matrix [2, C], x first; result [h · w, 2C], sines before cosines. Plan: one thread per cell and frequency
 * writes both. Limits: h · w · C below 2³². Numerics: f32; angles are reduced to a quarter turn and the sine is a
 * series, because WGSL guarantees only 2⁻¹¹ for its own. Equals `fourierPositionsByOps` (model/sam2/prompt-encoder.ts).
 */

import { pointProgram, runPoints } from "../rows-program.ts";
import { toTensor } from "../runtime/custom-op.ts";
import type { Tensor } from "../tf.ts";

/** Coefficients of the odd series of the sine, from the highest power down. */
export const SINE_SERIES = [-1 / 39916800, 1 / 362880, -1 / 5040, 1 / 120, -1 / 6, 1] as const;

const [highest, ...lower] = SINE_SERIES.map((factor) => factor.toPrecision(12));

const PROGRAM = pointProgram({
  name: "lab-fourier",
  inputs: { matrix: "f32" },
  outputs: { result: "f32" },
  uniforms: { size: "u32", width: "u32", across: "f32", down: "f32", columns: "u32" },
  header: `
    fn sine(turns: f32) -> f32 {
      let phase = turns - floor(turns + 0.5);
      let angle = (0.25 - abs(abs(phase) - 0.25)) * ${2 * Math.PI};
      let square = angle * angle;
      var series = f32(${highest});
      ${lower.map((factor) => `series = series * square + f32(${factor});`).join("\n      ")}
      return series * angle * sign(phase);
    }`,
  body: `
    let cell = i / u.width;
    let column = i % u.width;
    let x = 2.0 * (f32(cell % u.columns) + 0.5) / u.across - 1.0;
    let y = 2.0 * (f32(cell / u.columns) + 0.5) / u.down - 1.0;
    let turns = x * matrix[column] + y * matrix[u.width + column];
    let at = 2u * cell * u.width + column;
    result[at] = sine(turns);
    result[at + u.width] = sine(turns + 0.25);`,
});

/**
 * Not differentiable: the matrix is a buffer.
 * @param matrix [2, C] float32
 * @returns [h · w, 2C], owned by the caller or its tidy
 */
export function fourierRows(matrix: Tensor, height: number, width: number): Tensor {
  const columns = matrix.shape[1] as number;
  const shape = [height * width, 2 * columns];
  const uniforms = [columns, width, height, width];
  return toTensor(runPoints(PROGRAM, [matrix], [{ shape }], height * width * columns, uniforms)[0]);
}
