/** What a run in progress shows: the time of its phases, and its newest groups as they arrive. */
import { type CSSProperties, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import type { Phase, PhaseTimes } from "../../../engine/rl/run/events.ts";
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
import { type Eta, evaluationSeconds, roughly } from "../../stores/run/eta.ts";
import { PHASE_NAMES, useRun } from "../../stores/run/run.ts";
import { counted, formatSeconds, percent } from "../../styles/format.ts";
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

/** The last group of each loop; a rollout opens in the inspector while the run continues. @param groups of one step, or the newest */
export function StepStrip({ groups }: { readonly groups: readonly GroupRecord[] }): ReactNode {
  const newest = useMemo(
    () =>
      LOOP_IDS.flatMap((loop) => {
        const group = groups.findLast((candidate) => candidate.loop === loop);
        return group === undefined ? [] : [group];
      }),
    [groups],
  );
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
              onOpen={() => inspect(rollout)}
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

/** Time of the last step by phase, and the current phase; in a first step, the number of compiled programs. */
export function PhaseBar(): ReactNode {
  const { state, phaseTimes, phase, loop, programs, nextPhase, eta } = useRun();
  const active = state === "running" || state === "pausing";
  const next = state === "paused" ? nextPhase : null;
  const rows = eta.rows === null ? "" : ` · ${eta.rows.done}/${counted(eta.rows.total, "row")}`;
  const left = state === "running" ? evaluationLeft(eta) : null;
  const shares = phaseShares(phaseTimes);
  const total = shares.reduce((sum, part) => sum + part.seconds, 0);
  return (
    <section className={`grid gap-3 align-centre ${styles.phases}`} aria-label="Time of the last step">
      <p className="flex gap-6px between muted small nowrap">
        {active && phase !== null ? (
          <span className="muted">
            <b>{PHASE_NAMES[phase]}</b>
            {phase === "eval" ? rows : loop === null ? "" : ` · loop ${loop}`}
          </span>
        ) : next !== null ? (
          <span className="muted" data-testid="paused-before">
            Paused; next: <b>{PHASE_NAMES[next.phase]}</b>
            {next.loop === null ? "" : ` · loop ${next.loop}`}
          </span>
        ) : (
          "Last step"
        )}
        <span>{left ?? (shares.length === 0 ? "" : formatSeconds(total))}</span>
      </p>
      {shares.length === 0 ? (
        <p className={`muted tiny round-s surface-2 ${styles.compiled}`}>
          {programs > 0 ? `${programs} GPU programs compiled` : ""}
        </p>
      ) : (
        <ol className={`relative m-0 p-0 clip round-s surface-2 no-bullets ${styles.bar}`}>
          {shares.map((part, at) => (
            <li
              key={part.phase}
              className="absolute clip surface-2 tiny nowrap"
              data-fill
              style={placeOf(shares, at)}
              data-shade={at % 2}
              data-now={active ? part.phase === phase : part.phase === next?.phase}
              title={`${PHASE_NAMES[part.phase]}: ${formatSeconds(part.seconds)}, ${percent(part.share)}`}
            >
              <span className="block clip muted">
                {PHASE_NAMES[part.phase]} <b>{percent(part.share)}</b>
              </span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

/**
 * Place and width of a phase in the bar. The place is a transform, because it changes with every step and must not move
 * anything else. `--need` is the width of the label, which is hidden in a narrower phase.
 */
function placeOf(shares: readonly PhaseShare[], at: number): CSSProperties {
  const { share, phase } = shares[at] as PhaseShare;
  const before = shares.slice(0, at).reduce((sum, part) => sum + part.share, 0);
  const length = PHASE_NAMES[phase].length + percent(share).length + 1;
  return {
    width: `${100 * share}%`,
    transform: `translateX(${(100 * before) / share}%)`,
    "--need": `calc(${0.9 * length}ch + 12px)`,
  } as CSSProperties;
}

function evaluationLeft(eta: Eta): string | null {
  const rest = evaluationSeconds(eta, Date.now());
  return rest === null ? null : `${roughly(rest)} left`;
}

interface PhaseShare {
  readonly phase: Phase;
  readonly seconds: number;
  /** Share of the whole step, 0..1. */
  readonly share: number;
}

/** Shares of a step's time in the order of the phases; phases that took no time are left out. */
export function phaseShares(times: PhaseTimes): PhaseShare[] {
  const phases = (Object.keys(PHASE_NAMES) as Phase[]).filter((phase) => (times[phase] ?? 0) > 0);
  const total = phases.reduce((sum, phase) => sum + (times[phase] ?? 0), 0);
  return phases.map((phase) => ({ phase, seconds: times[phase] ?? 0, share: (times[phase] ?? 0) / total }));
}
