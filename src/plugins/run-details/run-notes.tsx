import { type ReactNode, useId, useState } from "react";
import { lab } from "../../app/clients/lab.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { TextInput } from "../../app/components/ui/controls.tsx";
import { Decision } from "../../app/screens/runs/run-dialog.tsx";
import { MOST_TEXT, tagsOf } from "../../engine/runs/notes.ts";
import styles from "./run-details.module.css";

/** Tags and notes of a run. */
export default function Notes({ run: { manifest, notes }, onCancel, onWork }: Places["run-notes"]): ReactNode {
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
