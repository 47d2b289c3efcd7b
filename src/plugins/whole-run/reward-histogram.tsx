import { type ReactNode, useMemo } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { filterGroups, loopStyle, passes } from "../../app/components/rollout/rollout-view.ts";
import { fixed } from "../../app/styles/format.ts";
import { LOOPS, type LoopId, perLoop } from "../../engine/rl/loops/abouts.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";
import styles from "./reward-histogram.module.css";

const BINS = 12;

/** Rewards of the rollouts that pass a filter without its reward limits; a bar leads to its rollouts. */
export default function RewardHistogram(props: Places["rewards-of"]): ReactNode {
  const { title, groups, filter, onPick } = props;
  const bins = useMemo(() => {
    // A bar sets the reward limits of the filter; its other conditions stay.
    const rest = { ...filter, least: null, most: null };
    const passing = filterGroups(groups, rest).map((group) => ({
      ...group,
      rollouts: group.rollouts.filter((rollout) => passes(rollout, rest)),
    }));
    return rewardBins(passing, BINS);
  }, [groups, filter]);
  const count = (loop: LoopId): number => bins.reduce((sum, bin) => sum + bin.counts[loop], 0);
  const loops = LOOPS.filter((loop) => !("optional" in loop) || count(loop.id) > 0).map(({ id }) => id);
  const sumOf = (bin: RewardBin): number => loops.reduce((sum, id) => sum + bin.counts[id], 0);
  const most = Math.max(...bins.map(sumOf));
  if (bins.reduce((sum, bin) => sum + sumOf(bin), 0) < 2) return null;
  const decimals = edgeDecimals(bins);
  const edge = (value: number): string => fixed(value, decimals);
  return (
    <section className={`framed round-l surface ${styles.spread}`} aria-label={title} data-testid="reward-histogram">
      <header className="row wrap gap-2-4 between mb-3">
        <h2>{title}</h2>
        <ul className={`flex gap-4 m-0 muted small p-0 no-bullets ${styles.spreadLegend}`}>
          {loops.map((id) => (
            <li key={id} data-fill style={loopStyle(id)}>
              loop {id}
            </li>
          ))}
        </ul>
      </header>
      <ol className={`grid m-0 p-0 no-bullets ${styles.histogram}`}>
        {bins.map((bin) => {
          const { from, to, within } = bin;
          const told = loops.map((id) => `${bin.counts[id]} of loop ${id}`).join(", ");
          return (
            <li key={from}>
              <button
                type="button"
                className="flex full-width p-0 borderless clear pointer lit"
                disabled={within === null}
                title={`Reward from ${edge(from)} to ${edge(to)}: ${told}`}
                aria-label={`Rollouts with a reward from ${edge(from)} to ${edge(to)}: ${told}`}
                onClick={() => within !== null && onPick(...within)}
              >
                {loops.map((id) => (
                  <i
                    key={id}
                    data-fill
                    style={{ ...loopStyle(id), height: `${(100 * bin.counts[id]) / most}%` }}
                    data-loop={id}
                  />
                ))}
              </button>
              <small className="block clip muted tiny">{edge(from)}</small>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

interface RewardBin {
  readonly from: number;
  /** Upper edge, exclusive except in the last bin. */
  readonly to: number;
  /** Rewards of each loop. */
  readonly counts: Readonly<Record<LoopId, number>>;
  /** Lowest and highest reward in it, so that a filter finds exactly these; null for an empty bin. */
  readonly within: readonly [number, number] | null;
}

/**
 * Histogram of rewards with `bins` equal bins: over 0..1 if all rewards lie there, so that steps are comparable, else
 * over their range. Missing and non-finite rewards are not counted.
 */
export function rewardBins(groups: readonly GroupRecord[], bins: number): RewardBin[] {
  const rewards = groups.flatMap(({ loop, rollouts }) =>
    rollouts.flatMap(({ reward }) => (reward !== null && Number.isFinite(reward) ? [{ loop, reward }] : [])),
  );
  const { low, high } = rangeOf(rewards.map(({ reward }) => reward));
  const width = (high - low) / bins;
  const counts = perLoop(() => new Uint32Array(bins));
  const within: ([number, number] | null)[] = Array.from({ length: bins }, () => null);
  for (const { loop, reward } of rewards) {
    const at = Math.min(bins - 1, Math.max(0, Math.floor(((reward - low) / (high - low)) * bins)));
    const count = counts[loop];
    count[at] = (count[at] ?? 0) + 1;
    const [least, most] = within[at] ?? [reward, reward];
    within[at] = [Math.min(least, reward), Math.max(most, reward)];
  }
  return Array.from({ length: bins }, (_, at) => ({
    from: low + at * width,
    to: at === bins - 1 ? high : low + (at + 1) * width,
    counts: perLoop((loop) => counts[loop][at] ?? 0),
    within: within[at] ?? null,
  }));
}

function rangeOf(rewards: readonly number[]): { readonly low: number; readonly high: number } {
  const low = rewards.reduce((least, reward) => Math.min(least, reward), Infinity);
  const high = rewards.reduce((most, reward) => Math.max(most, reward), -Infinity);
  if (rewards.length === 0 || (low >= 0 && high <= 1)) return { low: 0, high: 1 };
  // Equal rewards still need bins of non-zero width.
  const least = Math.max(Math.abs(low), Math.abs(high)) * 1e-6;
  return high - low > least ? { low, high } : { low: low - 0.5, high: high + 0.5 };
}

/** Decimals that distinguish the edges of these bins, at least two unless the bins are wide. */
export function edgeDecimals(bins: readonly RewardBin[]): number {
  const width = (bins[0]?.to ?? 1) - (bins[0]?.from ?? 0);
  return Math.min(6, Math.max(width < 10 ? 2 : 0, Math.ceil(-Math.log10(width))));
}
