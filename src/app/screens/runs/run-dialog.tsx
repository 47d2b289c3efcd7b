import { type FormEvent, type ReactNode, useId, useState } from "react";
import { parseSetting } from "../../../engine/config/parse.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { MOST_TEXT, tagsOf } from "../../../engine/runs/notes.ts";
import { lab, report } from "../../clients/lab.ts";
import { deleteRun } from "../../clients/run/interrupted.ts";
import { resumeAndShow } from "../../clients/run/resume.ts";
import type { Places } from "../../components/place/page-plugin.ts";
import { PluginPanels } from "../../components/place/place.tsx";
import { Button } from "../../components/ui/button.tsx";
import { TextInput } from "../../components/ui/controls.tsx";
import { Dialog } from "../../components/ui/overlays.tsx";
import { openRowsOf } from "../../components/upload/pickers.tsx";
import { outdateRun } from "../../stores/reads.ts";
import { forgetMetrics } from "../../stores/run/metrics.ts";
import { retitleRun } from "../../stores/run/run.ts";
import { counted, formatBytes } from "../../styles/format.ts";
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
  if (from !== undefined) forgetMetrics(manifest.id);
  await resumeAndShow(manifest, openRowsOf, steps, from);
}

/** A run that is asked about, and what receives the decision. */
export type Answered = Places["fork"];

const FORMS: Readonly<Record<RunQuestion["kind"], (props: Answered) => ReactNode>> = {
  longer: Extend,
  fork: (props) => <PluginPanels at="fork" given={props} />,
  rename: Rename,
  notes: Notes,
  delete: Delete,
};

/** The dialog of a question; none for null. */
export function RunDialog(props: {
  readonly question: RunQuestion | null;
  readonly readOnly: boolean;
  readonly onClose: () => void;
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
            if (work !== null) report(work.finally(() => outdateRun(question.run.manifest.id)));
          }}
        />
      )}
    </Dialog>
  );
}

/** A form with a button that cancels and one that decides. @param props.blocked disables the second */
export function Decision(props: {
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
export function StepsField(props: {
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
export function readSteps(text: string): { readonly steps: number } | { readonly problem: string } {
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
  const more = counted(steps - done, "more step");
  const note =
    config.lrSchedulerType === "constant"
      ? `${more}; the result equals an uninterrupted run of ${steps} steps`
      : `${more}; the learning-rate schedule is stretched to ${steps} steps, so the rate first jumps up`;
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
