import { Fragment, type ReactNode, useState } from "react";
import { quote } from "../../../engine/errors.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { RUNS } from "../../clients/run/run-reads.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { PlaceLink } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/panel/panel.tsx";
import { TableHead } from "../../components/ui/table.tsx";
import { useRead } from "../../stores/reads.ts";
import { navigate, useRoute } from "../../stores/route.ts";
import { Ongoing } from "./ongoing.tsx";
import { RunDialog, type RunQuestion } from "./run-dialog.tsx";
import { fitsFilter, grouped, previousRun } from "./run-list.ts";
import { COLUMNS, RunRow } from "./run-row.tsx";
import styles from "./runs.module.css";

/** Maximum runs that are compared: the number of distinguishable colours. */
const MOST_RUNS = 6;

/** Stored runs, newest first, one a line, with the curves of the chosen ones beside them. */
export function RunsScreen(): ReactNode {
  const list = useRead(RUNS);
  const { stored = null, elsewhere = [] } = list.last ?? {};
  const [question, setQuestion] = useState<RunQuestion | null>(null);
  const [opened, setOpened] = useState<string | null>(null);
  const filter = useRoute((route) => route.find) ?? "";
  const grouping = useRoute((route) => route.by);
  const runs = [...(stored?.runs ?? [])].sort((a, b) => b.manifest.created.localeCompare(a.manifest.created));
  const listed = runs.filter((run) => fitsFilter(run, filter));
  const manifests = runs.map(({ manifest }) => manifest);
  const ticked = useRoute((route) => route.compare);
  // In the order of selection, which keeps a run's colour; deleted runs are left out.
  const compared = ticked
    .flatMap((id) => [...runs, ...elsewhere].find(({ manifest }) => manifest.id === id) ?? [])
    .slice(0, MOST_RUNS);
  // Without a choice the newest run is drawn.
  const drawn = !hasPanels("run-curves") ? [] : compared.length > 0 ? compared : listed.slice(0, 1);
  const tick = (id: string, on: boolean): void => {
    const others = compared.map(({ manifest }) => manifest.id).filter((other) => other !== id);
    navigate({ compare: on ? [...others, id] : others });
  };
  const full = compared.length < MOST_RUNS ? null : `At most ${MOST_RUNS} runs`;
  const compareBlocker = hasPanels("run-curves") ? full : "This page has no plug-in that compares runs";
  const rowOf = (run: RunDigest): ReactNode => {
    const { id } = run.manifest;
    return (
      <RunRow
        key={id}
        run={run}
        before={previousRun(run.manifest, manifests)}
        colour={drawn.includes(run) ? drawn.indexOf(run) : null}
        compared={compared.includes(run)}
        compareBlocker={compareBlocker}
        onCompare={(on) => tick(id, on)}
        onAsk={(kind) => setQuestion({ kind, run })}
        opened={opened === id}
        onOpen={() => setOpened(opened === id ? null : id)}
      />
    );
  };
  return (
    <div className="screen gap-4" data-testid="screen-runs">
      <header className="row wrap gap-3">
        <h1>Runs</h1>
        <span className="grow" />
        <PluginPanels at="open-run" given={{}} quiet />
      </header>
      {list.problem !== null && <p className="bad">Cannot read the stored runs: {list.problem}</p>}
      {stored !== null && stored.damaged.length > 0 && (
        <p className="bad">
          {stored.damaged.length === 1 ? "A stored run is" : `${stored.damaged.length} stored runs are`} damaged and not
          listed, but kept: {stored.damaged.map((id) => quote(id)).join(", ")}
        </p>
      )}
      {/* All of it at once when it is read, so that no part moves another. */}
      {runs.length > 0 && <PluginPanels at="run-filter" given={{ runs }} quiet />}
      {stored !== null && (
        <div className={`grid gap-4 ${styles.halves}`}>
          {runs.length === 0 ? (
            <Empty title="No stored runs" actions={<PlaceLink to={{ screen: "train" }}>Start a run</PlaceLink>}>
              <p>
                Runs are stored in this browser with metrics, rollouts and checkpoints. You can export them as zip
                files.
              </p>
            </Empty>
          ) : (
            <div className={`framed round-l surface ${styles.list}`} data-beside={compared.length > 0}>
              <table className={`full-width ${styles.table}`} data-testid="runs-table">
                <TableHead columns={COLUMNS} />
                <tbody>
                  {grouped(listed, grouping).map(([name, own]) => (
                    <Fragment key={name}>
                      {grouping !== "none" && (
                        <tr className={styles.group}>
                          <th scope="rowgroup" colSpan={COLUMNS.length}>
                            {name} <span className="muted normal">{own.length}</span>
                          </th>
                        </tr>
                      )}
                      {own.map(rowOf)}
                    </Fragment>
                  ))}
                </tbody>
              </table>
              {listed.length === 0 && <p className="muted p-3 m-0">No run fits the filter</p>}
            </div>
          )}
          {drawn.length > 0 && (
            <div className={styles.curves}>
              <PluginPanels at="run-curves" given={{ runs: drawn }} />
            </div>
          )}
          <div className="grid gap-4 min-0 align-start">
            {compared.length > 0 && (
              <PluginPanels at="compare" given={{ runs: compared, onClose: () => navigate({ compare: [] }) }} />
            )}
            <PluginPanels at="runs" given={{ runs: listed }} />
            <PluginPanels
              at="runs-elsewhere"
              given={{ runs: elsewhere, onFork: (run) => setQuestion({ kind: "fork", run }) }}
            />
          </div>
        </div>
      )}
      <Ongoing />
      <RunDialog
        question={question}
        readOnly={elsewhere.some(({ manifest }) => manifest.id === question?.run.manifest.id)}
        onClose={() => setQuestion(null)}
      />
    </div>
  );
}
