import type { ReactNode } from "react";
import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import { rangeText, signed, verdict } from "../../../engine/runs/evaluations/difference-text.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { report } from "../../clients/lab.ts";
import { OTHER_TAB, useRunBlocker } from "../../clients/run/blockers.ts";
import { unsaved, useResumeNeeds } from "../../clients/run/resume.ts";
import { Sparkline } from "../../components/charts/sparkline.tsx";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { loopStyle } from "../../components/rollout/rollout-view.ts";
import { Badge, Button } from "../../components/ui/button.tsx";
import { IconChevron, IconMore, IconSave } from "../../components/ui/icons.tsx";
import { Menu } from "../../components/ui/menu.tsx";
import { takeSettingsOf } from "../../components/upload/pickers.tsx";
import { useRunning } from "../../stores/jobs.ts";
import { linkTo, navigate } from "../../stores/route.ts";
import { useOtherTabs } from "../../stores/run/other-tabs.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { fixed, NONE } from "../../styles/format.ts";
import { EXPORT_CHOICES, exportOf, exportRun } from "./export-run.ts";
import { knownGains } from "./ongoing.tsx";
import { continueRun, type RunQuestion } from "./run-dialog.tsx";
import { type Change, changesText, runChanges, STATE_WORDS, tagFilter } from "./run-list.ts";
import styles from "./runs.module.css";

const TONES = { running: "accent", paused: "warn", finished: "good", failed: "bad" } as const;

const hidden = (label: string) => ({ label: <span className="visually-hidden">{label}</span> });

export const COLUMNS = [
  hidden("Compare"),
  ...["Run", "State", "Steps", "Reward, last 10", "Gain", "Changed"],
  hidden("Actions"),
];

interface RunRowProps {
  readonly run: RunDigest;
  /** The run that it changed; null for the first run. */
  readonly before: RunManifest | null;
  /** Place of its colour in the charts; null if it is not on them. */
  readonly colour: number | null;
  readonly compared: boolean;
  /** Why no other run can be added to the comparison, or null. */
  readonly compareBlocker: string | null;
  readonly onCompare: (on: boolean) => void;
  readonly onAsk: (kind: RunQuestion["kind"]) => void;
  /** Whether its details are shown below its line. */
  readonly opened: boolean;
  readonly onOpen: () => void;
}

/** One stored run on one line, and its details below it when they are open. */
export function RunRow(props: RunRowProps): ReactNode {
  const { run, before, compared, colour, opened, onAsk } = props;
  const { manifest, notes, checkpoints } = run;
  const { id, title } = manifest;
  const changes = before === null ? null : runChanges(manifest, before);
  const live = useRun(({ runId }) => runId === id);
  // Its state in the trainer; null when it is not training here.
  const state = useRun((now) => (now.runId === id && isActive(now.state) ? now.state : null));
  const otherTab = useOtherTabs().includes(id);
  const blockerOf = useRunBlocker();
  // A resumed run uses its stored settings: the form and its plan do not block it.
  const needs = useResumeNeeds(manifest);
  const lack = unsaved(checkpoints);
  const done = manifest.state === "finished" && run.steps >= manifest.config.steps;
  const unextended = done && !hasPanels("extend") ? "This page has no plug-in that extends runs" : null;
  const exporting = useRunning(exportOf(id)) !== null;
  const interrupted = manifest.state === "running" && state === null && !otherTab;
  return (
    <>
      <tr data-live={live} data-run={id}>
        <td className={styles.compare}>
          <input
            type="checkbox"
            aria-label={`Compare ${title}`}
            title={props.compareBlocker ?? "Show on the same charts as the other selected runs"}
            checked={compared}
            disabled={!compared && props.compareBlocker !== null}
            onChange={(event) => props.onCompare(event.currentTarget.checked)}
          />
        </td>
        <th scope="row">
          <span className="row gap-2 min-0">
            {colour !== null && <i className={styles.line} style={{ background: `var(--run-${colour + 1})` }} />}
            <a
              className={`bold ${styles.name}`}
              data-testid="open-run"
              title={`${title}, ${id}`}
              href={linkTo({ screen: "train", run: live ? null : id })}
            >
              {title}
            </a>
            {notes.tags.length > 0 && (
              <span className={`row wrap gap-1 ${styles.tags}`}>
                {notes.tags.map((tag) => (
                  <TagButton key={tag} tag={tag} chosen={false} onClick={() => navigate({ find: tagFilter(tag) })} />
                ))}
              </span>
            )}
          </span>
        </th>
        <td data-label="State">
          <Badge tone={interrupted || state === "paused" ? "warn" : TONES[manifest.state]}>
            {otherTab ? "in another tab" : interrupted ? "interrupted" : (state ?? STATE_WORDS[manifest.state])}
          </Badge>
        </td>
        <td data-label="Steps" className="nowrap">
          {run.steps} / {manifest.config.steps}
        </td>
        <td data-label="Reward">
          <Rewards run={run} />
        </td>
        <td data-label="Gain">
          <FirstGain run={run} />
        </td>
        <td data-label="Changed" className={`small ${styles.changed}`}>
          <Changed
            changes={changes}
            none={manifest.forkedFrom == null ? "first run" : "its parent is deleted"}
            opened={opened}
            onOpen={props.onOpen}
          />
        </td>
        <td>
          <div className="row justify-end">
            <Button
              blocker={blockerOf(id, unextended ?? lack, needs?.blocker)}
              onClick={() => (done ? onAsk("longer") : report(continueRun(run)))}
            >
              {done ? "Extend…" : "Resume"}
            </Button>
            <Menu
              entries={EXPORT_CHOICES.map(({ value, label }) => ({
                label,
                act: () => report(exportRun({ ...manifest, bytes: run.bytes }, value)),
              }))}
              trigger={
                <Button
                  kind="quiet"
                  data-testid="export-run"
                  disabled={exporting}
                  aria-label={exporting ? `Exporting ${title}` : `Export ${title}`}
                  title={exporting ? "Exporting" : "Export"}
                  icon={<IconSave />}
                />
              }
            />
            <Menu
              entries={[
                { label: "Rename…", act: () => onAsk("rename") },
                {
                  label: "Notes and tags…",
                  act: () => onAsk("notes"),
                  blocker: hasPanels("run-notes") ? null : "This page has no plug-in that keeps notes",
                },
                {
                  label: "Fork…",
                  act: () => onAsk("fork"),
                  blocker: blockerOf(id, hasPanels("fork") ? lack : "This page has no plug-in that forks runs"),
                },
                {
                  label: "Use settings",
                  act: () => {
                    navigate({ screen: "setup" });
                    report(takeSettingsOf(manifest));
                  },
                  help: "Fills Setup with the settings of this run and opens its model",
                },
                {
                  label: "Delete…",
                  act: () => onAsk("delete"),
                  danger: true,
                  blocker: otherTab ? OTHER_TAB : state === null ? null : "Stop the run first",
                },
              ]}
              trigger={
                <Button
                  kind="quiet"
                  data-testid="more-of-run"
                  aria-label={`More actions for ${title}`}
                  title="More"
                  icon={<IconMore />}
                />
              }
            />
            {hasPanels("run-details") && (
              <Button
                kind="quiet"
                className={styles.opener ?? ""}
                data-testid="run-details"
                aria-expanded={opened}
                aria-label={`Details of ${title}`}
                title="Details"
                icon={<IconChevron />}
                onClick={props.onOpen}
              />
            )}
          </div>
        </td>
      </tr>
      {opened && (
        <tr className={styles.details} data-testid="details-of-run">
          <td colSpan={COLUMNS.length}>
            <PluginPanels at="run-details" given={{ run, before, onNotes: () => onAsk("notes") }} />
          </td>
        </tr>
      )}
    </>
  );
}

export function TagButton(props: {
  readonly tag: string;
  readonly chosen: boolean;
  readonly onClick: () => void;
}): ReactNode {
  const { tag, chosen } = props;
  return (
    <button
      type="button"
      className={`small round-s pointer framed nowrap ${styles.tag}`}
      aria-pressed={chosen}
      title={chosen ? "List all runs" : `List the runs that fit ${tag}`}
      onClick={props.onClick}
    >
      {tag}
    </button>
  );
}

/** Each loop's reward over the steps, and its mean over the last ten. */
function Rewards({ run: { rewards, curve } }: { readonly run: RunDigest }): ReactNode {
  const loops = LOOP_IDS.filter((loop) => rewards[loop] !== undefined);
  if (loops.length === 0) return NONE;
  return (
    <span className="row gap-2">
      {loops.map((loop) => (
        <span
          key={loop}
          className="row gap-1"
          style={loopStyle(loop)}
          title={`Loop ${loop}: mean reward of the last ten steps`}
        >
          <Sparkline
            className={styles.curve ?? ""}
            name={`Reward of loop ${loop}`}
            values={curve.map((point) => point[loop] ?? Number.NaN)}
          />
          {fixed(rewards[loop], 3)}
        </span>
      ))}
    </span>
  );
}

/** The change of the first held-out score without sampling, or of the only one there is. */
function FirstGain({ run }: { readonly run: RunDigest }): ReactNode {
  const [first] = knownGains(run);
  const [score] = first?.scores ?? [];
  const found = run.gains.find((gain) => gain.score === score?.id);
  const last = run.evaluated.at(-1);
  if (first === undefined || score === undefined || found === undefined) return NONE;
  return (
    <>
      <a
        className={`cell-link nowrap ${styles.gain}`}
        href={linkTo({ screen: "train", tab: "held-out", run: run.manifest.id, step: last ?? null })}
        title={`${first.name}, ${score.answers}, from step ${found.from} to ${last}: ${rangeText(found)}. Opens the rows behind this number`}
        data-verdict={verdict(found, found.pictures)}
      >
        {signed(found.mean)}
      </a>
      {found.from > 0 && <small className={`block muted ${styles.since}`}>from step {found.from}</small>}
    </>
  );
}

/** The first change, and how many more there are: the number opens the details, which have all of them. */
function Changed(props: {
  readonly changes: readonly Change[] | null;
  /** Why there is no run to compare with. */
  readonly none: string;
  readonly opened: boolean;
  readonly onOpen: () => void;
}): ReactNode {
  const { changes, none, opened, onOpen } = props;
  const [first] = changes ?? [];
  if (first === undefined) return <span className="muted">{changes === null ? none : "nothing"}</span>;
  const more = (changes?.length ?? 0) - 1;
  return (
    <span className="row gap-1 min-0" title={changesText(changes ?? [])}>
      <span className={styles.change}>
        {first.label} <b>{first.after}</b>
      </span>
      {more > 0 && (
        <button
          type="button"
          className="link nowrap"
          aria-label={`+${more} more ${more === 1 ? "change" : "changes"}`}
          aria-expanded={opened}
          disabled={!hasPanels("run-details")}
          onClick={onOpen}
        >
          +{more}
        </button>
      )}
    </span>
  );
}
