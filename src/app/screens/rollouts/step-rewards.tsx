import { type ReactNode, useMemo } from "react";
import { LOOPS, type LoopId } from "../../../engine/rl/loops/abouts.ts";
import type { GroupRecord } from "../../../engine/runs/rollouts/records.ts";
import { loopStyle } from "../../components/rollout/loop-colour.ts";
import { filterGroups, passes, type RolloutFilter } from "../../components/rollout/rollout-view.ts";
import { fixed } from "../../styles/format.ts";
import { edgeDecimals, type RewardBin, rewardBins } from "./reward-bins.ts";
import styles from "./rollouts.module.css";

const BINS = 12;

/** Rewards of the rollouts that pass a filter without its reward limits; a bar leads to its rollouts. */
export function RewardHistogram(props: {
  readonly title: string;
  readonly groups: readonly GroupRecord[];
  readonly filter: RolloutFilter;
  readonly onPick: (least: number, most: number) => void;
}): ReactNode {
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
      <header className="row wrap gap-2-4 between mb-2">
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
