/**
 * The panel beside the tabs of Train: one rollout from what was given to the update of the weights. It stays while the
 * live view goes on, and fills up while a paused step runs phase by phase.
 */
import { type ReactNode, useMemo } from "react";
import { aboutLoop } from "../../../engine/rl/loops/abouts.ts";
import type { NextPhase, Phase } from "../../../engine/rl/run/events.ts";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { generatedText, groupToFollow, noisyMask } from "../../../engine/runs/rollouts/rollout-facts.ts";
import { InSlices } from "../../components/in-parts.tsx";
import { LAYER_COLOURS, SAMPLED_COLOUR } from "../../components/mask/layers.ts";
import { useOverlay } from "../../components/mask/overlay-store.ts";
import { useViews, WHOLE } from "../../components/mask/use-gestures.ts";
import type { Places } from "../../components/place/page-plugin.ts";
import { FramePanels, hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { Caption } from "../../components/rollout/caption.tsx";
import { advantageScale } from "../../components/rollout/group-title.tsx";
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
  rewardSum,
  rolloutPlace,
  shortRow,
  sortRollouts,
  textTitle,
} from "../../components/rollout/rollout-view.ts";
import { groupKey, useStepGroups, type ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { useShortcuts, usesArrows } from "../../components/shortcuts.ts";
import { Button } from "../../components/ui/button.tsx";
import { Fold } from "../../components/ui/panel/panel.tsx";
import { navigate, useRoute } from "../../stores/route.ts";
import { type RunStoreState, useRun } from "../../stores/run/run.ts";
import { fixed, signed } from "../../styles/format.ts";
import { SidePanel } from "./side-panel.tsx";
import styles from "./train.module.css";

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
  const loop = useRun((state) => state.loop);
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
      (follows ? groupToFollow(groups, loop) : groups[0]) ??
      null;
    const rollouts = group === null ? [] : sortRollouts(group.rollouts, "reward");
    const chosen = group?.step === present && rollouts.some(isAsked);
    return {
      step: before !== null && !chosen ? present : (shown ?? present),
      groups,
      group,
      rollouts,
      // The best one is another as soon as the rewards are known.
      rollout: rollouts.find(isAsked) ?? (follows ? group?.rollouts[0] : rollouts[0]) ?? null,
      next,
      begun: before !== null && next !== null && !chosen,
      loading: stored.loading,
      problem: stored.problem,
    };
  }, [supervised, asked, explain, follows, loop, drawn, shown, stored, present, before, next]);
}

/** Phases of a step before its first rollouts. */
const BEFORE_GROUPS: readonly Phase[] = ["features", "generate"];

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

const TAKE_ENTER = "a, button, input, select, summary, textarea";

/** Keys of the panel and of the tab Rollouts, where they also open it. */
export function useInspectorKeys(props: {
  readonly inspected: Inspected | null;
  /** Rollouts that the arrows open while the panel is closed. */
  readonly offered: readonly RolloutRecord[];
  /** What Enter opens while the panel is closed. */
  readonly best: RolloutRecord | undefined;
  /** Where the time line stops. */
  readonly steps: readonly number[];
  readonly step: number | null;
  /** Whether a table takes the arrows. */
  readonly table: boolean;
  readonly find: () => void;
}): void {
  const { inspected, offered, best, steps, step, table, find } = props;
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
    ...(inspected !== null ? { d: () => toggleLayer("difference") } : best && { Enter: () => inspect(best) }),
    ...Object.fromEntries(LAYER_KEYS.map((layer, at) => [String(at + 1), () => toggleLayer(layer)])),
    "[": () => setOpacity(opacity - 0.1),
    "]": () => setOpacity(opacity + 0.1),
    "/": find,
  };
  useShortcuts((event) => {
    // A letter may need Shift on its keyboard.
    if (event.shiftKey && event.key.length > 1) return;
    if (/^(Arrow|Home|End)/.test(event.key) && (table || usesArrows(event.target))) return;
    // A control that has the focus takes Enter itself.
    const { target } = event;
    if (event.key === "Enter" && target instanceof Element && target.closest(TAKE_ENTER) !== null) return;
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}

/** The panel. */
export function Inspector({ run, inspected }: { readonly run: ViewedRun; readonly inspected: Inspected }): ReactNode {
  const { step, group, rollouts, rollout, next, begun, loading, problem } = inspected;
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
            {group?.unfinished !== true && (
              <span className="muted small">
                adv <b>{signed(rollout.advantage, 2)}</b>
              </span>
            )}
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
      onClose={() => navigate({ rollout: null, explain: false })}
    >
      {(begun && next !== null) || (rollout !== null && group !== null) ? (
        <InSlices>
          <Column
            run={run}
            inspected={inspected}
            shown={begun || rollout === null || group === null ? null : { rollout, group }}
          />
        </InSlices>
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
  /** Null for a paused step without rollouts. */
  readonly shown: Places["lesson"]["shown"];
}): ReactNode {
  const { run, shown } = props;
  const { step, groups, next } = props.inspected;
  const loop = shown?.rollout.loop;
  const loopGroups = useMemo(() => groups.filter((group) => group.loop === loop), [groups, loop]);
  const config = run.manifest?.config ?? null;
  return (
    <>
      {shown !== null && <Picture rollout={shown.rollout} />}
      {hasPanels("lesson") ? (
        <PluginPanels at="lesson" given={{ run, step, groups, next, shown }} quiet />
      ) : (
        shown !== null && <Said {...shown} />
      )}
      {shown !== null && config !== null && !shown.group.unfinished && hasPanels("rollout") && (
        <Fold className={styles.more ?? ""} summary="More: what if, recompute, history, raw">
          <PluginPanels at="rollout" given={{ run, ...shown, loopGroups, config }} />
        </Fold>
      )}
    </>
  );
}

/** What was asked and answered, and what that earned; plug-ins tell it phase by phase. */
function Said({ rollout, group }: { readonly rollout: RolloutRecord; readonly group: GroupRecord }): ReactNode {
  return (
    <div className="grid gap-2 p-4">
      <Caption name="Prompt" text={rollout.prompt} />
      <Caption name={textTitle(rollout.loop)} text={generatedText(rollout.loop, rollout) ?? ""} />
      <p>{rewardSum(rollout.terms)}</p>
      <AdvantageBar value={rollout.advantage} scale={advantageScale(group)} />
    </div>
  );
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
  const maskOf = (key: LayerKey) => (key === "sampled" ? noisyMask(rollout) : rollout.predictedMask);
  return LAYER_KEYS.map((key, at) =>
    key !== "given" && (aboutLoop(rollout.loop).mask === null || (key === "sampled" && maskOf(key) === null)) ? null : (
      <button
        key={key}
        type="button"
        className={`inline-flex align-centre muted small framed round-m clear pointer ${styles.layer}`}
        aria-pressed={layers.has(key)}
        disabled={key !== "given" && maskOf(key) === null}
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
