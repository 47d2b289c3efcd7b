/** What a run in progress shows: the time of its phases, and its newest groups as they arrive. */
import { type CSSProperties, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { FramePanels } from "../../components/place/place.tsx";
import { advantageScale, GroupTitle } from "../../components/rollout/group-title.tsx";
import { RolloutCard } from "../../components/rollout/rollout-card.tsx";
import {
  answerRole,
  GIVEN_AND_ANSWER,
  groupTracks,
  type LayerKey,
  sortRollouts,
} from "../../components/rollout/rollout-view.ts";
import { useRoute } from "../../stores/route.ts";
import { useRun } from "../../stores/run/run.ts";
import { inspect } from "./inspector.tsx";
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

const newestGroups = (groups: readonly GroupRecord[]): GroupRecord[] =>
  LOOP_IDS.flatMap((loop) => groups.findLast((candidate) => candidate.loop === loop) ?? []);

/** The best rollout of the first group that the strip shows of a finished step. */
export const bestOfStrip = (groups: readonly GroupRecord[]): RolloutRecord | undefined =>
  sortRollouts(newestGroups(groups)[0]?.rollouts ?? [], "reward")[0];

/** The last group of each loop; a rollout opens in the inspector while the run continues. @param groups of one step, or the newest */
export function StepStrip({ groups }: { readonly groups: readonly GroupRecord[] }): ReactNode {
  const newest = useMemo(() => newestGroups(groups), [groups]);
  // Cards that were shown before they had rewards stay where they are.
  const early = useRef(new Set<string>());
  for (const group of newest) if (group.unfinished) early.current.add(placeOfGroup(group));
  if (newest.length === 0) return null;
  return (
    <section className={`grid gap-3 ${styles.strip}`} data-testid="live-strip" aria-label="Newest groups">
      {newest.map((group) => (
        <GroupCards
          key={group.loop}
          group={group}
          rollouts={sortRollouts(group.rollouts, early.current.has(placeOfGroup(group)) ? "index" : "reward")}
          layers={GIVEN_AND_ANSWER}
          withStep
        />
      ))}
    </section>
  );
}

const placeOfGroup = ({ step, loop, group }: GroupRecord): string => `${step} ${loop} ${group}`;

/** Cards in a row, at most `most`, so that rows are equally long. */
function perRow(count: number, most: number): number {
  return Math.max(1, Math.ceil(count / Math.ceil(count / most)));
}

/** The rollouts of a prompt side by side; a press opens one in the inspector. */
export function GroupCards(props: {
  readonly group: GroupRecord;
  /** In the order shown. */
  readonly rollouts: readonly RolloutRecord[];
  readonly layers: ReadonlySet<LayerKey>;
  readonly withStep?: boolean;
  /** Between the title and the cards. */
  readonly tools?: ReactNode;
  /** Rollouts that a filter leaves out. */
  readonly faded?: ReadonlySet<RolloutRecord>;
  /** Beginning of the names of a clip's files; nothing is exported without one. */
  readonly fileName?: string;
  /** Figures with the same name zoom together. */
  readonly sync?: string;
}): ReactNode {
  const { group, rollouts, layers, withStep = false, tools, faded, fileName, sync } = props;
  const inspected = useRoute((route) => route.rollout);
  const [first] = rollouts;
  const selected = rollouts.find(({ id }) => id === inspected) ?? first ?? null;
  const tracks = useMemo(() => groupTracks(rollouts, selected), [rollouts, selected]);
  const scale = advantageScale(group);
  return (
    <article className={`min-0 framed round-l surface ${styles.stripGroup}`} aria-label={`Group of step ${group.step}`}>
      <GroupTitle group={group} withStep={withStep} />
      {tools}
      {first !== undefined && (
        <FramePanels
          rowId={first.rowId}
          imageId={first.imageId}
          frames={first.frames}
          given={first.givenMask}
          tracks={tracks}
          role={answerRole(group.loop)}
          {...(fileName === undefined ? {} : { fileName })}
        />
      )}
      <div
        className={`grid gap-3 mt-3 align-start ${styles.cards}`}
        style={{ "--wide": perRow(rollouts.length, 8), "--narrow": perRow(rollouts.length, 4) } as CSSProperties}
      >
        {rollouts.map((rollout) => (
          <div key={rollout.id} data-faded={faded?.has(rollout) ?? false}>
            <RolloutCard
              rollout={rollout}
              layers={layers}
              scale={scale}
              selected={rollout.id === inspected}
              {...(sync === undefined ? {} : { sync })}
              onOpen={inspect}
            />
          </div>
        ))}
      </div>
    </article>
  );
}

/**
 * Debounces a value that changes in bursts, so that a burst causes one redraw.
 * @param quiet milliseconds without a change before the value is passed on
 * @param longest maximum milliseconds of delay while it keeps changing
 */
function useSettled<T>(value: T, quiet: number, longest: number): T {
  const [settled, setSettled] = useState(value);
  const since = useRef<number | null>(null);
  useEffect(() => {
    if (Object.is(value, settled)) {
      since.current = null;
      return;
    }
    const now = performance.now();
    since.current ??= now;
    const left = Math.max(0, Math.min(quiet, since.current + longest - now));
    const timer = window.setTimeout(() => {
      since.current = null;
      setSettled(value);
    }, left);
    return () => window.clearTimeout(timer);
  }, [value, settled, quiet, longest]);
  return settled;
}
