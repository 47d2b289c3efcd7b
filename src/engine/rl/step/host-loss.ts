/** The policy loss of one batch in double precision, from stored arrays: the same as `policyLoss`, without tensors. */
import { vespoWeightOf } from "../objective/host-terms.ts";
import type { LossSettings } from "../objective/loss-types.ts";
import { activeOf, type LossArrays, levelled, tokenDiagnostics } from "./metrics/loss-metrics.ts";

/** The loss is the sum of its parts minus the entropy bonus. */
export interface HostLoss {
  readonly loss: number;
  readonly policy: number;
  readonly klPenalty: number;
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** @param rowWeights [N] constant factors of the rows' terms, such as probabilities of enumerated actions */
export function hostLoss(
  arrays: LossArrays,
  settings: LossSettings,
  rowWeights: readonly number[] | null = null,
): HostLoss {
  const rows = Array.from({ length: arrays.rows }, (_, n) => activeOf(arrays, n));
  const tokens = tokenDiagnostics(arrays, settings);
  const factors = aggregationFactors(rows, arrays.tokens, settings);
  const uncertain = topEntropy(rows.flat(), arrays.entropies, settings.topEntropyQuantile);
  let [policy, klPenalty] = [0, 0];
  rows.forEach((active, n) => {
    const advantage = arrays.advantages[n] as number;
    const logRatios = active.map((i) => (arrays.logps[i] as number) - ((arrays.oldLogps ?? arrays.logps)[i] as number));
    const drift = -levelled(logRatios, "sequence")(0);
    const left =
      settings.offPolicyThreshold !== null && active.length > 0 && advantage < 0 && drift > settings.offPolicyThreshold;
    const phi = settings.objective === "vespo" ? vespoWeightOf(logRatios, advantage, settings) : 0;
    const factor = (factors[n] as number) * (rowWeights?.[n] ?? 1);
    for (const i of active) {
      const value = policyValue(tokens.ratio[i] as number, arrays.logps[i] as number, advantage, phi, settings);
      if (!left && uncertain(i)) policy += factor * value;
      klPenalty += factor * settings.beta * (tokens.kl[i] as number);
    }
  });
  return {
    loss: policy + klPenalty - bonus(rows.flat().filter(uncertain), arrays.entropies, settings),
    policy,
    klPenalty,
  };
}

function policyValue(w: number, logp: number, advantage: number, phi: number, settings: LossSettings): number {
  const held = (low: number, high: number): number => Math.min(high, Math.max(low, w));
  switch (settings.objective) {
    case "clip": {
      const open = Math.min(w, settings.delta ?? w) * advantage;
      return -Math.min(open, held(1 - settings.epsLow, 1 + settings.epsHigh) * advantage);
    }
    case "cispo":
      return -held(settings.weightMin, settings.weightMax) * advantage * logp;
    case "sapo": {
      const k = advantage > 0 ? settings.sapo.positive : settings.sapo.negative;
      return ((-4 / k) * advantage) / (1 + Math.exp(-k * (w - 1)));
    }
    case "vespo":
      return -phi * advantage * logp;
  }
}

/** [N] weight of a row's tokens in the loss (docs/spec/grpo.md#6-aggregation). */
function aggregationFactors(
  rows: readonly (readonly number[])[],
  padded: number,
  { aggregation, accumulation, maxCompletionLength, activeTokensTotal }: LossSettings,
): readonly number[] {
  const perStep = 1 / accumulation;
  const total = Math.max(1, sumOf(rows.map(({ length }) => length)));
  const active = Math.max(1, rows.filter(({ length }) => length > 0).length);
  const shared = { perStep, total, active, rows: rows.length, padded, maxCompletionLength, activeTokensTotal };
  return rows.map(({ length }) => factorOf(aggregation, Math.max(1, length), shared));
}

interface Counts {
  readonly perStep: number;
  /** Active tokens, at least 1. */
  readonly total: number;
  /** Rows with an active token, at least 1. */
  readonly active: number;
  readonly rows: number;
  readonly padded: number;
  readonly maxCompletionLength: number;
  readonly activeTokensTotal: number | null;
}

function factorOf(aggregation: LossSettings["aggregation"], length: number, counts: Counts): number {
  const { perStep, total, active, rows, padded, maxCompletionLength, activeTokensTotal } = counts;
  switch (aggregation) {
    case "row-mean":
      return perStep / rows / length;
    case "active-row-mean":
      return perStep / active / length;
    case "active-row-sum":
      return perStep / active;
    case "row-sum":
      return perStep / rows;
    case "micro-token-mean":
      return perStep / total;
    case "window-token-mean":
      return 1 / (activeTokensTotal === null ? total : Math.max(1, activeTokensTotal));
    case "constant-length":
      return perStep / (rows * maxCompletionLength);
    case "padded-length":
      return perStep / padded;
  }
}

/** Whether a token is among the share of the most uncertain tokens, as in `topEntropyMask`. */
function topEntropy(
  active: readonly number[],
  entropies: ArrayLike<number> | null,
  share: number,
): (token: number) => boolean {
  if (share >= 1 || entropies === null || active.length === 0) return () => true;
  const descending = active.map((i) => entropies[i] as number).sort((a, b) => b - a);
  const position = Math.max(0, active.length - 1) * share;
  const [low, rest] = [Math.floor(position), position % 1];
  const threshold = (1 - rest) * (descending[low] as number) + rest * (descending[low + 1] ?? 0);
  return (i) => (entropies[i] as number) >= threshold - Math.abs(threshold) * 1e-6;
}

/** Coefficient times the mean entropy of the kept tokens. */
function bonus(kept: readonly number[], entropies: ArrayLike<number> | null, settings: LossSettings): number {
  if (settings.entropyCoefficient === 0 || entropies === null) return 0;
  const mean = sumOf(kept.map((i) => entropies[i] as number)) / Math.max(1, kept.length);
  return (settings.entropyCoefficient / settings.accumulation) * mean;
}
