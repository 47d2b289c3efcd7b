/**
 * Sums the gradients of a step's loops, each clipped by its own norm or unchanged, and compares them. One clip of the sum
 * would let a large gradient of one loop outweigh the other.
 */
import type { LabConfig } from "../../config/table.ts";
import type { LoopId } from "../../runs/records.ts";
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
  /** Scalar product of two loops' gradients before any clip; 0 with another number of loops. */
  readonly dot: number;
}

/** Sums the loops' gradients into the first. A norm that is not finite scales nothing, so the sum shows it as well. */
export async function joinLoops(
  gradients: ReadonlyMap<LoopId, GradientSum>,
  { clipScope, maxGradNorm }: Pick<LabConfig, "clipScope" | "maxGradNorm">,
): Promise<StepGradients> {
  const [first, ...others] = [...gradients];
  if (first === undefined) throw new RangeError("A step without a loop");
  if (others.length === 0) return { sum: first[1], loops: [], dot: 0 };
  const loops: LoopNorm[] = [];
  for (const [loop, own] of gradients) {
    const { norm } = await inspectGradients(own, () => "all");
    const clips = clipScope === "loop" && maxGradNorm > 0 && Number.isFinite(norm);
    loops.push({ loop, norm, factor: clips ? clipFactor(norm, maxGradNorm) : 1 });
  }
  // Not from the norm of the sum: beside a loop of a large norm the other one's share is lost in rounding.
  const dot = others.length === 1 ? await first[1].dot((others[0] as [LoopId, GradientSum])[1]) : 0;
  for (const [at, [, own]] of others.entries()) {
    first[1].merge(own, at === 0 ? (loops[0] as LoopNorm).factor : 1, (loops[at + 1] as LoopNorm).factor);
    own.dispose();
  }
  return { sum: first[1], loops, dot };
}

/**
 * Metrics of the loops' gradients, and the norm of their sum before any clip.
 * @param norm of the sum as it is
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
  const [first, second] = loops;
  // The angle is one of two gradients; of more, the sum has the norm that it has after the loops' clips.
  if (first === undefined || second === undefined || loops.length > 2) return { norm, metrics: own };
  const largest = first.norm * second.norm;
  const cosine = largest > 0 ? Math.min(1, Math.max(-1, dot / largest)) : 0;
  const whole = Math.sqrt(Math.max(0, first.norm ** 2 + second.norm ** 2 + 2 * cosine * largest));
  // A sum that nothing scaled has its own norm.
  const untouched = first.factor === 1 && second.factor === 1;
  return { norm: untouched ? norm : whole, metrics: { ...own, grad_cosine: cosine } };
}
