import type { ReactNode } from "react";
import type { GroupRecord } from "../../../engine/runs/rollouts/records.ts";
import { groupKey } from "../../components/rollout/use-viewed-run.ts";
import { fixed } from "../../styles/format.ts";
import styles from "./rollouts.module.css";

/** The groups of a step, each with its loop and mean reward. */
export function GroupTabs(props: {
  readonly groups: readonly GroupRecord[];
  readonly selected: GroupRecord | null;
  readonly onSelect: (group: GroupRecord) => void;
}): ReactNode {
  const { groups, selected, onSelect } = props;
  return (
    <ul className={`flex gap-2 m-0 scroll-x no-bullets ${styles.groups}`} aria-label="Groups of this step">
      {groups.map((group) => (
        <li key={groupKey(group)}>
          <button
            type="button"
            className="flex align-baseline framed round-m surface nowrap pointer lit"
            aria-current={group === selected}
            data-loop={group.loop}
            onClick={() => onSelect(group)}
          >
            Loop {group.loop}
            <small className="muted">row {group.rowId.split("#").pop()}</small>
            <b>{fixed(group.rewardMean, 2)}</b>
            {group.zeroSpread && (
              <small className="warn" title="All rewards are equal, so this group gives no learning signal">
                no spread
              </small>
            )}
          </button>
        </li>
      ))}
    </ul>
  );
}
