import { tf } from "../../src/engine/gpu/tf.ts";
import type { ParameterSet } from "../../src/engine/model/weights/weights.ts";
import { inspectGradients } from "../../src/engine/rl/optim/monitor.ts";
import { mapSet, moveAverage } from "../../src/engine/rl/optim/optimiser.ts";

/** Whole sets of tensors as the recorded numbers treat them; the trainer works in arenas. */

/** `l2`, or `max` for the largest absolute element. */
type NormKind = "l2" | "max";

/** Norm over all tensors. Check it before the step: it is NaN or Infinity if a gradient is. */
export async function globalNorm(grads: ParameterSet, kind: NormKind = "l2"): Promise<number> {
  const report = await inspectGradients(grads, () => "all");
  if (kind === "l2") return report.norm;
  return report.nonFinite > 0 && Number.isFinite(report.maxAbs) ? Number.NaN : report.maxAbs;
}

/** A new set, every tensor times `factor`; the caller keeps the given set. */
export function scaleGradients(grads: ParameterSet, factor: number): ParameterSet {
  // The factor is a tensor, because a NaN or zero in shader source may be optimised away.
  const scalar = tf.scalar(factor);
  const scaled = mapSet(grads, (grad) => grad.mul(scalar));
  scalar.dispose();
  return scaled;
}

/**
 * ema + (1 - decay)·(params - ema), after every optimiser step. In this form float32 still moves at decay 0.999.
 * Returns a new set owned by the caller; the caller also keeps both given sets.
 */
export function updateEma(ema: ParameterSet, params: ParameterSet, decay: number): ParameterSet {
  const { next, distance } = moveAverage(ema, params, decay);
  distance?.dispose();
  return next;
}
