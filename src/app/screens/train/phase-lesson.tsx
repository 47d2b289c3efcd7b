import { type ReactNode, useMemo } from "react";
import type { NextPhase, Phase } from "../../../engine/rl/run/events.ts";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { advantageScale } from "../../components/rollout/group-title.tsx";
import { AdvantageBar } from "../../components/rollout/reward/advantage-bar.tsx";
import { RolloutFigure } from "../../components/rollout/rollout-figure.tsx";
import { ANSWER, GIVEN, sortRollouts } from "../../components/rollout/rollout-view.ts";
import { groupKey, useStepGroups, type ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { linkTo, navigate, useRoute } from "../../stores/route.ts";
import { PHASE_NAMES } from "../../stores/run/phase-names.ts";
import { type RunStoreState, useRun } from "../../stores/run/run.ts";
import { fixed } from "../../styles/format.ts";
import styles from "./lesson.module.css";
import { type LessonPart, lessonOf } from "./lesson.ts";

/** One rollout of a step through all phases: what each computed, and its formula with the rollout's numbers. */
export function PhaseLesson({ run, step }: { readonly run: ViewedRun; readonly step: number | null }): ReactNode {
  const asked = useRoute((route) => route.rollout);
  const latest = useRoute((route) => route.step === null);
  const follows = run.live && latest;
  const next = useRun(({ state, nextPhase }) => (follows && state === "paused" ? nextPhase : null));
  const begun = useRun((state) => (follows ? phaseBeforeGroups(state) : null));
  const present = useRun((state) => state.step + 1);
  const { groups: scored } = useStepGroups(run, step);
  const drawn = useRun((state) => (next === null ? NO_GROUPS : state.drawn));
  const groups = drawn.length === 0 ? scored : [...drawn, ...scored.filter((group) => group.step === present)];
  const group = groups.find(({ rollouts }) => rollouts.some(({ id }) => id === asked)) ?? groups[0];
  const rollouts = useMemo(() => (group === undefined ? [] : sortRollouts(group.rollouts, "reward")), [group]);
  const rollout = rollouts.find(({ id }) => id === asked) ?? rollouts[0];
  if (begun !== null && drawn.length === 0) return <BegunStep step={present} next={begun} />;
  if (group === undefined || rollout === undefined || run.manifest === null) {
    return <p className="muted">Select a step with rollouts to see its phases</p>;
  }
  return (
    <section className="grid gap-3 framed round-l surface p-4" aria-label="Phases of the step" data-testid="lesson">
      <header className="row wrap gap-2-3">
        <h2>Step {group.step}, phase by phase</h2>
        <select
          aria-label="Rollout"
          value={rollout.id}
          onChange={(event) =>
            navigate({ ...(drawn.length === 0 && { step }), rollout: event.currentTarget.value, group: null })
          }
        >
          {groups.flatMap((one) =>
            one.rollouts.map(({ id, index, reward }) => (
              <option key={id} value={id}>
                Loop {one.loop}, group {one.group + 1}, #{index + 1}
                {one.unfinished ? "" : `: ${fixed(reward, 2)}`}
              </option>
            )),
          )}
        </select>
        {!group.unfinished && (
          <a href={linkTo({ screen: "rollouts", run: run.place, step, group: groupKey(group), rollout: rollout.id })}>
            Open this rollout
          </a>
        )}
      </header>
      <Parts run={run} group={group} groups={groups} rollout={rollout} next={next} />
    </section>
  );
}

const NO_GROUPS: readonly GroupRecord[] = [];

/** Phases of a step before its first rollouts. */
const BEFORE_GROUPS: readonly Phase[] = ["features", "generate"];
const TAUGHT: readonly Phase[] = ["sample", "generate", "partner", "reward", "advantage", "loss", "update", "ema"];

/** The next phase of a paused step that has no rollouts yet, else null. */
export function phaseBeforeGroups({
  state,
  nextPhase,
  step,
  groups,
}: Pick<RunStoreState, "state" | "nextPhase" | "step" | "groups">): Phase | null {
  if (state !== "paused" || nextPhase === null || !BEFORE_GROUPS.includes(nextPhase.phase)) return null;
  return groups.some((group) => group.step > step) ? null : nextPhase.phase;
}

/** A paused step without rollouts: how far it is. */
function BegunStep(props: { readonly step: number; readonly next: Phase }): ReactNode {
  const order = Object.keys(PHASE_NAMES);
  return (
    <section className="grid gap-3 framed round-l surface p-4" aria-label="Phases of the step" data-testid="lesson">
      <h2>Step {props.step}, phase by phase</h2>
      <ol className={`grid gap-3 m-0 p-0 no-bullets ${styles.parts}`}>
        {TAUGHT.map((phase, at) => (
          <PartFrame key={phase} phase={phase} place={at + 1} next={phase === props.next}>
            <p className="muted">
              {order.indexOf(phase) < order.indexOf(props.next)
                ? "Computed; the rollouts appear when they are sampled"
                : "Not computed yet"}
            </p>
          </PartFrame>
        ))}
      </ol>
    </section>
  );
}

function Parts(props: {
  readonly run: ViewedRun;
  readonly group: GroupRecord;
  /** Of the step, all loops. */
  readonly groups: readonly GroupRecord[];
  readonly rollout: RolloutRecord;
  /** The next phase of a paused run. */
  readonly next: NextPhase | null;
}): ReactNode {
  const { run, group, groups, rollout, next } = props;
  const until = group.unfinished ? next?.phase : undefined;
  const { steps } = run.metrics;
  const config = run.manifest?.config;
  // A store keeps its identity while it grows; the number of steps shows that a metric may have arrived.
  const logged = steps.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const parts = useMemo(() => {
    if (config === undefined) return [];
    const at = run.metrics.steps.indexOf(rollout.step);
    const metric = (name: string): number | null => {
      const value = at < 0 ? Number.NaN : run.metrics.column(name)[at];
      return value === undefined || Number.isNaN(value) ? null : value;
    };
    const own = groups.filter(({ loop }) => loop === rollout.loop);
    return lessonOf({ rollout, groups: own, config, metric, ...(until && { until }) });
  }, [rollout, groups, config, run.metrics, logged, until]);
  return (
    <ol className={`grid gap-3 m-0 p-0 no-bullets ${styles.parts}`}>
      {parts.map((part, at) => (
        <Part
          key={part.phase}
          part={part}
          place={at + 1}
          rollout={rollout}
          scale={advantageScale(group)}
          next={next?.phase === part.phase && (next.loop === null || next.loop === rollout.loop)}
        />
      ))}
    </ol>
  );
}

interface Place {
  /** From 1. */
  readonly place: number;
  /** Whether the paused run computes this phase next. */
  readonly next: boolean;
}

function PartFrame(props: Place & { readonly phase: Phase; readonly children: ReactNode }): ReactNode {
  const { phase, place, next, children } = props;
  return (
    <li className={`grid gap-2 p-3 round-m surface-2 min-0 ${styles.part}`} data-next={next} data-phase={phase}>
      <h3>
        <span className="muted normal">{place}</span> {PHASE_NAMES[phase]}
        {next && <span className="accent normal"> · next</span>}
      </h3>
      {children}
    </li>
  );
}

function Part(
  props: Place & { readonly part: LessonPart; readonly rollout: RolloutRecord; readonly scale: number },
): ReactNode {
  const { part, place, rollout, scale, next } = props;
  return (
    <PartFrame phase={part.phase} place={place} next={next}>
      {part.picture !== undefined && (
        <RolloutFigure
          className={styles.picture ?? ""}
          rollout={rollout}
          layers={part.picture === "given" ? GIVEN : ANSWER}
        />
      )}
      <p className={part.made === null ? "muted" : ""}>{part.made ?? "Not computed yet"}</p>
      {part.phase === "advantage" && part.made !== null && <AdvantageBar value={rollout.advantage} scale={scale} />}
      {part.formulas.map((line) => (
        <code key={line} className="anywhere">
          {line}
        </code>
      ))}
    </PartFrame>
  );
}
