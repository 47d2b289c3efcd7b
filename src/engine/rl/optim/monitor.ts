/**
 * Statistics of a step's gradients in one read-back, and the resulting decision
 * (docs/spec/grpo.md#14-gradient-monitor-and-other-callbacks).
 */
import { summaryPass } from "../../gpu/flat/passes.ts";
import { summarise } from "../../gpu/kernels/summary.ts";
import type { ParameterSet } from "../../model/weights/weights.ts";
import { GradientSum } from "./gradient-sum.ts";
import { member } from "./optimiser.ts";

interface GradientReport {
  /** Norm over all tensors before clipping; NaN or Infinity if an element is not finite. */
  readonly norm: number;
  /** Largest absolute element. */
  readonly maxAbs: number;
  /** Norm per block of the model. */
  readonly blocks: Readonly<Record<string, number>>;
  /** NaN and infinite elements. */
  readonly nonFinite: number;
  /** Names of tensors with NaN or infinite elements. */
  readonly nonFiniteTensors: readonly string[];
}

interface MonitorSettings {
  /** Stop the run at a non-finite gradient; otherwise the step is skipped. */
  readonly haltOnNonFinite: boolean;
}

/** `skip`: no optimiser step, no schedule step, no moving average; `halt`: keep everything for inspection. */
type GradientVerdict = "step" | "skip" | "halt";

/**
 * Norms and counts of a gradient set; reads one small array back.
 * @param blockOf name of the block a tensor belongs to, e.g. "projector" or "lora.layer.3"
 */
export async function inspectGradients(
  grads: ParameterSet | GradientSum,
  blockOf: (name: string) => string,
): Promise<GradientReport> {
  const rows = await summaryRows(grads);
  if (rows.length === 0) return { norm: 0, maxAbs: 0, blocks: {}, nonFinite: 0, nonFiniteTensors: [] };
  const squares: Record<string, number> = {};
  const nonFiniteTensors: string[] = [];
  let [total, maxAbs, nonFinite] = [0, 0, 0];
  for (const { name, square, largest, bad } of rows) {
    const block = blockOf(name);
    // A shader may lose a NaN in a sum; the count checks the bits.
    const safe = bad > 0 && Number.isFinite(square) ? Number.NaN : square;
    squares[block] = (squares[block] ?? 0) + safe;
    total += safe;
    maxAbs = Math.max(maxAbs, largest);
    nonFinite += bad;
    if (bad > 0) nonFiniteTensors.push(name);
  }
  const blocks = Object.fromEntries(Object.entries(squares).map(([block, square]) => [block, Math.sqrt(square)]));
  return { norm: Math.sqrt(total), maxAbs, blocks, nonFinite, nonFiniteTensors };
}

interface SummaryRow {
  readonly name: string;
  readonly square: number;
  readonly largest: number;
  readonly bad: number;
}

/** Σ g², max |g| and number of non-finite elements of every tensor with a gradient. */
async function summaryRows(grads: ParameterSet | GradientSum): Promise<SummaryRow[]> {
  const sum = grads instanceof GradientSum ? grads : undefined;
  const set = sum === undefined ? (grads as ParameterSet) : {};
  const names = sum?.names ?? Object.keys(set);
  if (names.length === 0) return [];
  const flats = sum?.flats;
  const summary =
    sum === undefined || flats === undefined
      ? summarise(names.map((name) => member(set, name)))
      : summaryPass(sum.layout, flats);
  const numbers = await summary.data();
  summary.dispose();
  return names.map((name, k) => {
    const row = flats === undefined ? k : (sum?.layout.segment(name)?.index ?? k);
    const [square, largest, bad] = numbers.slice(3 * row, 3 * row + 3) as unknown as [number, number, number];
    return { name, square, largest, bad };
  });
}

/** A non-finite gradient is never applied. */
export function judgeGradients(report: GradientReport, settings: MonitorSettings): GradientVerdict {
  if (report.nonFinite === 0 && Number.isFinite(report.norm)) return "step";
  return settings.haltOnNonFinite ? "halt" : "skip";
}
