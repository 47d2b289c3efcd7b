import type { ReactNode } from "react";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { lab } from "../../clients/lab.ts";
import { deleteRun } from "../../clients/run/interrupted.ts";
import { resumeAndShow } from "../../clients/run/resume.ts";
import { forkRun } from "../../clients/run/start-run.ts";
import { storedGroups } from "../../components/rollout/stored-groups.ts";
import { Button } from "../../components/ui/button.tsx";
import { Dialog } from "../../components/ui/overlays.tsx";
import { pick } from "../../components/upload/pickers.tsx";
import { navigate } from "../../stores/route.ts";
import { forgetMetrics } from "../../stores/run/metrics.ts";
import { counted, formatBytes } from "../../styles/format.ts";
import { ForkRun } from "./fork-run.tsx";
import { EditNotes } from "./run-notes.tsx";
import { TrainOn } from "./train-on.tsx";

const TITLES = {
  longer: "Extend run",
  fork: "Continue from a checkpoint",
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
  await resumeAndShow(manifest, () => pick("shards"), steps, from);
}

const toTrain = (): void => navigate({ screen: "train", run: null, step: null, rollout: null });

interface Answered {
  readonly onClose: () => void;
  /** Receives what the user decided on. */
  readonly onWork: (work: Promise<unknown>) => void;
}

/** The dialog of a question; none for null. */
export function RunDialog(
  props: Answered & {
    readonly question: RunQuestion | null;
    /** Whether the run is stored elsewhere, so that only a copy can continue. */
    readonly readOnly: boolean;
  },
): ReactNode {
  const { question, readOnly, onClose, onWork } = props;
  const answer = (work: Promise<unknown>): void => {
    onClose();
    onWork(work);
  };
  return (
    <Dialog title={question === null ? "" : TITLES[question.kind]} open={question !== null} onOpenChange={onClose}>
      {question !== null && <Content {...question} readOnly={readOnly} onClose={onClose} onWork={answer} />}
    </Dialog>
  );
}

function Content(props: RunQuestion & Answered & { readonly readOnly: boolean }): ReactNode {
  const { kind, run, readOnly, onClose, onWork } = props;
  const { manifest, notes } = run;
  switch (kind) {
    case "longer":
      return <TrainOn run={run} onCancel={onClose} onTrain={(steps) => onWork(continueRun(run, steps))} />;
    case "fork":
      return (
        <ForkRun
          run={run}
          readOnly={readOnly}
          onCancel={onClose}
          onFork={(step, changes) => onWork(forkRun(manifest, step, changes).then(toTrain))}
          onRestore={(step) => onWork(continueRun(run, undefined, step))}
        />
      );
    case "notes":
      return (
        <EditNotes
          notes={notes}
          onCancel={onClose}
          onSave={(changed) => onWork(lab().data.setNotes(manifest.id, changed))}
        />
      );
    case "delete":
      return <DeleteRun run={run} onCancel={onClose} onDelete={() => onWork(deleteRun(manifest.id))} />;
  }
}

function DeleteRun(props: {
  readonly run: RunDigest;
  readonly onCancel: () => void;
  readonly onDelete: () => void;
}): ReactNode {
  const { manifest, steps, checkpoints, bytes } = props.run;
  return (
    <>
      <p>
        <b>{manifest.title}</b> with its {counted(steps, "step")}, their rollouts and{" "}
        {counted(checkpoints.length, "checkpoint")} will be deleted; this frees {formatBytes(bytes)} and cannot be
        undone
      </p>
      <div className="flex gap-2 justify-end mt-4">
        <Button onClick={props.onCancel}>Keep</Button>
        <Button kind="danger" onClick={props.onDelete}>
          Delete {formatBytes(bytes)}
        </Button>
      </div>
    </>
  );
}
