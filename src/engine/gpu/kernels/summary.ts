/** Norm and health of many tensors in one small array, so that one read-back tells all. Not differentiated. */
import { ownKernels } from "../own-kernels.ts";
import { suits, toTensor } from "../own-op.ts";
import { release, unwritten } from "../program.ts";
import { type RowProgram, runRows } from "../rows-program.ts";
import { type Tensor, tf } from "../tf.ts";

/** Elements one row of the first round takes. */
const CHUNK = 1024;

const COUNT = `
  fn broken(value: f32) -> f32 { return select(0.0, 1.0, (bitcast<u32>(value) & 0x7f800000u) == 0x7f800000u); }`;

/** The numbers of `rows` chunks of x (− y), written from row `slot` on. */
const CHUNKS: RowProgram = {
  name: "lab-summary-chunks",
  inputs: { x: "f32", y: "f32" },
  outputs: { result: "f32" },
  uniforms: { rows: "u32", width: "u32", size: "u32", slot: "u32", minus: "u32" },
  header: COUNT,
  body: `
    var square = 0.0;
    var top = 0.0;
    var bad = 0.0;
    let end = min((row + 1u) * u.width, u.size);
    for (var i = row * u.width + first; i < end; i += step) {
      var value = x[i];
      if (u.minus != 0u) { value -= y[i]; }
      square += value * value;
      top = max(top, abs(value));
      bad += broken(value);
    }
    square = sum(square, lane);
    top = largest(top, lane);
    bad = sum(bad, lane);
    if (first == 0u) {
      let at = 3u * (u.slot + row);
      result[at] = square;
      result[at + 1u] = top;
      result[at + 2u] = bad;
    }`,
};

/** Folds the `width` chunks of one tensor into row `slot`. */
const FOLD: RowProgram = {
  name: "lab-summary-fold",
  inputs: { chunks: "f32" },
  outputs: { result: "f32" },
  uniforms: { rows: "u32", width: "u32", slot: "u32" },
  body: `
    var square = 0.0;
    var top = 0.0;
    var bad = 0.0;
    for (var i = first; i < u.width; i += step) {
      square += chunks[3u * i];
      top = max(top, chunks[3u * i + 1u]);
      bad += chunks[3u * i + 2u];
    }
    square = sum(square, lane);
    top = largest(top, lane);
    bad = sum(bad, lane);
    if (first == 0u) {
      result[3u * u.slot] = square;
      result[3u * u.slot + 1u] = top;
      result[3u * u.slot + 2u] = bad;
    }`,
};

/**
 * Σ x², max |x| and the count of NaN and infinite elements of every tensor, or of its difference to a partner.
 * @param tensors float32, of any shapes
 * @param partners subtracted element by element
 * @returns [tensors, 3], owned by the caller or its tidy
 */
export function summarise(tensors: readonly Tensor[], partners?: readonly Tensor[]): Tensor {
  if (!ownKernels() || !suits(...tensors, ...(partners ?? [])) || tensors.length === 0) {
    return tf.tidy(() => {
      const rows = tensors.flatMap((tensor, i) => {
        const x = partners === undefined ? tensor : tensor.sub(partners[i] as Tensor);
        return [x.square().sum(), x.abs().max(), tf.isFinite(x).logicalNot().toFloat().sum()];
      });
      return tf.stack(rows).reshape([tensors.length, 3]);
    });
  }
  const result = toTensor(unwritten([tensors.length, 3]));
  tensors.forEach((tensor, slot) => {
    const partner = partners?.[slot];
    const inputs = [tensor, partner ?? tensor];
    const chunks = Math.ceil(tensor.size / CHUNK);
    const rest = (at: number): number[] => [tensor.size, at, partner === undefined ? 0 : 1];
    if (chunks === 1) {
      runRows(CHUNKS, inputs, [{ into: result }], 1, CHUNK, rest(slot));
      return;
    }
    const [parts] = runRows(CHUNKS, inputs, [{ shape: [chunks, 3] }], chunks, CHUNK, rest(0)) as [tf.TensorInfo];
    runRows(FOLD, [parts], [{ into: result }], 1, chunks, [slot]);
    release(parts);
  });
  return result;
}
