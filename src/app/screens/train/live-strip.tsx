import { type CSSProperties, type ReactNode, useMemo, useRef } from "react";
import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import type { GroupRecord } from "../../../engine/runs/rollouts/records.ts";
import { ClipPlayer } from "../../components/clip/clip-player.tsx";
import { advantageScale, GroupTitle } from "../../components/rollout/group-title.tsx";
import { RolloutCard } from "../../components/rollout/rollout-card.tsx";
import { GIVEN_AND_ANSWER, groupTracks, sortRollouts } from "../../components/rollout/rollout-view.ts";
import { useSettled } from "../../components/rollout/use-settled.ts";
import { groupKey, type ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { navigate } from "../../stores/route.ts";
import { useRun } from "../../stores/run/run.ts";
import styles from "./train.module.css";

/** Groups of a small model arrive in bursts; only the last of a burst is drawn. */
const QUIET_MS = 400;
const LONGEST_MS = 4000;

/** A phase this long shows the unfinished groups; with shorter ones they would flicker. */
const LONG_MS = 2000;

/**
 * Groups of the run of this page, updated no faster than a person can view them; unfinished ones while a phase takes long
 * or the run is paused.
 * @returns `complete` true as soon as all groups of a step are among them
 */
export function useLiveGroups(): { readonly groups: readonly GroupRecord[]; readonly complete: boolean } {
  const arrived = useRun((run) => run.groups);
  const drawn = useRun((run) => run.drawn);
  const paused = useRun((run) => run.state === "paused");
  const stepped = useRun((run) => run.rolloutsPerMinute !== null);
  const settled = useSettled(arrived, QUIET_MS, LONGEST_MS);
  const slow = useSettled(drawn, LONG_MS, Infinity);
  const complete = useRef(false);
  if (stepped && settled === arrived) complete.current = true;
  const step = (paused ? drawn : slow).at(-1)?.step ?? 0;
  const groups = useMemo(() => {
    if (step < (settled.at(-1)?.step ?? 1)) return settled;
    return [...settled, ...arrived.filter((group) => group.step === step), ...drawn];
  }, [settled, arrived, drawn, step]);
  return { groups, complete: complete.current };
}

/** The last group of each loop; a rollout opens in the inspector while the run continues. @param groups of one step, or the newest */
export function StepStrip(props: { readonly run: ViewedRun; readonly groups: readonly GroupRecord[] }): ReactNode {
  const { run, groups } = props;
  const newest = useMemo(
    () =>
      LOOP_IDS.flatMap((loop) => {
        const group = groups.findLast((candidate) => candidate.loop === loop);
        return group === undefined ? [] : [group];
      }),
    [groups],
  );
  if (newest.length === 0) return null;
  return (
    <section className={`grid gap-3 ${styles.strip}`} data-testid="live-strip" aria-label="Newest groups">
      {newest.map((group) => (
        <StripGroup key={group.loop} group={group} runId={run.place} />
      ))}
    </section>
  );
}

/** Cards in a row, at most `most`, so that rows are equally long. */
function perRow(count: number, most: number): number {
  return Math.max(1, Math.ceil(count / Math.ceil(count / most)));
}

function StripGroup(props: { readonly group: GroupRecord; readonly runId: string | null }): ReactNode {
  const { group, runId } = props;
  const rollouts = useMemo(() => sortRollouts(group.rollouts, "reward"), [group]);
  const scale = advantageScale(group);
  const tracks = useMemo(() => groupTracks(rollouts, rollouts[0] ?? null), [rollouts]);
  const [first] = rollouts;
  return (
    <article className={`min-0 framed round-l surface ${styles.stripGroup}`}>
      <GroupTitle group={group} withStep />
      {first !== undefined && (
        <ClipPlayer
          rowId={first.rowId}
          imageId={first.imageId}
          frames={first.frames}
          given={first.givenMask}
          tracks={tracks}
        />
      )}
      <div
        className={`grid gap-3 mt-3 align-start ${styles.cards}`}
        style={{ "--wide": perRow(rollouts.length, 8), "--narrow": perRow(rollouts.length, 4) } as CSSProperties}
      >
        {rollouts.map((rollout) => (
          <RolloutCard
            key={rollout.id}
            rollout={rollout}
            layers={GIVEN_AND_ANSWER}
            scale={scale}
            onOpen={() =>
              navigate({
                screen: "rollouts",
                run: runId,
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
