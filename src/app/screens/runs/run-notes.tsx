import { type ReactNode, useId, useState } from "react";
import { MOST_TEXT, type RunNotes, tagsOf } from "../../../engine/runs/notes.ts";
import { Button } from "../../components/ui/button.tsx";
import { TextInput } from "../../components/ui/controls.tsx";
import { navigate, useRoute } from "../../stores/route.ts";
import styles from "./runs.module.css";

/** Tags and text of a run; a tag lists the runs that have it. */
export function NotesOf(props: { readonly notes: RunNotes; readonly onEdit: (() => void) | null }): ReactNode {
  const { text, tags } = props.notes;
  const { onEdit } = props;
  const chosen = useRoute((route) => route.tag);
  return (
    <div className={`grid gap-1 ${styles.notes}`}>
      {text !== "" && (
        <p className={`small muted m-0 anywhere ${styles.noteText}`} title={text}>
          {text}
        </p>
      )}
      <div className="row wrap gap-1">
        {tags.map((tag) => (
          <TagButton key={tag} tag={tag} chosen={tag === chosen} />
        ))}
        {onEdit !== null && (
          <Button kind="quiet" className={styles.editNotes} data-testid="edit-notes" onClick={onEdit}>
            {tags.length === 0 && text === "" ? "Add notes…" : "Edit notes…"}
          </Button>
        )}
      </div>
    </div>
  );
}

/** Every tag of the listed runs; nothing where no run has one. */
export function TagFilter({ tags }: { readonly tags: readonly string[] }): ReactNode {
  const chosen = useRoute((route) => route.tag);
  if (tags.length === 0 && chosen === null) return null;
  const shown = chosen === null || tags.includes(chosen) ? tags : [...tags, chosen];
  return (
    <fieldset className="row wrap gap-1 m-0 p-0 borderless" data-testid="tag-filter">
      <legend className="visually-hidden">Tag</legend>
      <span className="muted small">Tag</span>
      {shown.map((tag) => (
        <TagButton key={tag} tag={tag} chosen={tag === chosen} />
      ))}
    </fieldset>
  );
}

function TagButton({ tag, chosen }: { readonly tag: string; readonly chosen: boolean }): ReactNode {
  return (
    <button
      type="button"
      className={`small round-s pointer framed ${styles.tag}`}
      aria-pressed={chosen}
      title={chosen ? "List all runs" : `List the runs tagged ${tag}`}
      onClick={() => navigate({ tag: chosen ? null : tag })}
    >
      {tag}
    </button>
  );
}

/** Dialog that edits text and tags of a run. */
export function EditNotes(props: {
  readonly notes: RunNotes;
  readonly onCancel: () => void;
  readonly onSave: (notes: Pick<RunNotes, "text" | "tags">) => void;
}): ReactNode {
  const id = useId();
  const [text, setText] = useState(props.notes.text);
  const [tags, setTags] = useState(props.notes.tags.join(", "));
  return (
    <form
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        props.onSave({ text, tags: tagsOf(tags) });
      }}
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
          Separated by commas
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
      <div className="flex gap-2 justify-end">
        <Button onClick={props.onCancel}>Cancel</Button>
        <Button kind="primary" type="submit">
          Save
        </Button>
      </div>
    </form>
  );
}
