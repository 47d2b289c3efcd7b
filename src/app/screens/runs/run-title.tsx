import { type ReactNode, useRef, useState } from "react";
import styles from "./runs.module.css";

/** A title that becomes a field on click; Enter or blur saves the text, Escape discards it. */
export function RunTitle(props: { readonly title: string; readonly onRename: (title: string) => void }): ReactNode {
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
