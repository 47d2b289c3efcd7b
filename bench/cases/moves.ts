/**
 * Operations that only move numbers. jax-js is not measured: it keeps such results as views and moves nothing until
 * they are used.
 */
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { Case } from "./case.ts";

export function moves(): Case[] {
  return [
    {
      name: "transpose of heads, 24 x 64 x 4 x 16",
      inputs: [[24, 64, 4, 16]],
      run: (x) => tf.transpose(x as Tensor, [0, 2, 1, 3]),
    },
    {
      name: "transpose into windows, 8 x 8 x 8 x 8 x 32",
      inputs: [[8, 8, 8, 8, 32]],
      run: (x) => tf.transpose(x as Tensor, [0, 2, 1, 3, 4]),
    },
    {
      name: "slice, 3 of 4 masks of 64 x 64 for 24 rows",
      inputs: [[24, 4, 64, 64]],
      run: (x) => tf.slice(x as Tensor, [0, 1, 0, 0], [24, 3, 64, 64]),
    },
    {
      name: "concatenation, 90 and 12 places of 24 x 4 x 16",
      inputs: [
        [24, 4, 90, 16],
        [24, 4, 12, 16],
      ],
      run: (...[past, fresh]) => tf.concat([past as Tensor, fresh as Tensor], 2),
    },
  ];
}
