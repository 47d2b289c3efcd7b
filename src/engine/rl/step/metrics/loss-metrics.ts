/**
 * Effects of the loss on each token, recomputed in double precision from arrays that are read back once per step
 * (docs/spec/grpo.md#4-ratio-and-clipping, docs/spec/grpo.md#11-metric-names,
 * docs/spec/grpo.md#19-what-a-dual-loop-trainer-must-log-per-loop).
 */
import { klOf, vespoWeightOf } from "../../objective/host-terms.ts";
import type { LossSettings } from "../../objective/loss-types.ts";
import { type Group, learntAdvantages } from "../group.ts";
import type { LossReadback } from "../loss-inputs.ts";

/** Row-major [N * T] arrays of one batch. */
export interface LossArrays {
  readonly rows: number;
  readonly tokens: number;
  readonly logps: ArrayLike<number>;
  /** null = same as logps. */
  readonly oldLogps: ArrayLike<number> | null;
  readonly refLogps: ArrayLike<number> | null;
  readonly entropies: ArrayLike<number> | null;
  readonly mask: ArrayLike<number>;
  /** [N] */
  readonly advantages: ArrayLike<number>;
}

/** A group and the results of one pass over it. */
export function lossArrays(group: Group, { logps, entropies }: LossReadback): LossArrays {
  const { rollouts, actions, mask, oldLogps = null, refLogps = null } = group;
  const advantages = learntAdvantages(group);
  return { rows: rollouts.length, tokens: actions, logps, oldLogps, refLogps, entropies, mask, advantages };
}

/** Row-major [N * T] per-token facts; masked positions hold ratio 1, KL 0 and false. */
export interface TokenDiagnostics {
  readonly ratio: Float64Array;
  readonly kl: Float64Array;
  /** The clip removed the gradient: ratio below the range and A < 0. */
  readonly clippedLow: Uint8Array;
  /** Ratio above the range and A > 0. */
  readonly clippedHigh: Uint8Array;
  /** delta (or the dual clip) removed the gradient and the upper clip bound did not. */
  readonly clippedDelta: Uint8Array;
  readonly klClamped: Uint8Array;
}

/** Ratio, KL and clip flags of every token. Sequence-level values are repeated along the row. */
export function tokenDiagnostics(arrays: LossArrays, settings: LossSettings): TokenDiagnostics {
  const { rows, tokens } = arrays;
  const size = rows * tokens;
  const flags = (): Uint8Array => new Uint8Array(size);
  const result = {
    ratio: new Float64Array(size).fill(1),
    kl: new Float64Array(size),
    clippedLow: flags(),
    clippedHigh: flags(),
    clippedDelta: flags(),
    klClamped: flags(),
  };
  const bound = settings.logRatioBound ?? Number.POSITIVE_INFINITY;
  for (let n = 0; n < rows; n++) {
    const active = activeOf(arrays, n);
    const logRatios = active.map((i) => at(arrays.logps, i) - at(arrays.oldLogps ?? arrays.logps, i));
    const toReference = active.map((i) =>
      arrays.refLogps === null ? 0 : at(arrays.logps, i) - at(arrays.refLogps, i),
    );
    const advantage = at(arrays.advantages, n);
    const [ratioOf, klRatioOf] = [levelled(logRatios, settings.level), levelled(toReference, settings.klLevel)];
    active.forEach((i, k) => {
      const raw = ratioOf(k);
      const ratio = Math.exp(Math.min(bound, Math.max(-bound, raw)));
      result.ratio[i] = ratio;
      result.clippedLow[i] = Number(advantage < 0 && ratio < 1 - settings.epsLow);
      const capped = settings.delta === null ? ratio : Math.min(ratio, settings.delta);
      const high = advantage > 0 && capped > 1 + settings.epsHigh;
      result.clippedHigh[i] = Number(high);
      // With A < 0 the min takes the clipped ratio, which keeps its gradient up to 1 + ε.
      const held = advantage > 0 ? !high : advantage < 0 && ratio > 1 + settings.epsHigh;
      result.clippedDelta[i] = Number(capped < ratio && held);
      if (arrays.refLogps === null) return;
      const kl = klOf(klRatioOf(k), settings.klEstimator, settings.klClamp);
      result.kl[i] = settings.biasCorrectedKl ? kl.value * ratio : kl.value;
      result.klClamped[i] = Number(kl.clamped);
    });
  }
  return result;
}

/**
 * Means over active tokens under TRL's names; `low_min` and `high_max` are over per-row means and absent when no row
 * has one. For row-level ratios, a clip share is a share of all rows, and a fully masked row is not clipped.
 */
export function lossMetrics(arrays: LossArrays, settings: LossSettings): Record<string, number> {
  const tokens = tokenDiagnostics(arrays, settings);
  const rows = Array.from({ length: arrays.rows }, (_, n) => activeOf(arrays, n));
  const active = rows.flat();
  const metrics: Record<string, number> = {};
  if (arrays.refLogps !== null) {
    metrics.kl = meanAt(tokens.kl, active);
    metrics["kl/clamped"] = meanAt(tokens.klClamped, active);
  }
  if (arrays.entropies !== null) metrics.entropy = meanAt(arrays.entropies, active);
  metrics["ratio/mean"] = active.length === 0 ? 1 : meanAt(tokens.ratio, active);
  metrics["ratio/min"] = active.reduce(
    (least, i) => Math.min(least, at(tokens.ratio, i)),
    active.length === 0 ? 1 : Infinity,
  );
  metrics["ratio/max"] = active.reduce((most, i) => Math.max(most, at(tokens.ratio, i)), active.length === 0 ? 1 : 0);
  if (settings.objective === "clip") Object.assign(metrics, clipMetrics(rows, tokens, settings));
  if (settings.objective === "cispo") {
    const capped = tokens.ratio.map((ratio, i) => {
      const good = at(arrays.advantages, Math.floor(i / arrays.tokens)) > 0;
      return Number(good && ratio > settings.weightMax);
    });
    metrics.cispo_clip_ratio = clipShare(capped, rows, settings);
  }
  if (settings.objective === "vespo") metrics["vespo/phi_seq_mean"] = vespoMean(arrays, rows, settings);
  return metrics;
}

function clipMetrics(
  rows: readonly (readonly number[])[],
  tokens: TokenDiagnostics,
  settings: LossSettings,
): Record<string, number> {
  const share = (flags: ArrayLike<number>): number => clipShare(flags, rows, settings);
  const counted = byToken(settings) ? rows.filter((row) => row.length > 0) : rows;
  const means = (flags: ArrayLike<number>): number[] => counted.map((row) => meanAt(flags, row));
  const low = means(tokens.clippedLow);
  const high = means(tokens.clippedHigh);
  const metrics: Record<string, number> = {
    "clip_ratio/low_mean": share(tokens.clippedLow),
    "clip_ratio/high_mean": share(tokens.clippedHigh),
    "clip_ratio/region_mean": share(tokens.clippedLow) + share(tokens.clippedHigh),
  };
  if (settings.delta !== null) metrics["clip_ratio/delta_mean"] = share(tokens.clippedDelta);
  if (low.length > 0) metrics["clip_ratio/low_min"] = Math.min(...low);
  if (high.length > 0) metrics["clip_ratio/high_max"] = Math.max(...high);
  return metrics;
}

/** Share of active tokens, or of rows if the ratio belongs to the row. */
function clipShare(flags: ArrayLike<number>, rows: readonly (readonly number[])[], settings: LossSettings): number {
  if (byToken(settings)) return meanAt(flags, rows.flat());
  return rows.reduce((sum, row) => sum + meanAt(flags, row), 0) / Math.max(1, rows.length);
}

function byToken({ level }: LossSettings): boolean {
  return level === "token" || level === "gspo_token";
}

function vespoMean(arrays: LossArrays, rows: readonly (readonly number[])[], settings: LossSettings): number {
  const weights = rows.map((row, n) => {
    const logRatios = row.map((i) => at(arrays.logps, i) - at(arrays.oldLogps ?? arrays.logps, i));
    return vespoWeightOf(logRatios, at(arrays.advantages, n), settings);
  });
  return weights.reduce((a, b) => a + b, 0) / Math.max(1, weights.length);
}

/**
 * Value of token `k` of a row at token level, or of the whole row. The row's value is computed once, because a mask of
 * pixels has many actions.
 */
export function levelled(values: readonly number[], level: string): (k: number) => number {
  if (level === "token") return (k) => values[k] as number;
  const sum = values.reduce((a, b) => a + b, 0);
  const row = level === "sequence_sum" ? sum : sum / Math.max(1, values.length);
  return () => row;
}

/** Flat indices of the active tokens of row n. */
export function activeOf(arrays: LossArrays, n: number): number[] {
  return Array.from({ length: arrays.tokens }, (_, t) => n * arrays.tokens + t).filter((i) => at(arrays.mask, i) > 0.5);
}

function meanAt(values: ArrayLike<number>, indices: readonly number[]): number {
  return indices.reduce((sum, i) => sum + at(values, i), 0) / Math.max(1, indices.length);
}

function at(values: ArrayLike<number>, i: number): number {
  return values[i] as number;
}
