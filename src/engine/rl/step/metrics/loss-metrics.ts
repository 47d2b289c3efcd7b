/**
 * Effects of the loss on each token, from the double-precision loss of arrays that are read back once per step
 * (docs/spec/grpo.md#4-ratio-and-clipping, docs/spec/grpo.md#11-metric-names,
 * docs/spec/grpo.md#19-what-a-dual-loop-trainer-must-log-per-loop).
 */
import { type HostLoss, hostLoss, type LossData } from "../../objective/loss.ts";
import type { LossSettings } from "../../objective/loss-types.ts";
import { type LossGroup, type LossReadback, learntAdvantages } from "../group.ts";

/** A group in one pass with its loss in double precision. */
export interface MeasuredLoss {
  readonly group: LossGroup;
  readonly readback: LossReadback;
  readonly settings: LossSettings;
  readonly data: LossData;
  readonly loss: HostLoss;
}

/** @param readback results of the pass */
export function measuredLoss(group: LossGroup, readback: LossReadback, settings: LossSettings): MeasuredLoss {
  const { rollouts, actions, mask, oldLogps, refLogps } = group;
  const { logps, entropies } = readback;
  const advantages = learntAdvantages(group);
  const data = { rows: rollouts.length, tokens: actions, logps, oldLogps, refLogps, entropies, mask, advantages };
  return { group, readback, settings, data, loss: hostLoss(data, settings) };
}

/** Row-major [N * T] flags; masked positions hold 0. */
interface ClipFlags {
  /** The clip removed the gradient: ratio below the range and A < 0. */
  readonly low: Uint8Array;
  /** Ratio above the range and A > 0. */
  readonly high: Uint8Array;
  /** delta (or the dual clip) removed the gradient and the upper clip bound did not. */
  readonly delta: Uint8Array;
}

/** Where the clip of the ratio removed the gradient; for other objectives, where it would have. */
export function clipFlags(
  { ratio }: Pick<HostLoss, "ratio">,
  { tokens, mask, advantages }: Pick<LossData, "tokens" | "mask" | "advantages">,
  { epsLow, epsHigh, delta }: LossSettings,
): ClipFlags {
  const flags = {
    low: new Uint8Array(ratio.length),
    high: new Uint8Array(ratio.length),
    delta: new Uint8Array(ratio.length),
  };
  for (const [i, w] of ratio.entries()) {
    if (!(at(mask, i) > 0.5)) continue;
    const advantage = at(advantages, Math.floor(i / tokens));
    const capped = delta === null ? w : Math.min(w, delta);
    const high = advantage > 0 && capped > 1 + epsHigh;
    // With A < 0 the min takes the clipped ratio, which keeps its gradient up to 1 + ε.
    const held = advantage > 0 ? !high : advantage < 0 && w > 1 + epsHigh;
    flags.low[i] = Number(advantage < 0 && w < 1 - epsLow);
    flags.high[i] = Number(high);
    flags.delta[i] = Number(capped < w && held);
  }
  return flags;
}

/**
 * Means over active tokens under TRL's names; `low_min` and `high_max` are over per-row means and absent when no row
 * has one. For row-level ratios, a clip share is a share of all rows, and a fully masked row is not clipped.
 */
export function lossMetrics(
  data: LossData,
  settings: LossSettings,
  loss = hostLoss(data, settings),
): Record<string, number> {
  const rows = Array.from({ length: data.rows }, (_, n) => activeOf(data, n));
  const active = rows.flat();
  const metrics: Record<string, number> = {};
  if (data.refLogps !== null) {
    metrics.kl = meanAt(loss.kl, active);
    metrics["kl/clamped"] = meanAt(loss.klClamped, active);
  }
  if (data.entropies !== null) metrics.entropy = meanAt(data.entropies, active);
  metrics["ratio/mean"] = active.length === 0 ? 1 : meanAt(loss.ratio, active);
  metrics["ratio/min"] = active.reduce(
    (least, i) => Math.min(least, at(loss.ratio, i)),
    active.length === 0 ? 1 : Infinity,
  );
  metrics["ratio/max"] = active.reduce((most, i) => Math.max(most, at(loss.ratio, i)), active.length === 0 ? 1 : 0);
  if (settings.objective === "clip")
    Object.assign(metrics, clipMetrics(rows, clipFlags(loss, data, settings), settings));
  if (settings.objective === "cispo") {
    const capped = loss.ratio.map((ratio, i) => {
      const good = at(data.advantages, Math.floor(i / data.tokens)) > 0;
      return Number(good && ratio > settings.weightMax);
    });
    metrics.cispo_clip_ratio = clipShare(capped, rows, settings);
  }
  if (settings.objective === "vespo" && loss.weight !== null)
    metrics["vespo/phi_seq_mean"] = loss.weight.reduce((sum, phi) => sum + phi, 0) / Math.max(1, data.rows);
  return metrics;
}

function clipMetrics(
  rows: readonly (readonly number[])[],
  flags: ClipFlags,
  settings: LossSettings,
): Record<string, number> {
  const share = (which: ArrayLike<number>): number => clipShare(which, rows, settings);
  const counted = byToken(settings) ? rows.filter((row) => row.length > 0) : rows;
  const means = (which: ArrayLike<number>): number[] => counted.map((row) => meanAt(which, row));
  const low = means(flags.low);
  const high = means(flags.high);
  const metrics: Record<string, number> = {
    "clip_ratio/low_mean": share(flags.low),
    "clip_ratio/high_mean": share(flags.high),
    "clip_ratio/region_mean": share(flags.low) + share(flags.high),
  };
  if (settings.delta !== null) metrics["clip_ratio/delta_mean"] = share(flags.delta);
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

/** Flat indices of the active tokens of row n. */
function activeOf(data: LossData, n: number): number[] {
  return Array.from({ length: data.tokens }, (_, t) => n * data.tokens + t).filter((i) => at(data.mask, i) > 0.5);
}

function meanAt(values: ArrayLike<number>, indices: readonly number[]): number {
  return indices.reduce((sum, i) => sum + at(values, i), 0) / Math.max(1, indices.length);
}

function at(values: ArrayLike<number>, i: number): number {
  return values[i] as number;
}
