/** The rollouts of a run as a table, and the distribution of their rewards. */
import { type ReactNode, useMemo, useState } from "react";
import { rleArea } from "../../../engine/data/mask/rle.ts";
import { LOOPS, type LoopId, perLoop } from "../../../engine/rl/loops/abouts.ts";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { drawnMask, generatedText } from "../../../engine/runs/rollouts/rollout-facts.ts";
import {
  filterGroups,
  loopStyle,
  passes,
  type RolloutFilter,
  splitTerms,
  termName,
} from "../../components/rollout/rollout-view.ts";
import { useTableRows } from "../../components/ui/table.tsx";
import { fixed, formatShare, NONE, signed } from "../../styles/format.ts";
import { inspect } from "./inspector.tsx";
import styles from "./rollouts.module.css";

const ROW = 30;

/** Every rollout that passes the filter, a row each; a press opens it. Only the rows in view are drawn. */
export function RolloutTable(props: {
  readonly groups: readonly GroupRecord[];
  readonly filter: RolloutFilter;
  /** Id of the rollout in the inspector. */
  readonly inspected: string | null;
  /** The groups are those of one step: the best come first, and the table is as high as its rows. */
  readonly ofStep?: boolean;
}): ReactNode {
  const { groups, filter, inspected, ofStep = false } = props;
  const [by, setBy] = useState({ column: ofStep ? "reward" : "step", descending: true });
  const rollouts = useMemo(
    () => groups.flatMap((group) => group.rollouts.filter((rollout) => passes(rollout, filter))),
    [groups, filter],
  );
  const columns = useMemo(
    () => rolloutColumns(rollouts).filter(({ id }) => !ofStep || id !== "step"),
    [rollouts, ofStep],
  );
  const sorted = useMemo(() => {
    const column = columns.find(({ id }) => id === by.column);
    return column === undefined ? rollouts : sortByColumn(rollouts, column, by.descending);
  }, [rollouts, columns, by]);
  const { scroller, items, above, below } = useTableRows<HTMLElement>(sorted.length, ROW);
  return (
    <section
      ref={scroller}
      className={`scroll framed round-l surface ${styles.rows}`}
      data-step={ofStep}
      aria-label="Rollouts"
    >
      <table className="full-width small nowrap" aria-rowcount={sorted.length} data-testid="rollout-table">
        <thead>
          <tr>
            {columns.map(({ id, label, words }) => {
              const chosen = by.column === id;
              const turned = chosen ? !by.descending : words !== true;
              return (
                <th
                  key={id}
                  scope="col"
                  data-text={words === true}
                  {...(chosen ? { "aria-sort": by.descending ? "descending" : "ascending" } : {})}
                >
                  <button
                    type="button"
                    className="borderless clear pointer"
                    onClick={() => setBy({ column: id, descending: turned })}
                  >
                    {label}
                    {chosen ? (by.descending ? " ↓" : " ↑") : ""}
                  </button>
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          <tr style={{ height: above }} />
          {items.map((item) => {
            const rollout = sorted[item.index] as RolloutRecord;
            return (
              // The button in the first cell does the same for the keyboard.
              <tr
                key={item.key}
                className="pointer lit"
                style={{ height: ROW }}
                data-now={rollout.id === inspected}
                onClick={() => inspect(rollout)}
              >
                {columns.map(({ id, shown, words }, at) => (
                  <td key={id} data-text={words === true} title={words === true ? shown(rollout) : undefined}>
                    {at === 0 ? (
                      <button
                        type="button"
                        className={`borderless clear pointer accent ${styles.openRow}`}
                        aria-label={`Rollout ${rollout.id}`}
                      >
                        {shown(rollout)}
                      </button>
                    ) : (
                      shown(rollout)
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
          <tr style={{ height: below }} />
        </tbody>
      </table>
    </section>
  );
}

interface RolloutColumn {
  readonly id: string;
  readonly label: string;
  /** Sort key of a rollout; null if it is missing. */
  readonly value: (rollout: RolloutRecord) => number | string | null;
  readonly shown: (rollout: RolloutRecord) => string;
  /** Whether it holds text, which is left-aligned. */
  readonly words?: boolean;
}

/** Generated text or mask, reward, advantage, and every term that counts in the reward of any of the rollouts. */
export function rolloutColumns(rollouts: readonly RolloutRecord[]): readonly RolloutColumn[] {
  // Terms that count in no reward would fill a column with numbers of no effect.
  const terms = new Set(rollouts.flatMap((rollout) => splitTerms(rollout.terms).rewarded.map(({ name }) => name)));
  const termOf = (rollout: RolloutRecord, name: string): number | null =>
    rollout.terms.find((term) => term.name === name)?.value ?? null;
  const count = (id: string, label: string, value: (rollout: RolloutRecord) => number): RolloutColumn => ({
    id,
    label,
    value,
    shown: (rollout) => String(value(rollout)),
  });
  return [
    count("step", "Step", ({ step }) => step),
    count("loop", "Loop", ({ loop }) => loop),
    count("index", "#", ({ index }) => index + 1),
    {
      id: "text",
      label: "Text",
      value: (rollout) => generatedText(rollout.loop, rollout),
      shown: (rollout) => generatedText(rollout.loop, rollout) ?? NONE,
      words: true,
    },
    { id: "reward", label: "Reward", value: ({ reward }) => reward, shown: ({ reward }) => fixed(reward, 3) },
    {
      id: "advantage",
      label: "Advantage",
      value: ({ advantage }) => advantage,
      shown: ({ advantage }) => signed(advantage, 2),
    },
    ...[...terms].map(
      (name): RolloutColumn => ({
        id: `term ${name}`,
        label: termName(name),
        value: (rollout) => termOf(rollout, name),
        shown: (rollout) => fixed(termOf(rollout, name), 3),
      }),
    ),
    count("length", "Actions", ({ actions }) => actions.length),
    { id: "area", label: "Mask", value: areaOf, shown: (rollout) => shareText(areaOf(rollout)) },
    { id: "row", label: "Row", value: ({ rowId }) => rowId, shown: ({ rowId }) => rowId, words: true },
  ];
}

const shareText = (share: number | null): string => (share === null ? NONE : formatShare(share));

/** Share of the picture that the drawn mask covers; null without a mask. */
function areaOf(rollout: RolloutRecord): number | null {
  const mask = drawnMask(rollout);
  return mask === null ? null : rleArea(mask) / (mask.size[0] * mask.size[1]);
}

/** Rollouts sorted by a column; equal values keep their order, missing values and NaN come last in both directions. */
export function sortByColumn(
  rollouts: readonly RolloutRecord[],
  { value }: RolloutColumn,
  descending: boolean,
): readonly RolloutRecord[] {
  const keyed = rollouts.map((rollout) => ({ rollout, key: value(rollout) }));
  const missing = (key: number | string | null): boolean => key === null || Number.isNaN(key);
  const sign = descending ? -1 : 1;
  keyed.sort(({ key: a }, { key: b }) => {
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    if (typeof a === "string" || typeof b === "string") return sign * String(a).localeCompare(String(b), "en");
    return sign * (Number(a) - Number(b));
  });
  return keyed.map(({ rollout }) => rollout);
}

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
