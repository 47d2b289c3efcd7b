/**
 * The reward of a group compared with the expected reward of the run's starting weights on the same row, without
 * sampling from them: rollouts are weighted by how much more likely they are under the start. Differences in difficulty
 * between rows then do not hide what was learnt.
 */
import type { Group } from "../group.ts";

export interface OverStart {
  /** Mean reward minus Σ w·R / Σ w with w = π_start / π; 0 at the start. */
  readonly gain: number;
  /** (Σ w)² / (N · Σ w²), 0..1: effective share of the rollouts in the estimate. */
  readonly share: number;
}

/**
 * Dividing by Σ w keeps the estimate within the range of the observed rewards, so it understates a gain while the share
 * is small. Exact for a whole action set.
 * @returns null if the start's log-probabilities are not known or no rollout has a reward
 */
export function overStart({ rollouts, weights, actions, labels, samplingLogps, startLogps }: Group): OverStart | null {
  if (startLogps === undefined || startLogps === null) return null;
  const rows = rollouts.flatMap(({ reward }, n) => {
    if (reward === null) return [];
    let log = 0;
    // Over all actions: those that the loss masks were sampled too.
    for (let at = n * actions; at < n * actions + (labels[n]?.length ?? 0); at++) {
      log += (startLogps[at] as number) - (samplingLogps[at] as number);
    }
    return [{ reward, log, p: weights?.[n] ?? 1 }];
  });
  const most = Math.max(...rows.map(({ log }) => log));
  let [total, sum, earned, weighted, squares] = [0, 0, 0, 0, 0];
  for (const { reward, log, p } of rows) {
    const w = p * Math.exp(log - most);
    total += p;
    sum += w;
    squares += (w * w) / (p || 1);
    earned += p * reward;
    weighted += w * reward;
  }
  if (!(total > 0 && sum > 0)) return null;
  return { gain: earned / total - weighted / sum, share: (sum * sum) / (total * squares) };
}
