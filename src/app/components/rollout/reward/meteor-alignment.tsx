import { type ReactNode, useState } from "react";
import type { MeteorDetail } from "../../../../engine/rewards/term.ts";
import styles from "./reward.module.css";

/** Both captions, with matched words underlined by kind; hovering over a word marks its match. */
export function MeteorAlignment({ detail }: { readonly detail: MeteorDetail }): ReactNode {
  const [marked, setMarked] = useState<number | null>(null);
  return (
    <div className="grid gap-2">
      <Words name="hypothesis" words={detail.hypothesis} side={0} {...{ detail, marked, setMarked }} />
      <Words name="reference" words={detail.reference} side={1} {...{ detail, marked, setMarked }} />
      <ul className={styles.kinds}>
        {(["exact", "stem", "synonym"] as const).map((kind) => (
          <li key={kind}>
            <span className={styles[kind]}>{kind}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface WordsProps {
  readonly name: string;
  readonly words: readonly string[];
  /** Position of this side's index in a match. */
  readonly side: 0 | 1;
  readonly detail: MeteorDetail;
  readonly marked: number | null;
  readonly setMarked: (match: number | null) => void;
}

function Words({ name, words, side, detail, marked, setMarked }: WordsProps): ReactNode {
  return (
    <p className={`flex wrap align-baseline large ${styles.words}`}>
      <span className={`muted small ${styles.side}`}>{name}</span>
      {words.map((word, at) => {
        const match = detail.matches.findIndex((candidate) => candidate[side] === at);
        const kind = detail.matches[match]?.[2];
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: pointing only marks the pair; the kinds are read from the underline
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: words have no other identity and never move
            key={at}
            className={kind === undefined ? "muted" : styles[kind]}
            data-marked={match >= 0 && match === marked}
            title={kind}
            onMouseEnter={() => setMarked(match >= 0 ? match : null)}
            onMouseLeave={() => setMarked(null)}
          >
            {word}
          </span>
        );
      })}
    </p>
  );
}
