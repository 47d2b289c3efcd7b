import { Fragment, type ReactNode, useState } from "react";
import { quote } from "../../../engine/errors.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import type { StoredRuns } from "../../../protocol/data.ts";
import { lab, report } from "../../clients/lab.ts";
import { loadedBlocker, useBlocker } from "../../clients/run/blockers.ts";
import { resumeNeeds } from "../../clients/run/resume.ts";
import { evaluateCheckpoint } from "../../clients/run/start-run.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Select, TextInput } from "../../components/ui/controls.tsx";
import { Empty } from "../../components/ui/panel/panel.tsx";
import { useAsync } from "../../components/use-async.ts";
import { linkTo, navigate, useRoute } from "../../stores/route.ts";
import { useOtherTabs } from "../../stores/run/other-tabs.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import { counted, formatBytes } from "../../styles/format.ts";
import { exportRun } from "./export-run.ts";
import { Ongoing, RunDetails } from "./run-details.tsx";
import { continueRun, RunDialog, type RunQuestion } from "./run-dialog.tsx";
import {
  fitsFilter,
  GROUPINGS,
  grouped,
  previousRun,
  runChanges,
  savedFilters,
  saveFilters,
  tagFilter,
} from "./run-list.ts";
import { COLUMNS, OTHER_TAB, RunRow, TagButton } from "./run-row.tsx";
import styles from "./runs.module.css";

/** Maximum runs that are compared: the number of distinguishable colours. */
const MOST_RUNS = 6;

interface Listed {
  readonly stored: StoredRuns;
  readonly elsewhere: readonly RunDigest[];
}

async function readRuns(): Promise<Listed> {
  const { data } = lab();
  const [stored, elsewhere] = await Promise.all([data.runs(), data.runsElsewhere()]);
  return { stored, elsewhere };
}

/** Stored runs, newest first, one a line, with the curves of the chosen ones beside them. */
export function RunsScreen(): ReactNode {
  const liveId = useRun((run) => run.runId);
  const state = useRun((run) => run.state);
  // A finished step or checkpoint changes what is stored.
  const checkpoint = useRun((run) => run.lastCheckpoint?.at);
  // A resumed run uses its stored settings: the form and its plan do not block it.
  const session = useSession();
  const missing = useBlocker(loadedBlocker);
  const evaluations = useRun((run) => run.evaluations);
  const recorded = useSession((session) => session.recordedRun);
  const otherTabs = useOtherTabs();
  const deleted = useSession((session) => session.deletedElsewhere);
  const [changes, setChanges] = useState(0);
  // Read again when a run in any tab advances.
  const list = useAsync("runs", readRuns, [
    state,
    checkpoint,
    evaluations,
    recorded,
    otherTabs.join(),
    deleted,
    changes,
  ]);
  const { stored = null, elsewhere = [] } = list.last ?? {};
  const [question, setQuestion] = useState<RunQuestion | null>(null);
  const [opened, setOpened] = useState<string | null>(null);
  const filter = useRoute((route) => route.find) ?? "";
  const grouping = useRoute((route) => route.by);
  const change = (work: Promise<unknown>): void => report(work.finally(() => setChanges((count) => count + 1)));
  const runs = [...(stored?.runs ?? [])].sort((a, b) => b.manifest.created.localeCompare(a.manifest.created));
  const listed = runs.filter((run) => fitsFilter(run, filter));
  const manifests = runs.map(({ manifest }) => manifest);
  const ticked = useRoute((route) => route.compare);
  // In the order of selection, which keeps a run's colour; deleted runs are left out.
  const compared = ticked.flatMap((id) => runs.find(({ manifest }) => manifest.id === id) ?? []).slice(0, MOST_RUNS);
  // Without a choice the newest run is drawn.
  const drawn = !hasPanels("run-curves") ? [] : compared.length > 0 ? compared : listed.slice(0, 1);
  const tick = (id: string, on: boolean): void => {
    const others = compared.map(({ manifest }) => manifest.id).filter((other) => other !== id);
    navigate({ compare: on ? [...others, id] : others });
  };
  /** Why a run cannot be continued or evaluated now, or null. @param lack why this run itself cannot, or null */
  const blockerOf = ({ manifest: { id } }: RunDigest, lack: string | null, unopened = missing): string | null => {
    if (otherTabs.includes(id)) return OTHER_TAB;
    if (isActive(state) && id === liveId) return "This run is in progress";
    return lack ?? (isActive(state) ? "Another run is in progress" : unopened);
  };
  const full = compared.length < MOST_RUNS ? null : `At most ${MOST_RUNS} runs`;
  const compareBlocker = hasPanels("run-curves") ? full : "This page has no plug-in that compares runs";
  const rowOf = (run: RunDigest): ReactNode => {
    const { manifest } = run;
    const { id } = manifest;
    const before = previousRun(manifest, manifests);
    const own = before === null ? null : runChanges(manifest, before);
    const unsaved = run.checkpoints.length === 0 ? "The run has no checkpoint" : null;
    const ask = (kind: RunQuestion["kind"]): void => setQuestion({ kind, run });
    return (
      <RunRow
        key={id}
        run={run}
        live={id === liveId}
        state={id === liveId && isActive(state) ? state : null}
        otherTabs={otherTabs.includes(id)}
        changes={own}
        resumeBlocker={blockerOf(run, unsaved, resumeNeeds(manifest, session).blocker)}
        forkBlocker={blockerOf(run, hasPanels("fork") ? unsaved : "This page has no plug-in that forks runs")}
        colour={drawn.includes(run) ? drawn.indexOf(run) : null}
        compared={compared.includes(run)}
        compareBlocker={compareBlocker}
        onCompare={(on) => tick(id, on)}
        done={manifest.state === "finished" && run.steps >= manifest.config.steps}
        onResume={() => report(continueRun(run))}
        onAsk={ask}
        onTag={(tag) => navigate({ find: tagFilter(tag) })}
        onSettings={() => {
          changeConfig(manifest.config);
          navigate({ screen: "setup" });
        }}
        onExport={(choice) => report(exportRun({ ...manifest, bytes: run.bytes }, choice))}
        onDetails={() => setOpened(opened === id ? null : id)}
        details={
          opened === id ? (
            <RunDetails
              run={run}
              changes={own}
              evaluateBlocker={blockerOf(run, manifest.data.heldOutRows === 0 ? "The run holds out no rows" : null)}
              onEvaluate={(step) => report(evaluateCheckpoint(manifest, step))}
              onNotes={() => ask("notes")}
            />
          ) : null
        }
      />
    );
  };
  return (
    <div className={`screen ${styles.screen}`} data-testid="screen-runs">
      <header className="row wrap gap-3">
        <h1>Runs</h1>
        {stored !== null && (
          <StorageMeter
            stored={stored}
            running={isActive(state) || otherTabs.length > 0}
            onDeleteFeatures={() => change(lab().data.deleteFeatures())}
          />
        )}
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
      {stored === null ? null : runs.length === 0 ? (
        <Empty
          title="No stored runs"
          actions={
            <a
              className={`inline-flex align-centre min-control round-m medium ${styles.openLink}`}
              href={linkTo({ screen: "train" })}
            >
              Start a run
            </a>
          }
        >
          <p>
            Runs are stored in this browser with metrics, rollouts and checkpoints. You can export them as zip files.
          </p>
        </Empty>
      ) : (
        <>
          <Filters runs={runs} />
          <div className={`grid gap-4 ${styles.halves}`}>
            <div className={`framed round-l surface ${styles.list}`}>
              <table className={`full-width ${styles.table}`} data-testid="runs-table">
                <thead>
                  <tr>
                    <th scope="col">
                      <span className="visually-hidden">Compare</span>
                    </th>
                    {COLUMNS.map((column) => (
                      <th scope="col" key={column}>
                        {column}
                      </th>
                    ))}
                    <th scope="col">
                      <span className="visually-hidden">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {grouped(listed, grouping).map(([name, own]) => (
                    <Fragment key={name}>
                      {grouping !== "none" && (
                        <tr className={styles.group}>
                          <th scope="rowgroup" colSpan={COLUMNS.length + 2}>
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
            {drawn.length > 0 && <PluginPanels at="run-curves" given={{ runs: drawn }} />}
          </div>
        </>
      )}
      {compared.length > 0 && (
        <PluginPanels at="compare" given={{ runs: compared, onClose: () => navigate({ compare: [] }) }} />
      )}
      {stored !== null && <PluginPanels at="runs" given={{ runs: listed }} />}
      <PluginPanels
        at="runs-elsewhere"
        given={{
          runs: elsewhere,
          blockerOf: (run) => blockerOf(run, null),
          onFork: (run) => setQuestion({ kind: "fork", run }),
        }}
      />
      <Ongoing />
      <RunDialog
        question={question}
        readOnly={elsewhere.some(({ manifest }) => manifest.id === question?.run.manifest.id)}
        onClose={() => setQuestion(null)}
        onWork={change}
      />
    </div>
  );
}

/** The filter of the list, with those of tags and those that the user saved, and what the runs are grouped by. */
function Filters({ runs }: { readonly runs: readonly RunDigest[] }): ReactNode {
  const filter = useRoute((route) => route.find) ?? "";
  const grouping = useRoute((route) => route.by);
  const [saved, setSaved] = useState(savedFilters);
  const tags = [...new Set(runs.flatMap(({ notes }) => notes.tags))].sort((a, b) => a.localeCompare(b)).map(tagFilter);
  const choose = (find: string): void => navigate({ find: find === "" ? null : find });
  const keep = (filters: readonly string[]): void => {
    saveFilters(filters);
    setSaved(filters);
  };
  const isSaved = saved.includes(filter);
  return (
    <div className="row wrap gap-2">
      <TextInput
        className={styles.find ?? ""}
        aria-label="Filter runs"
        placeholder="Filter: words, tag:x, state:stopped, beta=0.1"
        data-testid="filter-runs"
        value={filter}
        onChange={(event) => choose(event.currentTarget.value)}
      />
      <Button
        data-testid="save-filter"
        blocker={filter.trim() === "" ? "Type a filter first" : null}
        onClick={() => keep(isSaved ? saved.filter((one) => one !== filter) : [...saved, filter])}
      >
        {isSaved ? "Forget filter" : "Save filter"}
      </Button>
      <Select label="Groups" options={GROUPINGS} value={grouping} onChange={(by) => navigate({ by })} />
      <span className="row wrap gap-1" data-testid="tag-filter">
        {[...new Set([...saved, ...tags])].map((one) => (
          <TagButton key={one} tag={one} chosen={one === filter} onClick={() => choose(one === filter ? "" : one)} />
        ))}
      </span>
    </div>
  );
}

/** Used browser storage, and the part that can be recomputed. */
function StorageMeter(props: {
  readonly stored: Pick<StoredRuns, "usage" | "quota" | "features">;
  /** Whether a run, here or in another tab, is reading and adding features. */
  readonly running: boolean;
  readonly onDeleteFeatures: () => void;
}): ReactNode {
  const { usage, quota, features } = props.stored;
  const share = quota > 0 ? Math.min(1, usage / quota) : 0;
  return (
    <div className={`row wrap gap-3 muted ${styles.storage}`}>
      <span>
        {formatBytes(usage)} of {formatBytes(quota)} used
      </span>
      <meter aria-label="Storage used" min={0} max={1} low={0.8} high={0.95} optimum={0} value={share} />
      {features.pictures > 0 && (
        <>
          <span data-testid="kept-features">
            including {formatBytes(features.bytes)} for cached features of {counted(features.pictures, "picture")}
          </span>
          <Button
            data-testid="delete-features"
            blocker={props.running ? "The run in progress uses the features" : null}
            title="Deletes cached features; a run recomputes the features that it needs"
            onClick={props.onDeleteFeatures}
          >
            Delete features
          </Button>
        </>
      )}
    </div>
  );
}
