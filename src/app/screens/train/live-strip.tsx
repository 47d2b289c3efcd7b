import { type CSSProperties, type ReactNode, useMemo } from "react";
import type { GroupRecord } from "../../../engine/runs/records.ts";
import { advantageScale, GroupTitle } from "../../components/rollout/group-title.tsx";
import { RolloutCard } from "../../components/rollout/rollout-card.tsx";
import { sortRollouts } from "../../components/rollout/rollout-view.ts";
import { groupKey } from "../../components/rollout/use-viewed-run.ts";
import { navigate } from "../../stores/route.ts";
import { useRun } from "../../stores/run.ts";
import styles from "./train.module.css";

const LAYERS = new Set(["given", "answer"] as const);

/** The newest group of each loop; a rollout opens in the inspector while the run goes on. */
export function LiveStrip(): ReactNode {
  const groups = useRun((run) => run.groups);
  const newest = useMemo(
    () =>
      ([1, 2] as const).flatMap((loop) => {
        const group = groups.findLast((candidate) => candidate.loop === loop);
        return group === undefined ? [] : [group];
      }),
    [groups],
  );
  if (newest.length === 0) return null;
  return (
    <section className={styles.strip} data-testid="live-strip" aria-label="Newest groups">
      {newest.map((group) => (
        <StripGroup key={group.loop} group={group} />
      ))}
    </section>
  );
}

function StripGroup({ group }: { readonly group: GroupRecord }): ReactNode {
  const rollouts = useMemo(() => sortRollouts(group.rollouts, "reward"), [group]);
  const scale = advantageScale(group);
  return (
    <article className={styles.stripGroup}>
      <GroupTitle group={group} withStep />
      <div className={styles.cards} style={{ "--n": rollouts.length } as CSSProperties}>
        {rollouts.map((rollout) => (
          <RolloutCard
            key={rollout.id}
            rollout={rollout}
            layers={LAYERS}
            scale={scale}
            onOpen={() =>
              navigate({
                screen: "rollouts",
                run: null,
                step: group.step,
                group: groupKey(group),
                rollout: rollout.id,
              })
            }
          />
        ))}
      </div>
    </article>
  );
}
