import { type ReactNode, useId, useState } from "react";
import { lab, report } from "../../app/clients/lab.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { TextInput } from "../../app/components/ui/controls.tsx";
import { IconClose } from "../../app/components/ui/icons.tsx";
import { PanelButton } from "../../app/components/ui/panel/panel-button.tsx";
import { outdateRun } from "../../app/stores/reads.ts";
import { navigate } from "../../app/stores/route.ts";
import { MOST_STEP_TEXT, type StepNote } from "../../engine/runs/notes.ts";

/** A button that lists the notes at steps of a run and adds one to the step that is shown. */
export default function StepNotes({ run: { runId, notes, writable }, step }: Places["curves"]): ReactNode {
  const id = useId();
  const [text, setText] = useState("");
  if (!writable && notes.length === 0) return null;
  const save = async (steps: readonly StepNote[]): Promise<void> => {
    await lab().data.setNotes(runId, { steps });
    outdateRun(runId);
  };
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
            {writable && (
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
      {writable && (
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
