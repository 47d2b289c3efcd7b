import { type ReactNode, useId, useState } from "react";
import { MOST_STEP_TEXT, type StepNote } from "../../../engine/runs/notes.ts";
import { lab, report } from "../../clients/lab.ts";
import { Button } from "../../components/ui/button.tsx";
import { TextInput } from "../../components/ui/controls.tsx";
import { IconClose } from "../../components/ui/icons.tsx";
import { PanelButton } from "../../components/ui/panel/panel-button.tsx";
import { navigate } from "../../stores/route.ts";
import { knowNotes } from "../../stores/run/notes.ts";

/** A button that lists the notes at steps of a run and adds one to the step that is shown. */
export function StepNotes(props: {
  readonly runId: string;
  readonly notes: readonly StepNote[];
  /** Step of the time line, else the newest one. */
  readonly step: number;
  readonly readOnly: boolean;
}): ReactNode {
  const { runId, notes, step, readOnly } = props;
  const id = useId();
  const [text, setText] = useState("");
  if (readOnly && notes.length === 0) return null;
  const save = async (steps: readonly StepNote[]): Promise<void> =>
    knowNotes(runId, (await lab().data.setNotes(runId, { steps })).steps);
  return (
    <PanelButton
      label={`Notes${notes.length === 0 ? "" : ` · ${notes.length}`}`}
      title="Notes at steps"
      testId="step-notes"
    >
      <ul className="grid gap-1 m-0 p-0 no-bullets scroll">
        {notes.map((note) => (
          <li key={note.step} className="row gap-2">
            <Button kind="quiet" onClick={() => navigate({ step: note.step, rollout: null })}>
              Step {note.step}
            </Button>
            <span className="grow anywhere">{note.text}</span>
            {!readOnly && (
              <Button
                kind="quiet"
                icon={<IconClose size={12} />}
                aria-label={`Remove the note at step ${note.step}`}
                onClick={() => report(save(notes.filter((other) => other !== note)))}
              />
            )}
          </li>
        ))}
      </ul>
      {!readOnly && (
        <form
          className="grid gap-1"
          onSubmit={(event) => {
            event.preventDefault();
            report(save([...notes, { step, text }]).then(() => setText("")));
          }}
        >
          <label htmlFor={id}>Note at step {step}</label>
          <div className="row gap-2">
            <TextInput
              id={id}
              className="grow"
              maxLength={MOST_STEP_TEXT}
              placeholder="Text of the note"
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
            />
            <Button type="submit" kind="primary" disabled={text.trim() === ""}>
              {notes.some((note) => note.step === step) ? "Replace" : "Add"}
            </Button>
          </div>
        </form>
      )}
    </PanelButton>
  );
}
