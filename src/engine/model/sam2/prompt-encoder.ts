/**
 * SAM2's prompt encoder. Sa2VA uses one language token without click or mask (docs/spec/sa2va.md#14-prompt-encoder);
 * mask proposals use one click without language.
 */

import { fourierRows, SINE_SERIES } from "../../gpu/kernels/fourier.ts";
import { customKernels, suits } from "../../gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { Weights } from "../weights/weights.ts";

const PROMPT = "grounding_encoder.sam2_model.sam_prompt_encoder";

/**
 * Sparse tokens: two "not a point" embeddings, then the language prompt.
 * @param lang [B, C]
 * @returns [B, 3, C]
 */
export function sparseTokens(w: Weights, lang: Tensor): Tensor {
  return tf.tidy(() => {
    const [batch, width] = lang.shape as [number, number];
    return tf.concat([noPointTokens(w, batch), lang.reshape([batch, 1, width])], 1);
  });
}

/** The sparse tokens of a frame without a prompt: two "not a point" embeddings, [B, 2, C]. */
export function noPointTokens(w: Weights, batch: number): Tensor {
  return tf.tidy(() => {
    const pad = w.get(`${PROMPT}.not_a_point_embed.weight`);
    return tf.tile(pad.reshape([1, 1, -1]), [batch, 2, 1]);
  });
}

/**
 * Sparse tokens of one click inside each object and no language: the click's code, then "not a point".
 * @param points [N, 2], (x, y) in 0..1 of the picture
 * @returns [N, 2, C]
 */
export function clickTokens(w: Weights, points: Tensor): Tensor {
  return tf.tidy(() => {
    const matrix = w.get(`${PROMPT}.pe_layer.positional_encoding_gaussian_matrix`);
    const clicks = positionCodes(points.mul(2).sub(1), matrix).add(w.get(`${PROMPT}.point_embeddings.1.weight`));
    const [count, width] = clicks.shape as [number, number];
    return tf.concat(
      [clicks.reshape([count, 1, width]), noPointTokens(w, count).slice([0, 0, 0], [count, 1, width])],
      1,
    );
  });
}

/** The dense prompt of "no mask", the same in every cell: [1, C]. */
export function densePrompt(w: Weights): Tensor {
  return w.get(`${PROMPT}.no_mask_embed.weight`);
}

/** Image positional encoding of an h × w grid, [h·w, C]: sines then cosines of random Fourier features. */
export function densePositions(w: Weights, height: number, width: number): Tensor {
  return fourierPositions(w.get(`${PROMPT}.pe_layer.positional_encoding_gaussian_matrix`), height, width);
}

/**
 * [sin z | cos z] with z = 2π (2p − 1)·G for cell centres p = (x, y) in 0..1.
 * @param matrix G [2, C/2], x first
 * @returns [h·w, C]
 */
export function fourierPositions(matrix: Tensor, height: number, width: number): Tensor {
  if (customKernels() && suits(matrix)) return fourierRows(matrix, height, width);
  return fourierPositionsByOps(matrix, height, width);
}

/** `fourierPositions` in stock operations. */
export function fourierPositionsByOps(matrix: Tensor, height: number, width: number): Tensor {
  return tf.tidy(() => {
    const centres = new Float32Array(height * width * 2);
    for (let y = 0, at = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        centres[at++] = (2 * (x + 0.5)) / width - 1;
        centres[at++] = (2 * (y + 0.5)) / height - 1;
      }
    }
    return positionCodes(tf.tensor2d(centres, [height * width, 2]), matrix);
  });
}

/** [sin z | cos z] with z = 2π p·G for points p [N, 2] in −1..1, [N, C]. */
function positionCodes(places: Tensor, matrix: Tensor): Tensor {
  return tf.tidy(() => {
    const turns = tf.matMul(places as tf.Tensor2D, matrix as tf.Tensor2D);
    return tf.concat([sinTurns(turns), sinTurns(turns.add(0.25))], 1);
  });
}

/** sin(2π·turns) to single precision by reduction to a quarter turn: WGSL guarantees only 2⁻¹¹ for its own sine. */
function sinTurns(turns: Tensor): Tensor {
  return tf.tidy(() => {
    const phase = turns.sub(turns.add(0.5).floor());
    const folded = tf.scalar(0.25).sub(phase.abs().sub(0.25).abs());
    const angle = folded.mul(2 * Math.PI);
    const square = angle.square();
    const [highest, ...lower] = SINE_SERIES;
    let series: Tensor = tf.scalar(highest);
    for (const factor of lower) series = series.mul(square).add(factor);
    return series.mul(angle).mul(phase.sign());
  });
}
