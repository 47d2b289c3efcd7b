/**
 * The t interval over runs (docs/spec/evaluation.md): with few seeds it predicts another run, which a bootstrap over
 * three numbers cannot.
 */
import { LabError } from "../../engine/errors.ts";
import type { Interval } from "../../engine/runs/evaluations/evaluations.ts";

/** 0.975 quantiles of Student's t for 1, 2, … degrees of freedom. */
const T_975 = [
  12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281, 2.201, 2.1788, 2.1604, 2.1448, 2.1314,
  2.1199, 2.1098, 2.1009, 2.093, 2.086,
];

/**
 * @param values one mean difference per run, at least two
 * @returns their mean with its 95 % interval; beyond 21 runs it uses the quantile of 21, which is slightly too wide
 */
export function runInterval(values: readonly number[]): Interval {
  const count = values.length;
  if (count < 2) throw new LabError("internal", `An interval needs at least two runs, not ${count}`);
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  const half = (T_975[Math.min(count - 1, T_975.length) - 1] as number) * Math.sqrt(variance / count);
  return { mean, low: mean - half, high: mean + half };
}
