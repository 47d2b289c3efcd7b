/** In the inspector: what each phase of the step made of a rollout, or the rows that a paused step has drawn. */
import { type ReactNode, useMemo } from "react";
import { MaskFigure } from "../../app/components/mask/mask-figure.tsx";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { hasPanels, PluginPanels } from "../../app/components/place/place.tsx";
import { Caption, CaptionDiff } from "../../app/components/rollout/caption.tsx";
import { advantageScale } from "../../app/components/rollout/group-title.tsx";
import { AdvantageBar } from "../../app/components/rollout/rollout-card.tsx";
import { textTitle } from "../../app/components/rollout/rollout-view.ts";
import type { ViewedRun } from "../../app/components/rollout/use-viewed-run.ts";
import { Fold } from "../../app/components/ui/panel/panel.tsx";
import { PHASE_NAMES, useRun } from "../../app/stores/run/run.ts";
import { fixed } from "../../app/styles/format.ts";
import type { LoopAbout } from "../../engine/rl/loops/about.ts";
import { aboutLoop } from "../../engine/rl/loops/abouts.ts";
import type { GivenRows, NextPhase, Phase } from "../../engine/rl/run/events.ts";
import type { GroupRecord, RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import { type LessonPart, lessonOf, quoted } from "./lesson.ts";
import styles from "./phases.module.css";

export default function Lesson({ run, step, groups, shown, next }: Places["lesson"]): ReactNode {
  const given = useRun((state) => state.given);
  if (shown !== null) return <Column run={run} groups={groups} next={next} {...shown} />;
  if (next === null) return null;
  return (
    <BegunStep
      next={next}
      given={given?.step === step && given.loop === next.loop ? given : null}
      count={run.manifest?.config.numGenerations ?? null}
    />
  );
}

function Column(props: {
  readonly run: ViewedRun;
  readonly groups: readonly GroupRecord[];
  readonly next: NextPhase | null;
  readonly rollout: RolloutRecord;
  readonly group: GroupRecord;
}): ReactNode {
  const { run, groups, next, rollout, group } = props;
  const loopGroups = useMemo(() => groups.filter(({ loop }) => loop === rollout.loop), [groups, rollout.loop]);
  const parts = useLesson(run, rollout, group, loopGroups, next);
  const scale = advantageScale(group);
  return (
    <ol className="m-0 p-0 no-bullets" data-testid="lesson">
      {parts.map((part) => (
        <Part
          key={part.phase}
          phase={part.phase}
          next={next?.phase === part.phase && (next.loop === null || next.loop === rollout.loop)}
        >
          <Made part={part} rollout={rollout} scale={scale} />
        </Part>
      ))}
    </ol>
  );
}

/** What each phase made of a rollout, as far as it has run. */
function useLesson(
  run: ViewedRun,
  rollout: RolloutRecord,
  group: GroupRecord,
  groups: readonly GroupRecord[],
  next: NextPhase | null,
): readonly LessonPart[] {
  const phase = useRun((state) => state.phase);
  const running = useRun(({ step }) => step + 1 === group.step);
  const until = group.unfinished ? (next?.phase ?? phase ?? "generate") : undefined;
  const unlogged = next !== null && running ? next.phase : undefined;
  const config = run.manifest?.config;
  // A store keeps its identity while it grows; the number of steps shows that a metric may have arrived.
  const logged = run.metrics.steps.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  return useMemo(() => {
    if (config === undefined) return [];
    const at = run.metrics.steps.indexOf(rollout.step);
    const metric = (name: string): number | null => {
      const value = at < 0 ? Number.NaN : run.metrics.column(name)[at];
      return value === undefined || Number.isNaN(value) ? null : value;
    };
    return lessonOf({ rollout, groups, config, metric, ...(until && { until }), ...(unlogged && { unlogged }) });
  }, [rollout, groups, config, run.metrics, logged, until, unlogged]);
}

/** Titles of the column's parts, by the phase that makes them. */
const PARTS: Readonly<Partial<Record<Phase, string>>> = {
  sample: "Given",
  generate: "Answer",
  partner: "Partner",
  reward: "Reward",
  advantage: "Advantage",
  loss: "Loss",
  update: "Update",
  ema: "Partner's update",
};

function Part(props: { readonly phase: Phase; readonly next: boolean; readonly children: ReactNode }): ReactNode {
  const { phase, next, children } = props;
  return (
    <li className={`grid min-0 ${styles.part}`} data-next={next} data-phase={phase}>
      <h3 className="muted small" title={PHASE_NAMES[phase]}>
        {PARTS[phase] ?? PHASE_NAMES[phase]}
        {next && <span className="accent"> · next</span>}
      </h3>
      {children}
    </li>
  );
}

/** What a phase made: in words, as a formula, and how it came about on demand. */
function Made(props: {
  readonly part: LessonPart;
  readonly rollout: RolloutRecord;
  readonly scale: number;
}): ReactNode {
  const { part, rollout, scale } = props;
  if (part.made === null) return <p className="muted">Not computed yet</p>;
  return (
    <>
      <MadeText part={part} rollout={rollout} />
      {part.phase === "advantage" && <AdvantageBar value={rollout.advantage} scale={scale} />}
      {part.formulas.map((line) => (
        <code key={line} className="anywhere">
          {line}
        </code>
      ))}
      {part.phase === "generate" && rollout.actions.length > 0 && (
        <Fold summary={aboutLoop(rollout.loop).samples === "text" ? "Tokens, prompt and completion" : "Actions"}>
          <PluginPanels at="actions" given={{ actions: rollout.actions }} />
          {/* One that differs from row to row stands in what was given. */}
          {(aboutLoop(rollout.loop) as LoopAbout).promptOfRow !== true && (
            <Caption name="Prompt" text={rollout.prompt} />
          )}
          <Caption name="Completion" text={rollout.completion} />
        </Fold>
      )}
      {part.phase === "reward" && rollout.reward !== null && hasPanels("reward") && (
        <Fold summary="How the reward came about">
          <PluginPanels at="reward" given={{ rollout }} />
        </Fold>
      )}
    </>
  );
}

/** Texts are read whole and plain; everything else is one sentence. */
function MadeText({ part, rollout }: { readonly part: LessonPart; readonly rollout: RolloutRecord }): ReactNode {
  const { loop, caption, captionPrime, referenceCaption, truncated } = rollout;
  const { samples, text, promptOfRow }: LoopAbout = aboutLoop(loop);
  if (part.phase === "sample" && samples === "mask") return <Caption name="Caption" text={caption} />;
  if (part.phase === "sample") {
    return (
      <>
        <p>{part.made}</p>
        {promptOfRow === true ? (
          <Caption name="Prompt" text={rollout.prompt} />
        ) : (
          <p className="muted small anywhere">Reference: {referenceCaption}</p>
        )}
      </>
    );
  }
  if (part.phase === "generate" && samples === "text") {
    return (
      <>
        <CaptionDiff name={textTitle(loop)} text={caption} reference={referenceCaption} />
        {truncated && <p className="warn">Truncated at the length limit</p>}
      </>
    );
  }
  if (part.phase === "partner" && text !== "caption" && captionPrime !== null) {
    return <CaptionDiff name={textTitle(loop)} text={captionPrime} reference={caption} />;
  }
  if (part.phase === "reward" && rollout.reward !== null) {
    return <p className={styles.number}>{fixed(rollout.reward, 3)}</p>;
  }
  return <p>{part.made}</p>;
}

const TAUGHT: readonly Phase[] = ["sample", "generate", "partner", "reward", "advantage", "loss", "update", "ema"];

/** A paused step before a loop samples: the rows that it has drawn, and the phases that follow. */
function BegunStep(props: {
  readonly next: NextPhase;
  readonly given: GivenRows | null;
  /** Rollouts per row. */
  readonly count: number | null;
}): ReactNode {
  const { next, given, count } = props;
  const parts = TAUGHT.filter(
    (phase) => phase !== "partner" || next.loop === null || aboutLoop(next.loop).mask !== null,
  );
  return (
    <ol className="m-0 p-0 no-bullets" data-testid="lesson">
      {parts.map((phase) => (
        <Part key={phase} phase={phase} next={phase === next.phase}>
          {phase === "sample" && given !== null ? (
            <Given {...given} count={count} />
          ) : (
            <p className="muted">{phase === "sample" ? "Computed" : "Not computed yet"}</p>
          )}
        </Part>
      ))}
    </ol>
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
                className={styles.figure ?? ""}
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
