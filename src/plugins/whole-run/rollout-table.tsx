/** The rollouts of a run as a table. */
import { type ReactNode, useMemo, useState } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { passes, splitTerms, termName } from "../../app/components/rollout/rollout-view.ts";
import { inspect } from "../../app/screens/train/inspector.tsx";
import { fixed, formatShare, NONE, signed } from "../../app/styles/format.ts";
import { rleArea } from "../../engine/data/mask/rle.ts";
import type { RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import { generatedText } from "../../engine/runs/rollouts/rollout-facts.ts";
import styles from "./rollout-table.module.css";
import { useTableRows } from "./table-rows.tsx";

const ROW = 30;

/** Every rollout that passes the filter, a row each; a press opens it. Only the rows in view are drawn. */
export default function RolloutTable(props: Places["rollout-table"]): ReactNode {
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

/** Share of the picture that the rewarded mask covers, with its noise; null without a mask. */
function areaOf({ predictedMask: mask }: RolloutRecord): number | null {
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
