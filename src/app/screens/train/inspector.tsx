/**
 * The panel beside the tabs of Train: one rollout from what was given to the update of the weights. It stays while the
 * live view goes on, and fills up while a paused step runs phase by phase.
 */
import { type ReactNode, useMemo } from "react";
import type { LoopAbout } from "../../../engine/rl/loops/about.ts";
import { aboutLoop } from "../../../engine/rl/loops/abouts.ts";
import type { GivenRows, NextPhase, Phase } from "../../../engine/rl/run/events.ts";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { noisyMask } from "../../../engine/runs/rollouts/rollout-facts.ts";
import { LAYER_COLOURS, SAMPLED_COLOUR } from "../../components/mask/layers.ts";
import { MaskFigure } from "../../components/mask/mask-figure.tsx";
import { useOverlay } from "../../components/mask/overlay-store.ts";
import { useViews, WHOLE } from "../../components/mask/use-gestures.ts";
import { FramePanels, hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { advantageScale } from "../../components/rollout/group-title.tsx";
import { Caption, CaptionDiff } from "../../components/rollout/reward/caption-diff.tsx";
import { AdvantageBar, RolloutFigure } from "../../components/rollout/rollout-card.tsx";
import {
  answerRole,
  groupTracks,
  LAYER_KEYS,
  type LayerKey,
  layerName,
  movedRollout,
  parseLayers,
  rewardName,
  rolloutPlace,
  shortRow,
  sortRollouts,
  textTitle,
} from "../../components/rollout/rollout-view.ts";
import { groupKey, useStepGroups, type ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { useShortcuts, usesArrows } from "../../components/shortcuts.ts";
import { Button } from "../../components/ui/button.tsx";
import { navigate, useRoute } from "../../stores/route.ts";
import { PHASE_NAMES, type RunStoreState, useRun } from "../../stores/run/run.ts";
import { fixed, signed } from "../../styles/format.ts";
import styles from "./inspector.module.css";
import { type LessonPart, lessonOf, quoted } from "./lesson.ts";
import { SidePanel } from "./side-panel.tsx";

/** What the panel shows. */
export interface Inspected {
  readonly step: number;
  /** All groups of the step that are known. */
  readonly groups: readonly GroupRecord[];
  readonly group: GroupRecord | null;
  /** Of the group, best first. */
  readonly rollouts: readonly RolloutRecord[];
  readonly rollout: RolloutRecord | null;
  /** The next phase of a paused step that is followed; null otherwise. */
  readonly next: NextPhase | null;
  /** Whether that step has no rollouts yet. */
  readonly begun: boolean;
  readonly loading: boolean;
  readonly problem: string | null;
}

const NO_GROUPS: readonly GroupRecord[] = [];

/** The rollout in the address, else the one of the step that runs phase by phase; null while the panel is closed. */
export function useInspected(run: ViewedRun): Inspected | null {
  const asked = useRoute((route) => route.rollout);
  const explain = useRoute((route) => route.explain);
  const step = useRoute((route) => route.step);
  const follows = explain && run.source === "live" && step === null;
  const present = useRun((state) => state.step + 1);
  const next = useRun(({ state, nextPhase }) => (follows && state === "paused" ? nextPhase : null));
  const before = useRun((state) => (follows ? phaseBeforeGroups(state) : null));
  const drawn = useRun((state) => (run.source === "live" ? state.drawn : NO_GROUPS));
  const arrived = useRun((state) =>
    run.source === "live" ? (state.drawn.at(-1) ?? state.groups.at(-1))?.step : undefined,
  );
  const own = rolloutPlace(asked)?.step;
  const newest = arrived ?? run.steps.at(-1) ?? null;
  const shown = explain || own === undefined ? (follows ? newest : (step ?? own ?? newest)) : own;
  const stored = useStepGroups(run, shown);
  const supervised = (run.manifest?.config.mode ?? "rl") !== "rl";
  return useMemo(() => {
    if (supervised || (asked === null && !explain)) return null;
    const unfinished = drawn.filter((group) => group.step === shown);
    const groups = unfinished.length === 0 ? stored.groups : [...unfinished, ...stored.groups];
    const isAsked = ({ id }: RolloutRecord): boolean => id === asked;
    const place = rolloutPlace(asked);
    const group =
      groups.find(({ rollouts }) => rollouts.some(isAsked)) ??
      groups.find((one) => groupKey(one) === place?.group) ??
      groups[0] ??
      null;
    const rollouts = group === null ? [] : sortRollouts(group.rollouts, "reward");
    const chosen = group?.step === present && rollouts.some(isAsked);
    return {
      step: before !== null && !chosen ? present : (shown ?? present),
      groups,
      group,
      rollouts,
      rollout: rollouts.find(isAsked) ?? rollouts[0] ?? null,
      next,
      begun: before !== null && next !== null && !chosen,
      loading: stored.loading,
      problem: stored.problem,
    };
  }, [supervised, asked, explain, drawn, shown, stored.groups, stored.loading, stored.problem, present, before, next]);
}

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

/** Opens a rollout in the panel. The time line stays where it is, so that a live view goes on. */
export function inspect(rollout: Pick<RolloutRecord, "id" | "step">): void {
  // A rollout of the running step is followed phase by phase, an earlier one is not.
  const explain = useRoute.getState().explain && rollout.step > useRun.getState().step;
  navigate({ rollout: rollout.id, row: null, explain });
}

function closeInspector(): void {
  navigate({ rollout: null, explain: false });
}

/** Keys of the panel and of the tab Rollouts, where they also open it. */
export function useInspectorKeys(props: {
  readonly inspected: Inspected | null;
  /** Rollouts that the arrows open while the panel is closed. */
  readonly offered: readonly RolloutRecord[];
  /** Where the time line stops. */
  readonly steps: readonly number[];
  readonly step: number | null;
  /** Whether a table takes the arrows. */
  readonly table: boolean;
  readonly find: () => void;
}): void {
  const { inspected, offered, steps, step, table, find } = props;
  const shownStep = inspected?.step ?? step;
  const open = (by: number | "first" | "last"): void => {
    const list = inspected?.rollouts ?? offered;
    const last = list.length - 1;
    const at = list.findIndex(({ id }) => id === inspected?.rollout?.id);
    const next = list[by === "first" ? 0 : by === "last" ? last : Math.min(last, Math.max(0, at + by))];
    if (next !== undefined) inspect(next);
  };
  const toStep = (by: number): void => {
    const at = shownStep === null ? -1 : steps.indexOf(shownStep);
    const to = steps[Math.min(steps.length - 1, Math.max(0, at + by))];
    if (to !== undefined)
      navigate({ step: to, rollout: movedRollout(useRoute.getState().rollout, to), explain: false });
  };
  const { opacity, setOpacity } = useOverlay.getState();
  const panel: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => open(-1),
    ArrowRight: () => open(1),
    ArrowUp: () => toStep(-1),
    ArrowDown: () => toStep(1),
    Home: () => open("first"),
    End: () => open("last"),
  };
  const keys: Readonly<Record<string, () => void>> = {
    ...(inspected !== null || offered.length > 0 ? panel : {}),
    ...(inspected === null ? {} : { Escape: closeInspector, d: () => toggleLayer("difference") }),
    ...(inspected === null && document.activeElement === document.body ? { Enter: () => open("first") } : {}),
    ...Object.fromEntries(LAYER_KEYS.map((layer, at) => [String(at + 1), () => toggleLayer(layer)])),
    "[": () => setOpacity(opacity - 0.1),
    "]": () => setOpacity(opacity + 0.1),
    "/": find,
  };
  useShortcuts((event) => {
    // A letter may need Shift on its keyboard.
    if (event.shiftKey && event.key.length > 1) return;
    if (/^(Arrow|Home|End)/.test(event.key) && (table || usesArrows(event.target))) return;
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}

/** The panel. */
export function Inspector({ run, inspected }: { readonly run: ViewedRun; readonly inspected: Inspected }): ReactNode {
  const { step, group, rollouts, rollout, next, begun, loading, problem } = inspected;
  const given = useRun((state) => state.given);
  const at = rollout === null ? -1 : rollouts.indexOf(rollout);
  const [before, after] = [rollouts[at - 1], rollouts[at + 1]];
  const scored = !begun && rollout !== null && rollout.reward !== null;
  return (
    <SidePanel
      name={begun || rollout === null ? `Step ${step}` : `Rollout ${rollout.index + 1}`}
      kind="rollout"
      testId="inspector"
      numbers={
        scored && (
          <>
            <span className="muted small" title={rewardName(rollout)}>
              reward <b>{fixed(rollout.reward, 3)}</b>
            </span>
            <span className="muted small">
              adv <b>{signed(rollout.advantage, 2)}</b>
            </span>
          </>
        )
      }
      place={
        !begun &&
        rollout !== null && (
          <p className="muted small clip ellipsis nowrap" data-testid="inspected-place" title={rollout.rowId}>
            step {rollout.step} · loop {rollout.loop} · row {shortRow(rollout.rowId)}
          </p>
        )
      }
      onPrevious={before === undefined ? null : () => inspect(before)}
      onNext={after === undefined ? null : () => inspect(after)}
      onClose={closeInspector}
    >
      {begun && next !== null ? (
        <BegunStep
          next={next}
          given={given?.step === step && given.loop === next.loop ? given : null}
          count={run.manifest?.config.numGenerations ?? null}
        />
      ) : rollout !== null && group !== null ? (
        <Column run={run} inspected={inspected} rollout={rollout} group={group} />
      ) : (
        <p className={problem === null ? "muted p-4" : "bad p-4"}>
          {problem ?? (loading || run.loading ? "Reading…" : `Step ${step} has no rollouts`)}
        </p>
      )}
    </SidePanel>
  );
}

function Column(props: {
  readonly run: ViewedRun;
  readonly inspected: Inspected;
  readonly rollout: RolloutRecord;
  readonly group: GroupRecord;
}): ReactNode {
  const { run, rollout, group } = props;
  const { groups, next } = props.inspected;
  const loopGroups = useMemo(() => groups.filter(({ loop }) => loop === rollout.loop), [groups, rollout.loop]);
  const parts = useLesson(run, rollout, group, loopGroups, next);
  const config = run.manifest?.config ?? null;
  const scale = advantageScale(group);
  return (
    <>
      <Picture rollout={rollout} />
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
      {config !== null && !group.unfinished && hasPanels("rollout") && (
        <details className={`fold ${styles.more}`}>
          <summary>More: what if, recompute, history, raw</summary>
          <PluginPanels at="rollout" given={{ run, rollout, group, loopGroups, config }} />
        </details>
      )}
    </>
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

/** Figures with this name zoom together. */
const SYNC = "inspector";

function Picture({ rollout }: { readonly rollout: RolloutRecord }): ReactNode {
  const names = useRoute((route) => route.layers);
  const layers = useMemo(() => parseLayers(names), [names]);
  const zoom = useViews((state) => (state.views[SYNC] ?? WHOLE).zoom);
  const tracks = useMemo(() => groupTracks([rollout], rollout), [rollout]);
  return (
    <div className={styles.picture}>
      <RolloutFigure className={styles.figure ?? ""} rollout={rollout} layers={layers} sync={SYNC} />
      <FramePanels
        rowId={rollout.rowId}
        imageId={rollout.imageId}
        frames={rollout.frames}
        given={rollout.givenMask}
        tracks={tracks}
        role={answerRole(rollout.loop)}
        fileName={`rollout-${rollout.id}`}
      />
      <div className="row wrap gap-1 mt-2">
        <LayerToggles rollout={rollout} layers={layers} />
        {zoom !== 1 && (
          <Button onClick={() => useViews.getState().setView(SYNC, WHOLE)}>Whole picture · {zoom.toFixed(1)}×</Button>
        )}
      </div>
    </div>
  );
}

const LAYERS: Readonly<Record<LayerKey, string>> = {
  given: "Given",
  answer: "Answer",
  difference: "Difference",
  sampled: "Sampled",
};

function toggleLayer(layer: LayerKey): void {
  const layers = new Set(parseLayers(useRoute.getState().layers));
  if (!layers.delete(layer)) layers.add(layer);
  navigate({ layers: [...layers] });
}

/** Switches of the mask layers, each with its number key and colour. */
function LayerToggles(props: { readonly rollout: RolloutRecord; readonly layers: ReadonlySet<LayerKey> }): ReactNode {
  const { rollout, layers } = props;
  const missing: Readonly<Record<LayerKey, boolean>> = {
    given: false,
    answer: rollout.predictedMask === null,
    difference: rollout.predictedMask === null,
    sampled: noisyMask(rollout) === null,
  };
  return LAYER_KEYS.map((key, at) =>
    (key === "sampled" && missing.sampled) || (key !== "given" && aboutLoop(rollout.loop).mask === null) ? null : (
      <button
        key={key}
        type="button"
        className={`inline-flex align-centre muted small framed round-m clear pointer ${styles.layer}`}
        aria-pressed={layers.has(key)}
        disabled={missing[key]}
        title={layerName(key, rollout.loop)}
        onClick={() => toggleLayer(key)}
      >
        <kbd>{at + 1}</kbd>
        <i className={styles.swatch} data-layer={key} data-fill style={{ background: swatch(key, rollout) }} />
        {LAYERS[key]}
      </button>
    ),
  );
}

function swatch(key: LayerKey, rollout: RolloutRecord): string | undefined {
  if (key === "given") return LAYER_COLOURS.given;
  if (key === "answer") return LAYER_COLOURS[answerRole(rollout.loop)];
  return key === "sampled" ? SAMPLED_COLOUR : undefined;
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
        <details className="fold">
          <summary>{aboutLoop(rollout.loop).samples === "text" ? "Tokens, prompt and completion" : "Actions"}</summary>
          <PluginPanels at="actions" given={{ actions: rollout.actions }} />
          {/* One that differs from row to row stands in what was given. */}
          {(aboutLoop(rollout.loop) as LoopAbout).promptOfRow !== true && (
            <Caption name="Prompt" text={rollout.prompt} />
          )}
          <Caption name="Completion" text={rollout.completion} />
        </details>
      )}
      {part.phase === "reward" && rollout.reward !== null && hasPanels("reward") && (
        <details className="fold">
          <summary>How the reward came about</summary>
          <PluginPanels at="reward" given={{ rollout }} />
        </details>
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
