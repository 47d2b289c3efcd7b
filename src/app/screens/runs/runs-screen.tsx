import { type ReactNode, useState } from "react";
import { quote } from "../../../engine/errors.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import type { StoredRuns } from "../../../protocol/data.ts";
import { lab, report } from "../../clients/lab.ts";
import { loadedBlocker } from "../../clients/run/blockers.ts";
import { resumeNeeds } from "../../clients/run/resume.ts";
import { evaluateCheckpoint } from "../../clients/run/start-run.ts";
import { PluginPanels } from "../../components/place/place.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/panel/panel.tsx";
import { useAsync } from "../../components/use-async.ts";
import { linkTo, navigate, useRoute } from "../../stores/route.ts";
import { useExports } from "../../stores/run/exports.ts";
import { useOtherTabs } from "../../stores/run/other-tabs.ts";
import { isActive, retitleRun, useRun } from "../../stores/run/run.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import { counted, formatBytes } from "../../styles/format.ts";
import { ComparePanel } from "./compare/compare-panel.tsx";
import { MOST_RUNS, type NamedRun } from "./compare/compare-specs.ts";
import { SideBySide } from "./compare/side-by-side.tsx";
import { exportRun } from "./export-run.ts";
import { Ongoing } from "./ongoing.tsx";
import { OpenAddress } from "./open-address.tsx";
import { continueRun, RunDialog, type RunQuestion } from "./run-dialog.tsx";
import { previousRun, runChanges } from "./run-difference.ts";
import { TagFilter } from "./run-notes.tsx";
import { OTHER_TAB, RunRow } from "./run-row.tsx";
import styles from "./runs.module.css";
import { RunsElsewhere } from "./runs-elsewhere.tsx";

const COLUMNS = [
  "Run",
  "Started",
  "State",
  "Steps",
  "Reward, last 10",
  "Held-out gain",
  "Changed",
  "Size",
  "Checkpoints",
];

interface Listed {
  readonly stored: StoredRuns;
  readonly elsewhere: readonly RunDigest[];
}

async function readRuns(): Promise<Listed> {
  const { data } = lab();
  const [stored, elsewhere] = await Promise.all([data.runs(), data.runsElsewhere()]);
  return { stored, elsewhere };
}

/** Stored runs, newest first. */
export function RunsScreen(): ReactNode {
  const liveId = useRun((run) => run.runId);
  const state = useRun((run) => run.state);
  // A finished step or checkpoint changes what is stored.
  const checkpoint = useRun((run) => run.lastCheckpoint?.at);
  // A resumed run uses its stored settings: the form and its plan do not block it.
  const session = useSession();
  const missing = loadedBlocker(session);
  const evaluations = useRun((run) => run.evaluations);
  const recorded = useSession((session) => session.recordedRun);
  const otherTabs = useOtherTabs();
  const deleted = useSession((session) => session.deletedElsewhere);
  const saved = useExports((state) => state.saved);
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
  const tag = useRoute((route) => route.tag);
  const change = (work: Promise<unknown>): void => report(work.finally(() => setChanges((count) => count + 1)));
  const rename = async (runId: string, title: string): Promise<void> => {
    await lab().data.renameRun(runId, title);
    retitleRun(runId, title);
  };
  const runs = [...(stored?.runs ?? [])].sort((a, b) => b.manifest.created.localeCompare(a.manifest.created));
  const listed = tag === null ? runs : runs.filter(({ notes }) => notes.tags.includes(tag));
  const tags = [...new Set(runs.flatMap(({ notes }) => notes.tags))].sort((a, b) => a.localeCompare(b));
  const manifests = runs.map(({ manifest }) => manifest);
  const ticked = useRoute((route) => route.compare);
  // In the order of selection, which keeps a run's colour; deleted runs are left out.
  const compared = ticked.flatMap((id) => runs.find(({ manifest }) => manifest.id === id) ?? []).slice(0, MOST_RUNS);
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
        <p role="status" className="muted anywhere grow" data-testid="exported">
          {saved}
        </p>
        <OpenAddress />
      </header>
      {list.problem !== null && <p className="bad">Cannot read the stored runs: {list.problem}</p>}
      {stored !== null && stored.damaged.length > 0 && (
        <p className="bad">
          {stored.damaged.length === 1 ? "A stored run is" : `${stored.damaged.length} stored runs are`} damaged and not
          listed, but kept: {stored.damaged.map((id) => quote(id)).join(", ")}
        </p>
      )}
      <TagFilter tags={tags} />
      {compared.length === 1 && (
        <p className="muted">Select another run to compare both on the same charts and to list different settings</p>
      )}
      {compared.length > 1 && <ComparePanel runs={compared} onClose={() => navigate({ compare: [] })} />}
      {compared.length > 0 && (
        <SideBySide key={compared.map(({ manifest }) => manifest.id).join()} runs={compared.map(named)} />
      )}
      {stored !== null && runs.length === 0 ? (
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
        <div className={`scroll-x framed round-l surface ${styles.scroll}`}>
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
              {listed.map((run) => {
                const { manifest } = run;
                const before = previousRun(manifest, manifests);
                const unsaved = run.checkpoints.length === 0 ? "The run has no checkpoint" : null;
                return (
                  <RunRow
                    key={manifest.id}
                    run={run}
                    live={manifest.id === liveId}
                    state={manifest.id === liveId && isActive(state) ? state : null}
                    otherTabs={otherTabs.includes(manifest.id)}
                    changes={before === null ? null : runChanges(manifest, before)}
                    resumeBlocker={blockerOf(run, unsaved, resumeNeeds(manifest, session).blocker)}
                    forkBlocker={blockerOf(run, unsaved)}
                    compared={compared.includes(run)}
                    compareBlocker={compared.length < MOST_RUNS ? null : `At most ${MOST_RUNS} runs`}
                    onCompare={(on) => tick(manifest.id, on)}
                    onRename={(title) => change(rename(manifest.id, title))}
                    done={manifest.state === "finished" && run.steps >= manifest.config.steps}
                    onResume={() => report(continueRun(run))}
                    onAsk={(kind) => setQuestion({ kind, run })}
                    onSettings={() => {
                      changeConfig(manifest.config);
                      navigate({ screen: "setup" });
                    }}
                    onExport={(choice) => report(exportRun({ ...manifest, bytes: run.bytes }, choice))}
                    evaluateBlocker={blockerOf(
                      run,
                      manifest.data.heldOutRows === 0 ? "The run holds out no rows" : null,
                    )}
                    onEvaluate={(step) => report(evaluateCheckpoint(manifest, step))}
                  />
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      <Ongoing />
      <PluginPanels at="runs" given={{ runs: listed }} />
      <RunsElsewhere
        runs={elsewhere}
        blockerOf={(run) => blockerOf(run, null)}
        onFork={(run) => setQuestion({ kind: "fork", run })}
      />
      <RunDialog
        question={question}
        readOnly={elsewhere.some(({ manifest }) => manifest.id === question?.run.manifest.id)}
        onClose={() => setQuestion(null)}
        onWork={change}
      />
    </div>
  );
}

const named = ({ manifest: { id, title } }: RunDigest): NamedRun => ({ id, title });

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
