import { type ReactNode, useMemo } from "react";
import { create } from "zustand";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Caption } from "../../app/components/rollout/caption.tsx";
import { Button } from "../../app/components/ui/button.tsx";
import { remember, rememberedFlag } from "../../app/stores/saved.ts";
import styles from "./caption-difference.module.css";

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
export default function CaptionDifference(props: Places["caption"]): ReactNode {
  const { name, text, reference } = props;
  const words = useMemo(() => diffWords(reference, text), [reference, text]);
  const shown = useDifferences((state) => state.shown);
  const differs = text.trim() !== "" && readableDiff(words) && words.some(({ kind }) => kind !== "same");
  const action = differs && (
    <Button
      kind="small"
      aria-pressed={shown}
      title="Marks words that the reference lacks, and words that it has in addition"
      onClick={toggleDifferences}
    >
      {shown ? "Plain" : "Difference"}
    </Button>
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

export interface DiffWord {
  readonly text: string;
  /** In both texts, only in the new one, or only in the reference. */
  readonly kind: "same" | "added" | "removed";
}

/** Maximum number of word pairs to compare; 16 MiB. */
const MOST_PAIRS = 2 ** 22;

/**
 * Diff of the words of `text` and `reference` by longest common subsequence. Case and punctuation are ignored in the
 * comparison. Removed words come before their replacements. Between their common start and end, texts of more than
 * `MOST_PAIRS` pairs of words differ as a whole.
 */
export function diffWords(reference: string, text: string): DiffWord[] {
  const [a, b] = [words(reference), words(text)];
  const [keysA, keysB] = [a.map(key), b.map(key)];
  const least = Math.min(a.length, b.length);
  let start = 0;
  while (start < least && keysA[start] === keysB[start]) start++;
  let end = 0;
  while (end < least - start && keysA.at(-1 - end) === keysB.at(-1 - end)) end++;
  const same = (from: number, to: number): DiffWord[] => b.slice(from, to).map((text) => ({ text, kind: "same" }));
  const middle = (list: readonly string[]): readonly string[] => list.slice(start, list.length - end);
  const differing = diffMiddle(middle(a), middle(b), middle(keysA), middle(keysB));
  return [...same(0, start), ...differing, ...same(b.length - end, b.length)];
}

function diffMiddle(
  a: readonly string[],
  b: readonly string[],
  keysA: readonly string[],
  keysB: readonly string[],
): DiffWord[] {
  if (a.length * b.length > MOST_PAIRS) {
    return [
      ...a.map((text) => ({ text, kind: "removed" }) as const),
      ...b.map((text) => ({ text, kind: "added" }) as const),
    ];
  }
  const width = b.length + 1;
  // common[i * width + j]: length of the longest common subsequence of a[i..] and b[j..].
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] as number;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = keysA[i] === keysB[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const diff: DiffWord[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && keysA[i] === keysB[j]) {
      diff.push({ text: b[j] as string, kind: "same" });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      diff.push({ text: a[i++] as string, kind: "removed" });
    } else diff.push({ text: b[j++] as string, kind: "added" });
  }
  return diff;
}

/** Maximum number of words of a diff that is readable even if few of them are in both texts. */
const SHORT = 16;

/** Whether a diff can be read: it is short, or at least half of its words are in both texts. */
export function readableDiff(diff: readonly DiffWord[]): boolean {
  return diff.length <= SHORT || 2 * diff.filter(({ kind }) => kind === "same").length >= diff.length;
}

function words(text: string): string[] {
  return text.split(/\s+/u).filter((word) => word !== "");
}

function key(word: string): string {
  const bare = word.toLowerCase().replace(/[^\p{L}\p{N}<>[\]]+/gu, "");
  return bare === "" ? word : bare;
}
