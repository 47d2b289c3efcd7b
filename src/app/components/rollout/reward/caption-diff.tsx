import { type ReactNode, useMemo } from "react";
import styles from "../details.module.css";
import { diffWords, readableDiff, sameWords } from "./word-diff.ts";

/**
 * A text with added and left-out words relative to the reference, marked by colour, underline and strike-through. A text
 * that has little in common with a long reference is shown without marks, which would hide it among words left out.
 */
export function CaptionDiff(props: {
  readonly name: string;
  readonly text: string;
  readonly reference: string;
}): ReactNode {
  const { name, text, reference } = props;
  const words = useMemo(() => diffWords(reference, text), [reference, text]);
  return (
    <Caption name={name} text={text}>
      {text.trim() === "" ? (
        <em>empty</em>
      ) : !readableDiff(words) ? (
        text
      ) : (
        words.map((word, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: words have no other identity and never move
          <span key={at}>
            {word.kind === "same" ? (
              word.text
            ) : word.kind === "added" ? (
              <ins className={styles.added}>{word.text}</ins>
            ) : (
              <del className={`bad-soft bad ${styles.removed}`}>{word.text}</del>
            )}{" "}
          </span>
        ))
      )}
    </Caption>
  );
}

/** What the marks of a `CaptionDiff` mean; nothing if it has none. */
export function DiffLegend({ text, reference }: { readonly text: string; readonly reference: string }): ReactNode {
  if (text.trim() === "" || sameWords(reference, text) || !readableDiff(diffWords(reference, text))) return null;
  return (
    <p className="muted small">
      <ins className={styles.added}>added</ins> <del className={`bad-soft bad ${styles.removed}`}>left out</del>
    </p>
  );
}

/** A named text with a button that copies it. */
export function Caption(props: {
  readonly name: string;
  readonly text: string;
  readonly children?: ReactNode;
}): ReactNode {
  const { name, text, children } = props;
  return (
    <div>
      <div className="row gap-2 muted small">
        {name}
        <CopyButton text={text} what={name} />
      </div>
      <p className={`anywhere ${styles.captionText}`}>{children ?? (text.trim() === "" ? <em>empty</em> : text)}</p>
    </div>
  );
}

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): ReactNode {
  return (
    <button
      type="button"
      className={`tiny round-s accent pointer clear lit borderless ${styles.copy}`}
      aria-label={`Copy ${what}`}
      onClick={(event) => {
        const button = event.currentTarget;
        const say = (words: string): void => {
          button.textContent = words;
          window.setTimeout(() => {
            button.textContent = "Copy";
          }, 1200);
        };
        navigator.clipboard.writeText(text).then(
          () => say("Copied"),
          () => say("Refused"),
        );
      }}
    >
      Copy
    </button>
  );
}
