/** Norm and non-finite counts of many tensors in one small array, for one read-back. Not differentiable. */

import { FlatLayout, gather } from "../flat/layout.ts";
import { summaryPass } from "../flat/passes.ts";
import { customKernels, suits } from "../runtime/custom-op.ts";
import { type Tensor, tf } from "../tf.ts";

/**
 * Σ x², max |x| and the count of NaN and infinite elements of every tensor, or of its difference from a partner.
 * @param tensors float32, of any shapes
 * @param partners subtracted element by element
 * @returns [tensors, 3], owned by the caller or its tidy
 */
export function summarise(tensors: readonly Tensor[], partners?: readonly Tensor[]): Tensor {
  if (!customKernels() || !suits(...tensors, ...(partners ?? [])) || tensors.length === 0) {
    return tf.tidy(() => {
      const rows = tensors.flatMap((tensor, i) => {
        const x = partners === undefined ? tensor : tensor.sub(partners[i] as Tensor);
        return [x.square().sum(), x.abs().max(), tf.isFinite(x).logicalNot().toFloat().sum()];
      });
      return tf.stack(rows).reshape([tensors.length, 3]);
    });
  }
  const named = (list: readonly Tensor[]): Record<string, Tensor> =>
    Object.fromEntries(list.map((tensor, i) => [String(i), tensor]));
  const layout = FlatLayout.of(named(tensors));
  const flats = gather(layout, named(tensors));
  const others = partners === undefined ? undefined : gather(layout, named(partners));
  const summary = summaryPass(layout, flats, others);
  tf.dispose([...flats, ...(others ?? [])]);
  layout.dispose();
  return summary;
}
