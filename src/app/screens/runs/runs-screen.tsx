import { type ReactNode, useCallback, useEffect, useState } from "react";
import { LabError, quote } from "../../../engine/errors.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import type { StoredRuns } from "../../../protocol/data.ts";
import { loadedBlocker } from "../../clients/blockers.ts";
import { deleteRun } from "../../clients/interrupted.ts";
import { lab, report } from "../../clients/lab.ts";
import { evaluateCheckpoint, forkRun, resumeRun } from "../../clients/start-run.ts";
import { storedGroups } from "../../components/rollout/stored-groups.ts";
import { Button } from "../../components/ui/button.tsx";
import { Dialog } from "../../components/ui/overlays.tsx";
import { Empty } from "../../components/ui/panel.tsx";
import { forgetMetrics } from "../../stores/metrics.ts";
import { useOtherTabs } from "../../stores/other-tabs.ts";
import { linkTo, navigate, useRoute } from "../../stores/route.ts";
import { isActive, retitleRun, useRun } from "../../stores/run.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import { counted, formatBytes } from "../../styles/format.ts";
import { ComparePanel } from "./compare/compare-panel.tsx";
import { MOST_RUNS, type NamedRun } from "./compare/compare-specs.ts";
import { SideBySide } from "./compare/side-by-side.tsx";
import { type ExportChoice, exportRun } from "./export-run.ts";
import { ForkRun } from "./fork-run.tsx";
import { Leaderboard } from "./leaderboard.tsx";
import { OpenAddress } from "./open-address.tsx";
import { EvaluationProgress } from "./run-checkpoints.tsx";
import { previousRun, runChanges } from "./run-difference.ts";
import { EditNotes, TagFilter } from "./run-notes.tsx";
import { OTHER_TAB, RunRow } from "./run-row.tsx";
import styles from "./runs.module.css";
import { RunsElsewhere } from "./runs-elsewhere.tsx";
import { StorageMeter } from "./storage-meter.tsx";
import { SweepPanel } from "./sweep/sweep-panel.tsx";
import { TrainOn } from "./train-on.tsx";

const COLUMNS = ["Run", "Started", "State", "Steps", "Reward", "Held-out gain", "Changed", "Size", "Checkpoints"];

/** Stored runs, newest first. */
export function RunsScreen(): ReactNode {
  const liveId = useRun((run) => run.runId);
  const state = useRun((run) => run.state);
  // A finished step or checkpoint changes what is stored.
  const checkpoint = useRun((run) => run.lastCheckpoint?.at);
  // A resumed run uses its stored settings: the form and its plan do not block it.
  const missing = useSession(loadedBlocker);
  const [stored, setStored] = useState<StoredRuns | null>(null);
  const [exporting, setExporting] = useState<string | null>(null);
  const [exported, setExported] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<RunDigest | null>(null);
  const [longer, setLonger] = useState<RunDigest | null>(null);
  const [forking, setForking] = useState<RunDigest | null>(null);
  const [noting, setNoting] = useState<RunDigest | null>(null);
  const [elsewhere, setElsewhere] = useState<readonly RunDigest[]>([]);
  const evaluations = useRun((run) => run.evaluations);
  const recorded = useSession((session) => session.recordedRun);
  const tag = useRoute((route) => route.tag);
  const otherTabs = useOtherTabs();
  const read = useCallback(async () => {
    const found = await lab().data.runs();
    setStored(found);
    setElsewhere(await lab().data.runsElsewhere());
    if (found.damaged.length === 0) return;
    const names = found.damaged.map((id) => quote(id)).join(", ");
    throw new LabError("storage", `Stored runs ${names} are damaged and not listed; their files are kept`);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is read again when a run here or in another tab moves on
  useEffect(() => report(read()), [read, state, checkpoint, evaluations, recorded, otherTabs.join()]);

  const change = (work: Promise<unknown>): void => report(work.finally(read));
  const startExport = async (runId: string, choice: ExportChoice): Promise<void> => {
    setExporting(runId);
    setExported(null);
    try {
      setExported(await exportRun(runId, choice));
    } finally {
      setExporting(null);
    }
  };
  const toTrain = (): void => navigate({ screen: "train", run: null, step: null, rollout: null });
  const resume = async ({ manifest }: RunDigest, steps?: number, from?: number): Promise<void> => {
    // Steps that a restored run drops are not drawn again.
    if (from !== undefined) {
      forgetMetrics(manifest.id);
      storedGroups.forget();
    }
    await resumeRun(manifest, steps, from);
    toTrain();
  };
  const rename = async (runId: string, title: string): Promise<void> => {
    await lab().data.renameRun(runId, title);
    retitleRun(runId, title);
  };
  const remove = async (run: RunDigest): Promise<void> => {
    setDeleting(null);
    await deleteRun(run.manifest.id);
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
  const blocker = isActive(state) ? "Another run is in progress" : missing;
  return (
    <div className={styles.screen} data-testid="screen-runs">
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
          {exported ?? ""}
        </p>
        <OpenAddress />
      </header>
      <EvaluationProgress />
      <TagFilter tags={tags} />
      {compared.length === 1 && (
        <p className="muted">Select another run to compare them on the same charts and list the settings that differ</p>
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
            Runs are stored in this browser with metrics, rollouts and checkpoints. You can export them as zip files
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
                return (
                  <RunRow
                    key={manifest.id}
                    run={run}
                    live={manifest.id === liveId}
                    active={manifest.id === liveId && isActive(state)}
                    otherTabs={otherTabs.includes(manifest.id)}
                    changes={before === null ? null : runChanges(manifest, before)}
                    resumeBlocker={otherTabs.includes(manifest.id) ? OTHER_TAB : (resumeBlocker(run) ?? blocker)}
                    exporting={exporting === manifest.id}
                    compared={compared.includes(run)}
                    compareBlocker={compared.length < MOST_RUNS ? null : `At most ${MOST_RUNS} runs`}
                    onCompare={(on) => tick(manifest.id, on)}
                    onRename={(title) => change(rename(manifest.id, title))}
                    done={isDone(run)}
                    onResume={() => report(resume(run))}
                    onTrainOn={() => setLonger(run)}
                    onFork={() => setForking(run)}
                    onSettings={() => {
                      changeConfig(manifest.config);
                      navigate({ screen: "setup" });
                    }}
                    onExport={(choice) => report(startExport(manifest.id, choice))}
                    onDelete={() => setDeleting(run)}
                    onNotes={() => setNoting(run)}
                    evaluateBlocker={otherTabs.includes(manifest.id) ? OTHER_TAB : (noHeldOut(run) ?? blocker)}
                    onEvaluate={(step) => report(evaluateCheckpoint(manifest, step))}
                  />
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      <Leaderboard runs={listed} />
      <RunsElsewhere runs={elsewhere} blocker={blocker} onFork={setForking} />
      <SweepPanel />
      <Dialog title="Train on" open={longer !== null} onOpenChange={(open) => !open && setLonger(null)}>
        {longer !== null && (
          <TrainOn
            run={longer}
            onCancel={() => setLonger(null)}
            onTrain={(steps) => {
              setLonger(null);
              report(resume(longer, steps));
            }}
          />
        )}
      </Dialog>
      <Dialog
        title="Continue from a checkpoint"
        open={forking !== null}
        onOpenChange={(open) => !open && setForking(null)}
      >
        {forking !== null && (
          <ForkRun
            run={forking}
            readOnly={elsewhere.some(({ manifest }) => manifest.id === forking.manifest.id)}
            onCancel={() => setForking(null)}
            onFork={(step, changes) => {
              setForking(null);
              report(forkRun(forking.manifest, step, changes).then(toTrain));
            }}
            onRestore={(step) => {
              setForking(null);
              report(resume(forking, undefined, step));
            }}
          />
        )}
      </Dialog>
      <Dialog title="Notes" open={noting !== null} onOpenChange={(open) => !open && setNoting(null)}>
        {noting !== null && (
          <EditNotes
            notes={noting.notes}
            onCancel={() => setNoting(null)}
            onSave={(notes) => {
              setNoting(null);
              change(lab().data.setNotes(noting.manifest.id, notes));
            }}
          />
        )}
      </Dialog>
      <Dialog title="Delete this run?" open={deleting !== null} onOpenChange={(open) => !open && setDeleting(null)}>
        {deleting !== null && (
          <>
            <p>
              <b>{deleting.manifest.title}</b> with its {counted(deleting.steps, "step")}, their rollouts and{" "}
              {counted(deleting.checkpoints.length, "checkpoint")} will be gone; this frees{" "}
              {formatBytes(deleting.bytes)} and cannot be undone
            </p>
            <div className="flex gap-2 justify-end mt-4">
              <Button onClick={() => setDeleting(null)}>Keep it</Button>
              <Button kind="danger" onClick={() => change(remove(deleting))}>
                Delete {formatBytes(deleting.bytes)}
              </Button>
            </div>
          </>
        )}
      </Dialog>
    </div>
  );
}

const named = ({ manifest: { id, title } }: RunDigest): NamedRun => ({ id, title });

/** Why a stored run cannot be resumed, or null. */
function resumeBlocker({ checkpoints }: RunDigest): string | null {
  return checkpoints.length === 0 ? "It has no checkpoint" : null;
}

/** Why a stored run cannot be evaluated, or null. */
function noHeldOut({ manifest }: RunDigest): string | null {
  return manifest.data.heldOutRows === 0 ? "The run holds out no rows" : null;
}

function isDone({ manifest, steps }: RunDigest): boolean {
  return manifest.state === "finished" && steps >= manifest.config.steps;
}
