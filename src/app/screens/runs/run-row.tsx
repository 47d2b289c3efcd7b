import { type ReactNode, useRef, useState } from "react";
import type { RunState } from "../../../engine/rl/run/events.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { Badge } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { IconDown, IconMore } from "../../components/ui/icons.tsx";
import { Menu } from "../../components/ui/menu.tsx";
import { linkTo } from "../../stores/route.ts";
import { useExports } from "../../stores/run/exports.ts";
import { formatBytes, formatSeconds } from "../../styles/format.ts";
import { EXPORT_CHOICES, type ExportChoice } from "./export-run.ts";
import { RunCheckpoints } from "./run-checkpoints.tsx";
import type { RunQuestion } from "./run-dialog.tsx";
import type { Change } from "./run-difference.ts";
import { NotesOf } from "./run-notes.tsx";
import { RunGains, RunRewards } from "./run-numbers.tsx";
import styles from "./runs.module.css";

/** Blocker of a run that another tab trains. */
export const OTHER_TAB = "This run is training in another tab";

/** Words as in the status strip: a run stored as paused was stopped and can be resumed. */
const STATE_WORDS = { running: "running", paused: "stopped", finished: "finished", failed: "failed" } as const;

const TONES = { running: "accent", paused: "warn", finished: "good", failed: "bad" } as const;

export interface RunRowProps {
  readonly run: RunDigest;
  /** Whether it is the run of this page. */
  readonly live: boolean;
  /** Its state in the trainer; null when it is not training here. */
  readonly state: RunState | null;
  /** Whether another tab trains it. */
  readonly otherTabs: boolean;
  /** Differences to the previous run; null for the first run. */
  readonly changes: readonly Change[] | null;
  /** Why it cannot be resumed now, or null. */
  readonly resumeBlocker: string | null;
  readonly forkBlocker: string | null;
  readonly compared: boolean;
  /** Why no other run can be added to the comparison, or null. */
  readonly compareBlocker: string | null;
  readonly onCompare: (on: boolean) => void;
  readonly onRename: (title: string) => void;
  /** Whether all steps are done, so that it can only be extended. */
  readonly done: boolean;
  readonly onResume: () => void;
  readonly onAsk: (kind: RunQuestion["kind"]) => void;
  readonly onSettings: () => void;
  readonly onExport: (choice: ExportChoice) => void;
  /** Why no checkpoint can be evaluated now, or null. */
  readonly evaluateBlocker: string | null;
  readonly onEvaluate: (step: number) => void;
}

/** One stored run and its actions. */
export function RunRow(props: RunRowProps): ReactNode {
  const { run, live, state, otherTabs, changes, resumeBlocker, compared } = props;
  const { manifest } = run;
  const exporting = useExports((state) => state.ongoing.some(({ runId }) => runId === manifest.id));
  const interrupted = manifest.state === "running" && state === null && !otherTabs;
  return (
    <tr data-live={live}>
      <td data-label="Compare" className={styles.compare}>
        <input
          type="checkbox"
          aria-label={`Compare ${manifest.title}`}
          title={props.compareBlocker ?? "Show on the same charts as the other selected runs"}
          checked={compared}
          disabled={!compared && props.compareBlocker !== null}
          onChange={(event) => props.onCompare(event.currentTarget.checked)}
        />
      </td>
      <th scope="row">
        <RunTitle title={manifest.title} onRename={props.onRename} />
        <small>{manifest.id}</small>
        <small>
          {manifest.model.name} · {manifest.data.name}
        </small>
        {manifest.forkedFrom !== undefined && (
          <small className="block muted">
            Fork of {manifest.forkedFrom.run}, step {manifest.forkedFrom.step}
          </small>
        )}
        <NotesOf notes={run.notes} onEdit={() => props.onAsk("notes")} />
      </th>
      <td data-label="Started">
        <time dateTime={manifest.created}>{startedAt(manifest.created)}</time>
        <small title="Time of its steps, without pauses and evaluations">{formatSeconds(run.seconds || null)}</small>
      </td>
      <td data-label="State">
        <Badge tone={interrupted || state === "paused" ? "warn" : TONES[manifest.state]}>
          {otherTabs ? "in another tab" : interrupted ? "interrupted" : (state ?? STATE_WORDS[manifest.state])}
        </Badge>
      </td>
      <td data-label="Steps" className={styles.number}>
        {run.steps} / {manifest.config.steps}
      </td>
      <td data-label="Reward, last 10">
        <RunRewards run={run} />
      </td>
      <td data-label="Held-out gain">
        <RunGains run={run} />
      </td>
      <td data-label="Changed" className={`small ${styles.changes}`}>
        <Changes changes={changes} />
      </td>
      <td data-label="Size" className={styles.number}>
        {formatBytes(run.bytes)}
      </td>
      <td data-label="Checkpoints" className={styles.number}>
        <RunCheckpoints run={run} blocker={props.evaluateBlocker} onEvaluate={props.onEvaluate} />
      </td>
      <td>
        <div className={`flex wrap ${styles.actions}`}>
          <a
            className={`inline-flex align-centre min-control round-m medium ${styles.openLink}`}
            href={linkTo({ screen: "train", run: live ? null : manifest.id })}
          >
            Open
          </a>
          <Button blocker={resumeBlocker} onClick={props.done ? () => props.onAsk("longer") : props.onResume}>
            {props.done ? "Extend…" : "Resume"}
          </Button>
          <Menu
            entries={EXPORT_CHOICES.map(({ value, label }) => ({ label, act: () => props.onExport(value) }))}
            trigger={
              <Button data-testid="export-run" disabled={exporting}>
                {exporting ? "Exporting" : "Export"}
                <IconDown />
              </Button>
            }
          />
          <Menu
            entries={[
              { label: "Fork…", act: () => props.onAsk("fork"), blocker: props.forkBlocker },
              {
                label: "Use settings",
                act: props.onSettings,
                help: "Fills the Setup form with the settings of this run",
              },
              {
                label: "Delete…",
                act: () => props.onAsk("delete"),
                danger: true,
                blocker: otherTabs ? OTHER_TAB : state === null ? null : "Stop the run first",
              },
            ]}
            trigger={
              <Button
                data-testid="more-of-run"
                aria-label={`More actions for ${manifest.title}`}
                title="More"
                icon={<IconMore />}
              />
            }
          />
        </div>
      </td>
    </tr>
  );
}

function Changes({ changes }: { readonly changes: readonly Change[] | null }): ReactNode {
  if (changes === null) return <span className="muted">first run</span>;
  if (changes.length === 0) return <span className="muted">nothing</span>;
  return (
    <ul>
      {changes.slice(0, 4).map((change) => (
        <li key={change.label}>
          {change.label} <span className="muted">{change.before} →</span> <b>{change.after}</b>
        </li>
      ))}
      {changes.length > 4 && (
        <li title={changes.map(({ label, before, after }) => `${label}: ${before} → ${after}`).join("\n")}>
          and {changes.length - 4} more
        </li>
      )}
    </ul>
  );
}

function startedAt(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime())
    ? "–"
    : date.toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

/** A title that becomes a field on click; Enter or blur saves the text, Escape discards it. */
function RunTitle(props: { readonly title: string; readonly onRename: (title: string) => void }): ReactNode {
  const { title, onRename } = props;
  const [draft, setDraft] = useState<string | null>(null);
  /** Whether a key ended the editing: then the button takes the focus back. */
  const byKey = useRef(false);
  if (draft === null) {
    return (
      <button
        ref={(element) => {
          if (byKey.current) element?.focus();
        }}
        type="button"
        className={`borderless round-s clear bold text-left ${styles.title}`}
        title="Rename"
        onBlur={() => {
          byKey.current = false;
        }}
        onClick={() => setDraft(title)}
      >
        {title}
      </button>
    );
  }
  const keep = (): void => {
    const next = draft.trim();
    setDraft(null);
    if (next !== "" && next !== title) onRename(next);
  };
  return (
    <input
      className={`full-width framed-control round-s surface bold ${styles.titleField}`}
      aria-label="Title of the run"
      maxLength={80}
      value={draft}
      // biome-ignore lint/a11y/noAutofocus: the field replaces the button that was just clicked
      autoFocus
      onFocus={(event) => event.currentTarget.select()}
      onChange={(event) => setDraft(event.currentTarget.value)}
      onBlur={keep}
      onKeyDown={(event) => {
        byKey.current = event.key === "Enter" || event.key === "Escape";
        // Otherwise the same key press would activate the button.
        if (byKey.current) event.preventDefault();
        if (event.key === "Enter") keep();
        if (event.key === "Escape") setDraft(null);
      }}
    />
  );
}
