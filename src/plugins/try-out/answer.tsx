import type { ReactNode } from "react";
import { answerColour } from "../../app/components/mask/layers.ts";
import { fixed, formatShare } from "../../app/styles/format.ts";
import { maskIou, type Rle, rleArea } from "../../engine/data/mask/rle.ts";
import type { Tried } from "./try-calls.ts";
import styles from "./try-out.module.css";

/** Which mask of the answer is drawn on the picture. */
export type Shown = number | "all";

export interface TrialAnswer extends Tried {
  /** The regions or phrases of the request, in the order of the answer. */
  readonly labels: readonly string[];
  readonly side: string;
  readonly sideLabel: string;
}

const SEG = "[SEG]";

/** Defined outside the component, because a new function would run again at every keystroke. */
const intoView = (element: HTMLElement | null): void => element?.scrollIntoView({ block: "nearest" });

/** Captions of the regions, the masks of the phrases with their share of the picture, or a free answer with its masks. */
export function Answer(props: {
  readonly answer: TrialAnswer;
  readonly shown: Shown;
  readonly onShow: (shown: Shown) => void;
  /** The row's mask, to compare with; null for a picture of the user. */
  readonly truth: Rle | null;
}): ReactNode {
  const { answer: tried, shown, onShow, truth } = props;
  const { answer, labels, sideLabel, seconds } = tried;
  return (
    <div
      className={`p-3 surface-2 round-m ${styles.answer}`}
      data-testid="try-answer"
      aria-live="polite"
      ref={intoView}
    >
      <h3>
        {sideLabel} <small className="muted normal">{seconds.toFixed(1)} s</small>
      </h3>
      {answer.kind === "describe" ? (
        <dl>
          {answer.captions.map((caption, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: answers have no other name and never move
            <div key={at}>
              <dt className="muted small anywhere">{labels[at]}</dt>
              <dd>
                {caption === null
                  ? "The region is too small: it covers no visual token"
                  : caption || "The answer is empty"}
              </dd>
            </div>
          ))}
        </dl>
      ) : answer.kind === "segment" ? (
        <ul>
          {answer.masks.map((found, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: answers have no other name and never move
            <li key={at}>
              <label>
                <input type="radio" name="try-shown" checked={shown === at} onChange={() => onShow(at)} />
                <span>{labels[at]}</span>
              </label>
              <span className="muted anywhere">{found === null ? "not asked yet" : maskText(found, truth)}</span>
            </li>
          ))}
        </ul>
      ) : (
        <FreeAnswer answer={answer} shown={shown} onShow={onShow} truth={truth} />
      )}
    </div>
  );
}

/** The text with a numbered mark for each [SEG], and the masks in the same order. */
function FreeAnswer(props: {
  readonly answer: Extract<Tried["answer"], { readonly kind: "ask" }>;
  readonly shown: Shown;
  readonly onShow: (shown: Shown) => void;
  readonly truth: Rle | null;
}): ReactNode {
  const { answer, shown, onShow, truth } = props;
  const { text, masks, ended } = answer;
  const parts = text.split(SEG);
  return (
    <>
      <p className={`large anywhere ${styles.said}`} data-testid="try-text">
        {text === "" ? "The answer is empty" : null}
        {parts.map((part, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: answers have no other name and never move
          <span key={at}>
            {part}
            {at < masks.length ? <Mark at={at} /> : at < parts.length - 1 ? SEG : null}
          </span>
        ))}
      </p>
      {!ended && <p className="muted anywhere">The answer was truncated at the length limit</p>}
      {masks.length === 0 ? (
        <p className="muted anywhere">The answer has no {SEG}, so it marks nothing</p>
      ) : (
        <ul data-testid="try-masks">
          <li>
            <label>
              <input type="radio" name="try-shown" checked={shown === "all"} onChange={() => onShow("all")} />
              <span>{masks.length === 1 ? "The mask" : "All masks"}</span>
            </label>
          </li>
          {masks.map((found, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: answers have no other name and never move
            <li key={at}>
              <label>
                <input type="radio" name="try-shown" checked={shown === at} onChange={() => onShow(at)} />
                <Mark at={at} />
                <span>{found.phrase === "" ? "no phrase" : found.phrase}</span>
              </label>
              <span className="muted anywhere">{maskText(found, truth)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Number of a mask in its colour. */
export function Mark(props: { readonly at: number }): ReactNode {
  return (
    <span className={`small bold round-s ${styles.mark}`} data-fill style={{ background: answerColour(props.at) }}>
      {props.at + 1}
    </span>
  );
}

/**
 * Describes a predicted mask: its share of the picture, its confidence and its IoU with the row.
 * @param confidence 0..1, or null when the model gives none
 * @param truth the row's mask; a mask of another size belongs to another picture and is not compared
 */
export function maskText(found: { readonly mask: Rle; readonly confidence: number | null }, truth: Rle | null): string {
  const [height, width] = found.mask.size;
  const area = rleArea(found.mask);
  if (area === 0) return "an empty mask";
  const parts = [`${formatShare(area / (height * width))} of the picture`];
  if (found.confidence !== null) parts.push(`confidence ${fixed(found.confidence)}`);
  if (truth !== null && truth.size[0] === height && truth.size[1] === width) {
    parts.push(`IoU with the row's mask ${fixed(maskIou(found.mask, truth).iou)}`);
  }
  return parts.join(" · ");
}
