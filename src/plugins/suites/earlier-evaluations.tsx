import { type ReactNode, useEffect, useState } from "react";
import { pluginCalls, report } from "../../app/clients/lab.ts";
import { saveBlob } from "../../app/clients/save-blob.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { useSession } from "../../app/stores/session.ts";
import { useTry } from "../../app/stores/try-out.ts";
import { counted, formatCount, NONE } from "../../app/styles/format.ts";
import { isFinished, type StoredSuite } from "./finished.ts";
import type { EvalFacts } from "./folder.ts";
import type { SuiteCalls } from "./suite-calls.ts";
import { percent } from "./suite-result.tsx";
import { showReport, suiteBlocker, useSuite } from "./suite-store.ts";
import { continueSuite } from "./suite-work.ts";
import styles from "./suites.module.css";

/**
 * Evaluations of this browser: those that were stopped can be continued, finished ones have their first metric, report, and a
 * table of evaluations of the same rows.
 * @param props.missing what an evaluation needs and the page lacks, or null
 */
export function EarlierEvaluations(props: { readonly missing: string | null }): ReactNode {
  const [stored, setStored] = useState<readonly StoredSuite[]>([]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const blocker = useSuite(suiteBlocker);
  const read = async (): Promise<void> => setStored(await pluginCalls<SuiteCalls>("data").storedSuites());
  // biome-ignore lint/correctness/useExhaustiveDependencies: read again after each evaluation
  useEffect(() => {
    if (blocker === null) report(read());
  }, [blocker]);
  const list = stored.filter(isFinished);
  const stopped = stored.filter((one) => !isFinished(one));
  const ids = list.map(({ id }) => id).filter((id) => chosen.has(id));
  const save = async (format: "csv" | "parquet"): Promise<void> =>
    saveBlob(await pluginCalls<SuiteCalls>("data").ledger(ids, format), `evaluations.${format}`);
  const remove = async (id: string): Promise<void> => {
    await pluginCalls<SuiteCalls>("data").deleteEvaluation(id);
    await read();
  };
  const choose = (id: string, on: boolean): void => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  return (
    <>
      {blocker === null && stopped.length > 0 && (
        <Panel title="Stopped evaluations">
          {stopped.map(({ id, facts }) => (
            <p key={id} className="row wrap gap-2" data-testid="stopped-evaluation">
              <b>{nameOf(facts)}</b> {counted(facts.rows, "row")}, {facts.model.name}
              {facts.adapter !== null && ` with ${facts.adapter.name}`}
              <ContinueButton facts={facts} missing={props.missing} />
              <Button kind="quiet" onClick={() => report(remove(id))}>
                Delete
              </Button>
            </p>
          ))}
        </Panel>
      )}
      {list.length > 0 && (
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
                      <th scope="row">{nameOf(facts)}</th>
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
      )}
    </>
  );
}

function nameOf({ suite, split, part }: EvalFacts): string {
  return [suite, split, part].filter((word) => word != null && word !== "").join(" ");
}

/** Continues with the same model and adapter; others would begin a separate evaluation. */
function ContinueButton(props: { readonly facts: EvalFacts; readonly missing: string | null }): ReactNode {
  const { facts, missing } = props;
  const model = useSession((session) => session.model?.hash);
  const adapter = useTry((state) => state.adapter?.hash);
  const other =
    model !== facts.model.hash
      ? `Load ${facts.model.name} first`
      : adapter !== facts.adapter?.hash
        ? `Open ${facts.adapter?.name ?? "the model without an adapter"} first`
        : null;
  return (
    <Button blocker={missing ?? other} onClick={() => report(continueSuite(facts))}>
      Continue
    </Button>
  );
}
