/**
 * Sums the gradients of a step's loops, each clipped by its own norm or unchanged, and compares them. One clip of the sum
 * would let a large gradient of one loop outweigh the other.
 */
import type { LabConfig } from "../../config/table.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";
import { clipFactor } from "./clip.ts";
import type { GradientSum } from "./gradient-sum.ts";
import { inspectGradients } from "./monitor.ts";

export interface LoopNorm {
  readonly loop: LoopId;
  /** Before any clip. */
  readonly norm: number;
  /** Scale of the loop's gradient. */
  readonly factor: number;
}

export interface StepGradients {
  readonly sum: GradientSum;
  /** The loops in the sum; empty for a single unchanged gradient. */
  readonly loops: readonly LoopNorm[];
  /** Sum over the pairs of loops of the scalar product of their gradients, before any clip; 0 for a single gradient. */
  readonly dot: number;
}

/**
 * Sums the loops' gradients into the first. A loop with a non-finite norm is not scaled, so that the sum is not finite
 * either.
 */
export async function joinLoops(
  gradients: ReadonlyMap<LoopId, GradientSum>,
  { clipScope, maxGradNorm }: Pick<LabConfig, "clipScope" | "maxGradNorm">,
): Promise<StepGradients> {
  const [first, ...others] = [...gradients];
  if (first === undefined) throw new RangeError("A step has no loop");
  if (others.length === 0) return { sum: first[1], loops: [], dot: 0 };
  const loops: LoopNorm[] = [];
  for (const [loop, own] of gradients) {
    const { norm } = await inspectGradients(own, () => "all");
    const clips = clipScope === "loop" && maxGradNorm > 0 && Number.isFinite(norm);
    loops.push({ loop, norm, factor: clips ? clipFactor(norm, maxGradNorm) : 1 });
  }
  // Not computed from the norm of the sum: if one loop's norm is large, the other's share is lost in rounding.
  const sums = [...gradients.values()];
  let dot = 0;
  for (const [at, one] of sums.entries()) for (const other of sums.slice(at + 1)) dot += await one.dot(other);
  for (const [at, [, own]] of others.entries()) {
    first[1].merge(own, at === 0 ? (loops[0] as LoopNorm).factor : 1, (loops[at + 1] as LoopNorm).factor);
    own.dispose();
  }
  return { sum: first[1], loops, dot };
}

/**
 * Metrics of the loops' gradients, and the norm of their sum before any clip.
 * @param norm norm of the sum after the loops' clips
 */
export function gradientMetrics(
  { loops, dot }: Pick<StepGradients, "loops" | "dot">,
  norm: number,
): { readonly norm: number; readonly metrics: Readonly<Record<string, number>> } {
  const own = Object.fromEntries(
    loops.flatMap(({ loop, norm: before, factor }): [string, number][] => [
      [`loop${loop}/grad_norm`, before],
      [`loop${loop}/clip_factor`, factor],
    ]),
  );
  // If nothing was scaled, the norm of the sum is unchanged.
  const untouched = loops.every(({ factor }) => factor === 1);
  const squares = loops.reduce((sum, { norm: before }) => sum + before ** 2, 0);
  // Upper bound of the product, so that rounding cannot give a cosine above 1.
  const most = loops.reduce(
    (sum, one, at) => loops.slice(at + 1).reduce((all, { norm: n }) => all + one.norm * n, sum),
    0,
  );
  const cosine = most > 0 ? Math.min(1, Math.max(-1, dot / most)) : 0;
  const whole = Math.sqrt(Math.max(0, squares + 2 * cosine * most));
  // The cosine is defined for two gradients only.
  return { norm: untouched ? norm : whole, metrics: loops.length === 2 ? { ...own, grad_cosine: cosine } : own };
}
