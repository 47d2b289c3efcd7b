import type { ReactNode } from "react";
import type { Rle } from "../../../../engine/data/rle.ts";
import type { Tried } from "../../../clients/trainer-client.ts";
import { maskText } from "./mask-text.ts";
import styles from "./try-out.module.css";

/** Which phrase's mask lies on the picture. */
export type Shown = number;

export interface TrialAnswer extends Tried {
  /** What was asked, in the order of the answer. */
  readonly labels: readonly string[];
  readonly side: string;
  readonly sideLabel: string;
}

/** Captions of the regions, or the masks of the phrases with their share of the picture. */
export function Answer(props: {
  readonly answer: TrialAnswer;
  readonly shown: Shown;
  readonly onShow: (shown: Shown) => void;
  /** The row's own mask, to compare with; null for an own picture. */
  readonly truth: Rle | null;
}): ReactNode {
  const { answer: tried, shown, onShow, truth } = props;
  const { answer, labels, sideLabel, seconds } = tried;
  return (
    <div
      className={styles.answer}
      data-testid="try-answer"
      aria-live="polite"
      ref={(element) => element?.scrollIntoView({ block: "nearest" })}
    >
      <h3>
        {sideLabel} <small>{seconds.toFixed(1)} s</small>
      </h3>
      {answer.kind === "describe" ? (
        <dl>
          {answer.captions.map((caption, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: answers have no other name and never move
            <div key={at}>
              <dt>{labels[at]}</dt>
              <dd>{caption === null ? "The region covers no visual token" : caption || "An empty answer"}</dd>
            </div>
          ))}
        </dl>
      ) : (
        <ul>
          {answer.masks.map((found, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: answers have no other name and never move
            <li key={at}>
              <label>
                <input type="radio" name="try-shown" checked={shown === at} onChange={() => onShow(at)} />
                <span>{labels[at]}</span>
              </label>
              <span className={styles.muted}>{found === null ? "nothing asked" : maskText(found, truth)}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
