import { type ReactNode, useMemo } from "react";
import { create } from "zustand";
import { remember, rememberedFlag } from "../../../stores/saved.ts";
import styles from "../details.module.css";
import { type DiffWord, diffWords, readableDiff } from "./word-diff.ts";

/** Whether captions show their difference to the reference; one choice for all, kept over reloads. */
const useDifferences = create(() => ({ shown: rememberedFlag("differences", false) }));

function toggleDifferences(): void {
  const shown = !useDifferences.getState().shown;
  useDifferences.setState({ shown });
  remember("differences", shown);
}

/**
 * A text as it was said; on request with added and left-out words relative to the reference, marked by colour, underline
 * and strike-through. A text that has little in common with a long reference has no marks, which would hide it among
 * words left out.
 */
export function CaptionDiff(props: {
  readonly name: string;
  readonly text: string;
  readonly reference: string;
}): ReactNode {
  const { name, text, reference } = props;
  const words = useMemo(() => diffWords(reference, text), [reference, text]);
  const shown = useDifferences((state) => state.shown);
  const differs = text.trim() !== "" && readableDiff(words) && words.some(({ kind }) => kind !== "same");
  const action = differs && (
    <button
      type="button"
      className={`tiny round-s accent pointer clear lit borderless ${styles.copy}`}
      aria-pressed={shown}
      title="Marks words that the reference lacks, and words that it has in addition"
      onClick={toggleDifferences}
    >
      {shown ? "Plain" : "Difference"}
    </button>
  );
  return (
    <Caption name={name} text={text} action={action}>
      {differs && shown && <MarkedWords words={words} />}
    </Caption>
  );
}

/** The words of a difference with their marks, and what the marks mean. */
export function MarkedWords({ words }: { readonly words: readonly DiffWord[] }): ReactNode {
  return (
    <>
      {words.map((word, at) => (
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
      ))}
      <span className="block muted small">
        <ins className={styles.added}>added</ins> <del className={`bad-soft bad ${styles.removed}`}>left out</del>
      </span>
    </>
  );
}

/** A named text with a button that copies it. */
export function Caption(props: {
  readonly name: string;
  readonly text: string;
  /** A button beside the name. */
  readonly action?: ReactNode;
  /** In place of the plain text, unless false. */
  readonly children?: ReactNode;
}): ReactNode {
  const { name, text, action } = props;
  const marked = [props.children].flat().some(Boolean);
  return (
    <div>
      <div className="row gap-2 muted small">
        {name}
        <CopyButton text={text} what={name} />
        {action}
      </div>
      <p className={`anywhere ${styles.captionText}`}>
        {marked ? props.children : text.trim() === "" ? <em>empty</em> : text}
      </p>
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
