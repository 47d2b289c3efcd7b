import { type ReactNode, useMemo } from "react";
import { aboutLoop } from "../../../engine/rl/loops/abouts.ts";
import type { GivenRows, NextPhase, Phase } from "../../../engine/rl/run/events.ts";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { MaskFigure } from "../../components/mask/mask-figure.tsx";
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
import { type LessonPart, lessonOf, quoted } from "./lesson.ts";

/** One rollout of a step through all phases: what each computed, and its formula with the rollout's numbers. */
export function PhaseLesson({ run, step }: { readonly run: ViewedRun; readonly step: number | null }): ReactNode {
  const asked = useRoute((route) => route.rollout);
  const latest = useRoute((route) => route.step === null);
  const follows = run.live && latest;
  const next = useRun(({ state, nextPhase }) => (follows && state === "paused" ? nextPhase : null));
  const begun = useRun((state) => (follows ? phaseBeforeGroups(state) : null));
  const given = useRun((state) => state.given);
  const present = useRun((state) => state.step + 1);
  const { groups: scored } = useStepGroups(run, step);
  const drawn = useRun((state) => (next === null ? NO_GROUPS : state.drawn));
  const groups = drawn.length === 0 ? scored : [...drawn, ...scored.filter((group) => group.step === present)];
  const group = groups.find(({ rollouts }) => rollouts.some(({ id }) => id === asked)) ?? groups[0];
  const rollouts = useMemo(() => (group === undefined ? [] : sortRollouts(group.rollouts, "reward")), [group]);
  const rollout = rollouts.find(({ id }) => id === asked) ?? rollouts[0];
  const chosen = groups.some(({ step, rollouts }) => step === present && rollouts.some(({ id }) => id === asked));
  if (begun !== null && next !== null && !chosen) {
    return (
      <BegunStep
        step={present}
        next={next}
        given={given?.step === present && given.loop === next.loop ? given : null}
        count={run.manifest?.config.groupSize ?? null}
      />
    );
  }
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
          <a
            href={linkTo({
              screen: "train",
              tab: "rollouts",
              run: run.place,
              step,
              group: groupKey(group),
              rollout: rollout.id,
            })}
          >
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

/** The next phase of a paused step whose loop has no rollouts yet, else null. */
export function phaseBeforeGroups({
  state,
  nextPhase,
  step,
  groups,
  drawn,
}: Pick<RunStoreState, "state" | "nextPhase" | "step" | "groups" | "drawn">): Phase | null {
  if (state !== "paused" || nextPhase === null || !BEFORE_GROUPS.includes(nextPhase.phase)) return null;
  const own = ({ step: of, loop }: GroupRecord): boolean => of > step && loop === nextPhase.loop;
  return groups.some(own) || drawn.some(own) ? null : nextPhase.phase;
}

/** A paused step before a loop samples: the rows that it has drawn, and the phases that follow. */
function BegunStep(props: {
  readonly step: number;
  readonly next: NextPhase;
  readonly given: GivenRows | null;
  /** Rollouts per row. */
  readonly count: number | null;
}): ReactNode {
  const { step, next, given, count } = props;
  const parts = TAUGHT.filter(
    (phase) => phase !== "partner" || next.loop === null || aboutLoop(next.loop).mask !== null,
  );
  return (
    <section className="grid gap-3 framed round-l surface p-4" aria-label="Phases of the step" data-testid="lesson">
      <h2>
        Step {step}, phase by phase{next.loop === null ? "" : `, loop ${next.loop}`}
      </h2>
      <ol className={`grid gap-3 m-0 p-0 no-bullets ${styles.parts}`}>
        {parts.map((phase, at) => (
          <PartFrame key={phase} phase={phase} place={at + 1} next={phase === next.phase}>
            {phase === "sample" && given !== null ? (
              <Given {...given} count={count} />
            ) : (
              <p className="muted">{phase === "sample" ? "Computed" : "Not computed yet"}</p>
            )}
          </PartFrame>
        ))}
      </ol>
    </section>
  );
}

/** Maximum number of given rows to show. */
const MOST_GIVEN = 4;

function Given({ rows, loop, count }: GivenRows & { readonly count: number | null }): ReactNode {
  const { samples } = aboutLoop(loop);
  return (
    <>
      <ul
        className={`grid gap-2 m-0 p-0 no-bullets ${samples === "text" ? styles.given : ""}`}
        data-testid="given-rows"
      >
        {rows.slice(0, MOST_GIVEN).map((row) => (
          <li key={row.id}>
            {samples === "text" ? (
              <MaskFigure
                className={styles.picture ?? ""}
                rowId={row.id}
                imageId={row.imageId}
                width={row.mask.size[1]}
                height={row.mask.size[0]}
                frames={row.frames}
                layers={[{ role: "given", mask: row.mask }]}
                label={`Given mask of row ${row.id}`}
              />
            ) : (
              quoted(row.caption)
            )}
          </li>
        ))}
      </ul>
      <p>Given: {rows.length === 1 ? "one row" : `${rows.length} rows`}</p>
      {count !== null && <code>G = {count} rollouts of each prompt</code>}
    </>
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
  const running = useRun(({ step }) => step + 1 === group.step);
  const unlogged = next !== null && running ? next.phase : undefined;
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
    return lessonOf({ rollout, groups: own, config, metric, ...(until && { until }), ...(unlogged && { unlogged }) });
  }, [rollout, groups, config, run.metrics, logged, until, unlogged]);
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
