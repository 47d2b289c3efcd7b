/**
 * Clipping of the accumulated gradient over all trainable tensors together
 * (docs/spec/grpo.md#17-optimiser-schedule-accumulation-clipping).
 */
import { tf } from "../../gpu/tf.ts";
import type { ParameterSet } from "../../model/weights/weights.ts";
import { inspectGradients } from "./monitor.ts";
import { mapSet } from "./parameter-sets.ts";

/** `l2`, or `max` for the largest absolute element. */
export type NormKind = "l2" | "max";

/** Norm over all tensors. Check it before the step: it is NaN or Infinity if a gradient is. */
export async function globalNorm(grads: ParameterSet, kind: NormKind = "l2"): Promise<number> {
  const report = await inspectGradients(grads, () => "all");
  if (kind === "l2") return report.norm;
  return report.nonFinite > 0 && Number.isFinite(report.maxAbs) ? Number.NaN : report.maxAbs;
}

/** min(1, maxNorm / (norm + 1e-6)): a norm exactly at the limit is scaled by 0.999999. NaN stays NaN. */
export function clipFactor(norm: number, maxNorm: number): number {
  return Math.min(1, maxNorm / (norm + 1e-6));
}

/** A new set, every tensor times `factor`; the caller keeps the given set. */
export function scaleGradients(grads: ParameterSet, factor: number): ParameterSet {
  // The factor is a tensor, because a NaN or zero in shader source may be optimised away.
  const scalar = tf.scalar(factor);
  const scaled = mapSet(grads, (grad) => grad.mul(scalar));
  scalar.dispose();
  return scaled;
}
