import { type ReactNode, useMemo, useState } from "react";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { passes, type RolloutFilter } from "../../components/rollout/rollout-view.ts";
import { useTableRows } from "../../components/ui/table-rows.ts";
import { navigate } from "../../stores/route.ts";
import { rolloutColumns, sortByColumn } from "./rollout-columns.ts";
import styles from "./rollouts.module.css";

const ROW = 30;

/** Every rollout that passes the filter, a row each; only the rows in view are drawn. */
export function RolloutTable(props: {
  readonly groups: readonly GroupRecord[];
  readonly filter: RolloutFilter;
}): ReactNode {
  const { groups, filter } = props;
  const [by, setBy] = useState({ column: "step", descending: true });
  const rollouts = useMemo(
    () => groups.flatMap((group) => group.rollouts.filter((rollout) => passes(rollout, filter))),
    [groups, filter],
  );
  const columns = useMemo(() => rolloutColumns(rollouts), [rollouts]);
  const sorted = useMemo(() => {
    const column = columns.find(({ id }) => id === by.column);
    return column === undefined ? rollouts : sortByColumn(rollouts, column, by.descending);
  }, [rollouts, columns, by]);
  const { scroller, items, above, below } = useTableRows<HTMLElement>(sorted.length, ROW);
  return (
    <section ref={scroller} className={`scroll framed round-l surface ${styles.rows}`} aria-label="Rollouts">
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
              <tr key={item.key} style={{ height: ROW }}>
                {columns.map(({ id, shown, words }, at) => (
                  <td key={id} data-text={words === true} title={words === true ? shown(rollout) : undefined}>
                    {at === 0 ? (
                      <button
                        type="button"
                        className={`borderless clear pointer accent ${styles.openRow}`}
                        aria-label={`Rollout ${rollout.id}`}
                        onClick={() => navigate({ view: "step", step: rollout.step, group: null, rollout: rollout.id })}
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
