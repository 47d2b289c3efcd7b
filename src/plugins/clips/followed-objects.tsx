import type { ReactNode } from "react";
import { fixed, formatBytes } from "../../app/styles/format.ts";
import { Mark } from "../try-out/answer.tsx";
import styles from "../try-out/try-out.module.css";
import { type FrameScores, knownScores } from "./boundary.ts";
import type { FollowedClip } from "./follow-store.ts";

/** Progress, the answers, and each object with its mean overlap on the frames that are done. */
export function FollowedObjects(props: {
  readonly followed: FollowedClip;
  readonly object: number;
  readonly onObject: (object: number) => void;
  /** Beside the progress. */
  readonly children: ReactNode;
}): ReactNode {
  const { followed, object, onObject, children } = props;
  const { state, answers, objects, total, done, bankBytes, tensorBytes, task } = followed;
  // A forced answer carries no information.
  const said = task.kind === "expressions" && task.settings.answers === "free" ? (answers ?? []) : [];
  const nothing = state === "finished" && done === 0;
  return (
    <div className={`p-3 surface-2 round-m ${styles.answer}`} data-testid="followed" data-state={state}>
      <div className="row wrap gap-2" role="status">
        <progress max={total} value={done} aria-label="Frames followed" />
        <span className="small" data-testid="follow-progress">
          {done} of {total} frames{state === "stopped" ? ", stopped" : ""}
        </span>
        {done > 0 && (
          <span
            className="muted small"
            data-testid="follow-memory"
            data-bank={bankBytes}
            data-tensors={tensorBytes}
            title="Size of SAM2's memory bank and of all tensors of the trainer, after the last frame"
          >
            {bankBytes > 0 && `${formatBytes(bankBytes)} in the memory bank, `}
            {formatBytes(tensorBytes)} in tensors
          </span>
        )}
      </div>
      {children}
      {said.map((answer, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: answers have no other name and never move
        <p key={at} className="anywhere" data-testid="follow-answer">
          {task.kind === "expressions" && said.length > 1 && <span className="muted">{task.expressions[at]}: </span>}
          {answer === "" ? "The answer is empty" : answer}
        </p>
      ))}
      {nothing && (
        <p className="muted anywhere">
          The answer has no [SEG], so nothing was followed. Select “Answer: Sure, [SEG].”
        </p>
      )}
      {objects.length > 0 && (
        <ul data-testid="follow-objects">
          {objects.map(({ label, name, scores }, at) => (
            <li key={name}>
              <label>
                <input
                  type="radio"
                  name="follow-object"
                  checked={Math.min(object, objects.length - 1) === at}
                  onChange={() => onObject(at)}
                />
                <Mark at={at} />
                <span>{label}</span>
              </label>
              <span className="muted">mean IoU {fixed(meanOf(scores))}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Over the frames with a score. */
function meanOf(scores: FrameScores): number | null {
  const found = knownScores(scores);
  return found.length === 0 ? null : found.reduce((sum, score) => sum + score, 0) / found.length;
}
