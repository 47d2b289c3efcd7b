import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { lab, report } from "../../clients/lab.ts";
import { deleteRun } from "../../clients/run/interrupted.ts";
import { resumeAndShow } from "../../clients/run/resume.ts";
import { resumeRun } from "../../clients/run/start-run.ts";
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
  await resumeAndShow(manifest, openRowsOf, () => resumeRun(manifest, steps, from));
}

/** A run that is asked about, and what receives the decision. */
export type Answered = Places["fork"];

const FORMS: Readonly<Record<RunQuestion["kind"], (props: Answered) => ReactNode>> = {
  longer: (props) => <PluginPanels at="extend" given={props} />,
  fork: (props) => <PluginPanels at="fork" given={props} />,
  rename: Rename,
  notes: (props) => <PluginPanels at="run-notes" given={props} />,
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
