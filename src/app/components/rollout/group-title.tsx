import type { ReactNode } from "react";
import { aboutLoop } from "../../../engine/rl/loops/abouts.ts";
import type { GroupRecord } from "../../../engine/runs/rollouts/records.ts";
import { isWholeSet, noisyMask } from "../../../engine/runs/rollouts/rollout-facts.ts";
import { compact, fixed } from "../../styles/format.ts";
import { Badge } from "../ui/button.tsx";
import { CopyPanel } from "../ui/panel/panel.tsx";
import styles from "./rollout.module.css";
import { loopStyle } from "./rollout-view.ts";

/** Names the faint outline beside the mask without noise. */
export const NOISE_NOTE = "Dashed: sampled mask (with exploration noise)";

/** Prompt of the group and spread of its rewards. */
export function GroupTitle({
  group,
  withStep,
}: {
  readonly group: GroupRecord;
  readonly withStep?: boolean;
}): ReactNode {
  const first = group.rollouts[0];
  const { arrow, text } = aboutLoop(group.loop);
  return (
    <div className="min-0">
      <div className="flex gap-1 between align-start">
        <div className={`row wrap small ${styles.groupLine}`}>
          <span className={`bold ${styles.loop}`} style={loopStyle(group.loop)} data-loop={group.loop}>
            Loop {group.loop}
          </span>
          <span
            className="medium"
            title="The policy answers; its partner, an average of its weights, maps the answer back"
          >
            {arrow}
          </span>
          {withStep === true && <span className={`muted clip ellipsis nowrap ${styles.meta}`}>step {group.step}</span>}
          <span className={`muted clip ellipsis nowrap ${styles.meta}`} title="Row in the data set">
            row {group.rowId}
          </span>
          <span
            className={`muted clip ellipsis nowrap ${styles.meta}`}
            title={isWholeSet(group) ? "Mean and std count each answer with its probability" : undefined}
          >
            {group.unfinished ? (
              `no ${first?.reward == null ? "rewards" : "advantages"} yet`
            ) : (
              <>
                mean <b>{fixed(group.rewardMean, 2)}</b>
              </>
            )}
          </span>
          {!group.unfinished && (
            <span className={`muted clip ellipsis nowrap ${styles.meta}`}>
              std <b>{compact(group.rewardStd)}</b>
            </span>
          )}
          {group.zeroSpread && <Badge tone="warn">All rewards equal: no learning signal</Badge>}
        </div>
        <CopyPanel name={`the group of loop ${group.loop}`} />
      </div>
      {group.rollouts.some((rollout) => noisyMask(rollout) !== null) && (
        <p className="muted small" data-testid="noise-note">
          {NOISE_NOTE}; rewards belong to it
        </p>
      )}
      {first !== undefined && (
        <p className={`large ${styles.asked}`}>
          <span className="muted tiny">{text === "caption" ? "reference" : "given caption"}</span>{" "}
          {text === "caption" ? first.referenceCaption : first.caption}
        </p>
      )}
    </div>
  );
}

/** Largest |advantage| in a group, at least 1, so that small noise does not fill the bars. */
export function advantageScale(group: GroupRecord): number {
  return group.unfinished ? 0 : Math.max(1, ...group.rollouts.map(({ advantage }) => Math.abs(advantage)));
}
