import { type ReactNode, useEffect, useState } from "react";
import type { FinishedEvaluation } from "../../../../engine/eval/suites/finished.ts";
import { lab, report } from "../../../clients/lab.ts";
import { saveBlob } from "../../../clients/save-blob.ts";
import { Button } from "../../../components/ui/button.tsx";
import { Panel } from "../../../components/ui/panel/panel.tsx";
import { TableHead } from "../../../components/ui/table-head.tsx";
import { showReport, suiteBlocker, useSuite } from "../../../stores/suite.ts";
import { formatCount, NONE } from "../../../styles/format.ts";
import { percent } from "./suite-result.tsx";
import styles from "./suites.module.css";

/**
 * Finished evaluations of this browser: their first metric, their reports, and a table of evaluations of the same rows.
 */
export function EarlierEvaluations(): ReactNode {
  const [list, setList] = useState<readonly FinishedEvaluation[]>([]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const blocker = useSuite(suiteBlocker);
  const read = async (): Promise<void> => setList(await lab().data.finishedEvaluations());
  // biome-ignore lint/correctness/useExhaustiveDependencies: read again after each evaluation
  useEffect(() => {
    if (blocker === null) report(read());
  }, [blocker]);
  if (list.length === 0) return null;
  const ids = list.map(({ id }) => id).filter((id) => chosen.has(id));
  const save = async (format: "csv" | "parquet"): Promise<void> =>
    saveBlob(await lab().data.ledger(ids, format), `evaluations.${format}`);
  const remove = async (id: string): Promise<void> => {
    await lab().data.deleteEvaluation(id);
    await read();
  };
  const choose = (id: string, on: boolean): void => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  return (
    <Panel title="Earlier evaluations">
      <div className="scroll-x">
        <table className={styles.table} data-testid="earlier-evaluations">
          <TableHead
            columns={["Suite", "Rows", "Model", "Adapter", "Metric", "Base", "With adapter", "In table", ""]}
          />
          <tbody>
            {list.map(({ id, facts, report: found }) => {
              const first = found.systems.base?.[0];
              const adapter = found.systems.adapter?.[0];
              return (
                <tr key={id}>
                  <th scope="row">
                    {[facts.suite, facts.split, facts.part].filter((part) => part != null && part !== "").join(" ")}
                  </th>
                  <td>{formatCount(facts.rows)}</td>
                  <td>{facts.model.name}</td>
                  <td>{facts.adapter?.name ?? NONE}</td>
                  <td>{first?.metric ?? NONE}</td>
                  <td>{percent(first?.value)}</td>
                  <td>{percent(adapter?.value)}</td>
                  <td>
                    <input
                      type="checkbox"
                      aria-label={`${id} in the table`}
                      checked={chosen.has(id)}
                      onChange={(event) => choose(id, event.currentTarget.checked)}
                    />
                  </td>
                  <td className="nowrap">
                    <Button kind="quiet" blocker={blocker} onClick={() => showReport(found)}>
                      Show
                    </Button>
                    <Button kind="quiet" blocker={blocker} onClick={() => report(remove(id))}>
                      Delete
                    </Button>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <div className="row wrap gap-2 mt-3">
        {(["csv", "parquet"] as const).map((format) => (
          <Button
            key={format}
            blocker={ids.length === 0 ? "Select evaluations of the same rows first" : null}
            onClick={() => report(save(format))}
          >
            Save table as {format === "csv" ? "CSV" : "Parquet"}
          </Button>
        ))}
      </div>
    </Panel>
  );
}
