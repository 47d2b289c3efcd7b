import type { ReactNode } from "react";
import { pluginCalls, report } from "../../app/clients/lab.ts";
import { useRunBlocker } from "../../app/clients/run/blockers.ts";
import { RUNS } from "../../app/clients/run/run-reads.ts";
import { agreeToRun, type StoredRun, selection } from "../../app/clients/run/start-run.ts";
import { GainNumbers } from "../../app/components/before-after.tsx";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { evaluationText, knownGains } from "../../app/screens/runs/ongoing.tsx";
import { type Change, runChanges } from "../../app/screens/runs/run-list.ts";
import { EVALUATION, startJob, useRunning } from "../../app/stores/jobs.ts";
import { outdateRun, useRead } from "../../app/stores/reads.ts";
import { linkTo } from "../../app/stores/route.ts";
import { counted, fixed, formatBytes, formatSeconds, NONE } from "../../app/styles/format.ts";
import { SETTINGS, type SettingKey } from "../../engine/config/table.ts";
import type { BestCheckpoint } from "../../engine/runs/checkpoint/best-checkpoint.ts";
import { fewPicturesText } from "../../engine/runs/evaluations/difference-text.ts";
import { lackingText, type ScoreId, SELECTION_NAMES } from "../../engine/runs/evaluations/evaluation-scores.ts";
import type { RunDigest } from "../../engine/runs/library/digest.ts";
import { runParts } from "../../engine/runs/run-parts.ts";
import type { EvaluationCalls } from "./evaluation-calls.ts";
import styles from "./run-details.module.css";

/** What the line of a run leaves out. */
export default function RunDetails(props: Places["run-details"]): ReactNode {
  const { run, before } = props;
  const changes = before === null ? null : runChanges(run.manifest, before);
  const { manifest, notes } = run;
  const { forkedFrom } = manifest;
  const { stored, elsewhere = [] } = useRead(RUNS).last ?? {};
  const parent = [...(stored?.runs ?? []), ...elsewhere].find((one) => one.manifest.id === forkedFrom?.run);
  const parts = runParts(manifest, run.steps);
  return (
    <div className="grid tiles gap-4 small">
      <section className="grid gap-1 align-start">
        <h3 className="m-0">Run</h3>
        <span className="anywhere">{manifest.id}</span>
        <span>
          {manifest.model.name} · {manifest.data.name}
        </span>
        <span title="Time of its steps, without pauses and evaluations">
          <time dateTime={manifest.created}>{startedAt(manifest.created)}</time>, {formatSeconds(run.seconds || null)},{" "}
          {formatBytes(run.bytes)}
        </span>
        {forkedFrom !== undefined && (
          <a className="anywhere" href={linkTo({ screen: "train", run: forkedFrom.run, step: forkedFrom.step })}>
            Fork of {parent?.manifest.title ?? forkedFrom.run}, step {forkedFrom.step}
          </a>
        )}
        {notes.text !== "" && <p className={`m-0 anywhere ${styles.noteText}`}>{notes.text}</p>}
        <Button kind="quiet" className={styles.editNotes} data-testid="edit-notes" onClick={props.onNotes}>
          {notes.text === "" && notes.tags.length === 0 ? "Add notes…" : "Edit notes…"}
        </Button>
      </section>
      <section className="grid gap-1 align-start">
        <h3 className="m-0">Held-out gain</h3>
        <AllGains run={run} />
      </section>
      <section className="grid gap-1 align-start">
        <h3 className="m-0">Checkpoints</h3>
        <Checkpoints run={run} />
      </section>
      {parts.length > 0 && (
        <section className="grid gap-1 align-start" data-testid="run-parts">
          <h3 className="m-0">Computed by</h3>
          <ul className="no-bullets m-0 p-0">
            {parts.map(({ first, last, by, changed }) => (
              <li key={first} className="anywhere">
                <span className="muted">{first === last ? `Step ${first}` : `Steps ${first}–${last}`}</span> {by}
                <Changes changes={Object.entries(changed).map(changeOf)} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {changes !== null && changes.length > 0 && (
        <section className="grid gap-1 align-start">
          <h3 className="m-0">Changed</h3>
          <Changes changes={changes} />
        </section>
      )}
    </div>
  );
}

/** Changes of all held-out scores since the start, greedy first, with 95 % intervals. */
export function AllGains({ run }: { readonly run: RunDigest }): ReactNode {
  const found = (id: ScoreId) => run.gains.find(({ score }) => score === id);
  const pictures = run.gains[0]?.pictures ?? 0;
  const few = fewPicturesText(pictures);
  const shown = knownGains(run);
  if (shown.length === 0) return "No gain was measured";
  return (
    <>
      {shown.map((gain) => (
        <span key={gain.name} className="grid">
          <span className="muted small">{gain.name}</span>
          <GainNumbers
            className="grid"
            gain={gain}
            of={(id) => found(id) ?? null}
            pictures={pictures}
            note={(id) => {
              const own = found(id);
              return own !== undefined && own.rows < own.of && ` ${lackingText(own.rows, own.of)}`;
            }}
          />
        </span>
      ))}
      {few !== "" && <small className="warn">{few}</small>}
    </>
  );
}

/** A setting that a part of the run changed, by its label. */
function changeOf([name, { from, to }]: [string, { readonly from: unknown; readonly to: unknown }]): Change {
  const { label } = SETTINGS[name as SettingKey] ?? { label: name };
  return { label, before: `${from}`, after: `${to}` };
}

export function Changes({ changes }: { readonly changes: readonly Change[] }): ReactNode {
  return (
    <ul className="no-bullets m-0 p-0">
      {changes.map(({ label, before, after }) => (
        <li key={label} className="anywhere">
          {label} <span className="muted">{before} →</span> <b>{after}</b>
        </li>
      ))}
    </ul>
  );
}

function startedAt(iso: string): string {
  const date = new Date(iso);
  const parts = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const;
  return Number.isNaN(date.getTime()) ? NONE : date.toLocaleString("en-GB", parts);
}

/** Checkpoints of a run: each leads to its held-out scores, or has them computed. */
function Checkpoints({ run }: { readonly run: RunDigest }): ReactNode {
  const { manifest, checkpoints, evaluated, best } = run;
  const blockerOf = useRunBlocker();
  const blocker = blockerOf(manifest.id, manifest.data.heldOutRows === 0 ? "The run holds out no rows" : null);
  const now = useRunning(EVALUATION);
  if (checkpoints.length === 0) return "None";
  return (
    <>
      <ul className="no-bullets m-0 p-0" data-testid="checkpoints">
        {checkpoints.map((step) => (
          <li key={step} className={`row gap-2 ${styles.checkpoint}`}>
            <span>
              {step}
              {step === best?.step && " (best)"}
            </span>
            {now?.runId === manifest.id && now.step === step ? (
              <span className="muted">{evaluationText(now)}</span>
            ) : evaluated.includes(step) ? (
              <a className="cell-link" href={linkTo({ screen: "train", tab: "held-out", run: manifest.id, step })}>
                scores
              </a>
            ) : (
              <Button
                kind="quiet"
                data-testid="evaluate-checkpoint"
                aria-label={`Evaluate step ${step} of ${manifest.title}`}
                blocker={now === null ? blocker : "Another checkpoint is being evaluated"}
                onClick={() => report(evaluateCheckpoint(manifest, step))}
              >
                Evaluate
              </Button>
            )}
          </li>
        ))}
      </ul>
      {best !== null && <span className="muted">{bestText(best)}</span>}
    </>
  );
}

/** How the best checkpoint was chosen. */
function bestText({ selection }: BestCheckpoint): string {
  return `best by ${SELECTION_NAMES[selection.metric]} ${fixed(selection.value, 3)} on ${counted(selection.n, "selection row")}`;
}

/** Evaluates held-out rows with a checkpoint of a stored run, until stopped. @throws LabError when it cannot */
export async function evaluateCheckpoint(run: StoredRun, step: number): Promise<void> {
  const about = { runId: run.id, title: run.title, step };
  // It begins before consent is requested, so that a second click cannot start another evaluation.
  await startJob(EVALUATION, { ...about, done: 0, total: 0 }, async (signal, show) => {
    await agreeToRun(run);
    const onRows = (done: number, total: number): void => show({ ...about, done, total });
    await pluginCalls<EvaluationCalls>("trainer").evaluate(run.id, selection(run.config), step, onRows, signal);
    outdateRun(run.id);
  });
}
