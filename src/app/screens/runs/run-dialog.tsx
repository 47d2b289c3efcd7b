import { type FormEvent, type ReactNode, useId, useState } from "react";
import { configDifference, parseSetting, SETTING_KEYS } from "../../../engine/config/parse.ts";
import { presetConfig } from "../../../engine/config/presets.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../engine/config/table.ts";
import { toLabError } from "../../../engine/errors.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { FIXED, forkConfig } from "../../../engine/runs/library/fork.ts";
import { MOST_TEXT, tagsOf } from "../../../engine/runs/notes.ts";
import { lab } from "../../clients/lab.ts";
import { deleteRun } from "../../clients/run/interrupted.ts";
import { resumeAndShow } from "../../clients/run/resume.ts";
import { forkRun } from "../../clients/run/start-run.ts";
import { storedGroups } from "../../components/rollout/group-source.ts";
import { Button } from "../../components/ui/button.tsx";
import { Segmented, Select, TextInput } from "../../components/ui/controls.tsx";
import { Dialog } from "../../components/ui/overlays.tsx";
import { openRowsOf } from "../../components/upload/pickers.tsx";
import { linkTo, navigate } from "../../stores/route.ts";
import { forgetMetrics } from "../../stores/run/metrics.ts";
import { retitleRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { counted, formatBytes } from "../../styles/format.ts";
import { settingChange } from "./run-list.ts";
import styles from "./runs.module.css";

const TITLES = {
  longer: "Extend run",
  fork: "Continue from a checkpoint",
  rename: "Rename run",
  notes: "Notes",
  delete: "Delete this run?",
} as const;

/** A dialog about a run. */
export interface RunQuestion {
  readonly kind: keyof typeof TITLES;
  readonly run: RunDigest;
}

/** Continues a stored run and shows it. @param steps its new length @param from step that it goes back to */
export async function continueRun({ manifest }: RunDigest, steps?: number, from?: number): Promise<void> {
  // Steps that a restored run drops are not drawn again.
  if (from !== undefined) {
    forgetMetrics(manifest.id);
    storedGroups.forget();
  }
  await resumeAndShow(manifest, openRowsOf, steps, from);
}

interface Answered {
  readonly run: RunDigest;
  /** Whether it is stored elsewhere, so that only a copy can continue. */
  readonly readOnly: boolean;
  readonly onCancel: () => void;
  /** Receives what the user decided on; null for nothing. */
  readonly onWork: (work: Promise<unknown> | null) => void;
}

const FORMS: Readonly<Record<RunQuestion["kind"], (props: Answered) => ReactNode>> = {
  longer: Extend,
  fork: Fork,
  rename: Rename,
  notes: Notes,
  delete: Delete,
};

/** The dialog of a question; none for null. */
export function RunDialog(props: {
  readonly question: RunQuestion | null;
  readonly readOnly: boolean;
  readonly onClose: () => void;
  readonly onWork: (work: Promise<unknown>) => void;
}): ReactNode {
  const { question, readOnly, onClose } = props;
  const Asked = question === null ? null : FORMS[question.kind];
  return (
    <Dialog title={question === null ? "" : TITLES[question.kind]} open={question !== null} onOpenChange={onClose}>
      {Asked !== null && question !== null && (
        <Asked
          run={question.run}
          readOnly={readOnly}
          onCancel={onClose}
          onWork={(work) => {
            onClose();
            if (work !== null) props.onWork(work);
          }}
        />
      )}
    </Dialog>
  );
}

/** A form with a button that cancels and one that decides. @param props.blocked disables the second */
function Decision(props: {
  readonly children: ReactNode;
  readonly button: string;
  readonly danger?: boolean;
  readonly blocked?: boolean;
  readonly cancel?: string;
  readonly onCancel: () => void;
  readonly onDecide: () => void;
}): ReactNode {
  const { children, button, danger = false, blocked = false, cancel = "Cancel" } = props;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!blocked) props.onDecide();
  };
  return (
    <form className="grid gap-3" onSubmit={submit}>
      {children}
      <div className="flex gap-2 justify-end">
        <Button onClick={props.onCancel}>{cancel}</Button>
        <Button kind={danger ? "danger" : "primary"} type="submit" disabled={blocked}>
          {button}
        </Button>
      </div>
    </form>
  );
}

/** A labelled field for a number of steps. */
function StepsField(props: {
  readonly text: string;
  readonly problem: string | null;
  readonly note: string;
  readonly onChange: (text: string) => void;
}): ReactNode {
  const id = useId();
  const { text, problem, note } = props;
  return (
    <>
      <p className="row gap-2 m-0">
        <label htmlFor={id}>Total steps</label>
        <TextInput
          id={id}
          className={styles.steps ?? ""}
          inputMode="numeric"
          autoComplete="off"
          value={text}
          aria-invalid={problem !== null}
          aria-describedby={`${id}n`}
          onChange={(event) => props.onChange(event.currentTarget.value)}
        />
      </p>
      <p id={`${id}n`} className="muted m-0" role={problem === null ? undefined : "alert"}>
        {problem ?? note}
      </p>
    </>
  );
}

/** The steps that a text names, or why it names none. */
function readSteps(text: string): { readonly steps: number } | { readonly problem: string } {
  const parsed = parseSetting("steps", text);
  return "value" in parsed ? { steps: Number(parsed.value) } : parsed;
}

function Extend({ run, onCancel, onWork }: Answered): ReactNode {
  const { title, config } = run.manifest;
  const done = config.steps;
  const [text, setText] = useState(String(2 * done));
  const parsed = readSteps(text);
  const steps = "steps" in parsed ? parsed.steps : Number.NaN;
  const few = steps > done ? null : `${done} ${done === 1 ? "step is" : "steps are"} already done`;
  const problem = "problem" in parsed ? parsed.problem : few;
  const note =
    config.lrSchedulerType === "constant"
      ? `${steps - done} more steps; the result equals an uninterrupted run of ${steps} steps`
      : `${steps - done} more steps; the learning-rate schedule is stretched to ${steps} steps, so the rate first jumps up`;
  return (
    <Decision
      button="Extend"
      blocked={problem !== null}
      onCancel={onCancel}
      onDecide={() => onWork(continueRun(run, steps))}
    >
      <p className="m-0">
        <b>{title}</b> continues from its newest checkpoint, with the same settings, rows and seeds
      </p>
      <StepsField text={text} problem={problem} note={note} onChange={setText} />
    </Decision>
  );
}

const KINDS = { fork: "As a new run", restore: "In this run" } as const;

/** Settings of the page that differ from a run's: those that a fork can take, and those that it keeps. */
export function forkableChanges(run: LabConfig, page: LabConfig): Record<"changes" | "fixed", readonly SettingKey[]> {
  const differs = configDifference(page, run);
  // The number of steps has its own field; the hash belongs to the code.
  const keys = SETTING_KEYS.filter((key) => key in differs && key !== "steps" && key !== "userRewardHash");
  return {
    changes: keys.filter((key) => !FIXED.includes(key)),
    fixed: keys.filter((key) => FIXED.includes(key)),
  };
}

/** The chosen settings of the page; a custom reward with its hash. */
export function chosenSettings(page: LabConfig, keys: readonly SettingKey[]): Partial<LabConfig> {
  const all: readonly SettingKey[] = keys.includes("userReward") ? [...keys, "userRewardHash"] : keys;
  return Object.fromEntries(all.map((key) => [key, page[key]])) as Partial<LabConfig>;
}

function Fork({ run, readOnly, onCancel, onWork }: Answered): ReactNode {
  const { manifest, checkpoints, steps: done, best } = run;
  const id = useId();
  const { config: page, preset } = useSession();
  const { changes, fixed } = forkableChanges(manifest.config, page);
  const [step, setStep] = useState(checkpoints.at(-1) ?? 0);
  const [kind, setKind] = useState<keyof typeof KINDS>("fork");
  // What the user set is taken; what the preset alone brings is offered.
  const [taken, setTaken] = useState<readonly SettingKey[]>(() =>
    changes.filter((key) => page[key] !== presetConfig(preset)[key]),
  );
  const [typed, setText] = useState<string | null>(null);
  const { steps } = manifest.config;
  const text = typed ?? String(step < steps ? steps : 2 * steps);
  const parsed = readSteps(text);
  const given = {
    ...chosenSettings(
      page,
      taken.filter((key) => changes.includes(key)),
    ),
    ...("steps" in parsed && parsed.steps !== steps ? { steps: parsed.steps } : {}),
  };
  const problem =
    kind === "restore" ? null : "problem" in parsed ? parsed.problem : whyNot(manifest.config, given, step);
  const later = done - step;
  const restored =
    later === 0
      ? `The run continues from step ${step}; nothing is deleted`
      : `The run goes back to step ${step}; ${counted(later, "later step")} with rollouts and checkpoints will be deleted`;
  const toTrain = (): void => navigate({ screen: "train", run: null, step: null, rollout: null });
  return (
    <Decision
      button={kind === "fork" ? "Fork" : `Restore step ${step}`}
      danger={kind === "restore"}
      blocked={problem !== null}
      onCancel={onCancel}
      onDecide={() =>
        onWork(kind === "restore" ? continueRun(run, undefined, step) : forkRun(manifest, step, given).then(toTrain))
      }
    >
      <div className="row wrap gap-2-3">
        <label htmlFor={`${id}s`}>Checkpoint</label>
        <Select
          id={`${id}s`}
          options={checkpoints.map((at) => ({
            value: String(at),
            label: `Step ${at}${at === best?.step ? " (best)" : ""}`,
          }))}
          value={String(step)}
          onChange={(value) => setStep(Number(value))}
        />
        {!readOnly && <Segmented label="Continue" options={KINDS} value={kind} onChange={setKind} />}
      </div>
      {kind === "restore" ? (
        <p className="muted m-0">{restored}</p>
      ) : (
        <>
          {changes.length > 0 ? (
            <fieldset className={`grid gap-1 m-0 p-0 borderless ${styles.taken}`} data-testid="fork-changes">
              <legend>Settings of this page</legend>
              {changes.map((key) => (
                <Change
                  key={key}
                  change={settingChange(key, manifest.config, page)}
                  on={taken.includes(key)}
                  onChange={(on) => setTaken(on ? [...taken, key] : taken.filter((other) => other !== key))}
                />
              ))}
            </fieldset>
          ) : (
            <p className="muted m-0">
              The settings of this page are those of the run. Change them on{" "}
              <a href={linkTo({ screen: "setup" })}>Setup</a> or <a href={linkTo({ screen: "rewards" })}>Rewards</a>{" "}
              first, and the fork takes them
            </p>
          )}
          {fixed.length > 0 && (
            <p className="muted small m-0">
              A fork keeps {fixed.map((key) => SETTINGS[key].label).join(", ")} of its parent
            </p>
          )}
          <StepsField
            text={text}
            problem={problem}
            note={`A copy continues from step ${step}; ${manifest.title} stays unchanged. The curves mark the change`}
            onChange={setText}
          />
        </>
      )}
    </Decision>
  );
}

/** Why a fork cannot take these settings, or null. */
function whyNot(parent: LabConfig, given: Partial<LabConfig>, step: number): string | null {
  try {
    forkConfig(parent, given, step);
    return null;
  } catch (thrown) {
    return toLabError(thrown).message;
  }
}

function Change(props: {
  readonly change: ReturnType<typeof settingChange>;
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
}): ReactNode {
  const { label, before, after } = props.change;
  return (
    <label className="row gap-2">
      <input type="checkbox" checked={props.on} onChange={(event) => props.onChange(event.currentTarget.checked)} />
      <span className="anywhere">
        {label} <span className="muted">{before} →</span> <b>{after}</b>
      </span>
    </label>
  );
}

function Rename({ run: { manifest }, onCancel, onWork }: Answered): ReactNode {
  const id = useId();
  const [draft, setDraft] = useState(manifest.title);
  const title = draft.trim();
  const rename = async (): Promise<void> => {
    await lab().data.renameRun(manifest.id, title);
    retitleRun(manifest.id, title);
  };
  return (
    <Decision
      button="Rename"
      blocked={title === ""}
      onCancel={onCancel}
      onDecide={() => onWork(title === manifest.title ? null : rename())}
    >
      <label htmlFor={id}>Title of the run</label>
      <TextInput
        id={id}
        maxLength={80}
        value={draft}
        onFocus={(event) => event.currentTarget.select()}
        onChange={(event) => setDraft(event.currentTarget.value)}
      />
    </Decision>
  );
}

function Notes({ run: { manifest, notes }, onCancel, onWork }: Answered): ReactNode {
  const id = useId();
  const [text, setText] = useState(notes.text);
  const [tags, setTags] = useState(notes.tags.join(", "));
  return (
    <Decision
      button="Save"
      onCancel={onCancel}
      onDecide={() => onWork(lab().data.setNotes(manifest.id, { text, tags: tagsOf(tags) }))}
    >
      <p className="grid gap-1 m-0">
        <label htmlFor={`${id}t`}>Tags</label>
        <TextInput
          id={`${id}t`}
          value={tags}
          placeholder="baseline, long captions"
          aria-describedby={`${id}n`}
          onChange={(event) => setTags(event.currentTarget.value)}
        />
        <span id={`${id}n`} className="muted small">
          Separated by commas; the first is the run's group
        </span>
      </p>
      <p className="grid gap-1 m-0">
        <label htmlFor={`${id}x`}>Notes</label>
        <textarea
          id={`${id}x`}
          className={`full-width framed-control round-s surface p-2 ${styles.noteField}`}
          rows={6}
          maxLength={MOST_TEXT}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </p>
    </Decision>
  );
}

function Delete({ run, onCancel, onWork }: Answered): ReactNode {
  const { manifest, steps, checkpoints, bytes } = run;
  return (
    <Decision
      button={`Delete ${formatBytes(bytes)}`}
      danger
      cancel="Keep"
      onCancel={onCancel}
      onDecide={() => onWork(deleteRun(manifest.id))}
    >
      <p className="m-0">
        <b>{manifest.title}</b> with its {counted(steps, "step")}, their rollouts and{" "}
        {counted(checkpoints.length, "checkpoint")} will be deleted; this frees {formatBytes(bytes)} and cannot be
        undone
      </p>
    </Decision>
  );
}
