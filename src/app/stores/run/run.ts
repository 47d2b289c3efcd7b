/** The live run of this page; stored runs are read through the data client. */

import { create } from "zustand";
import type {
  Alarm,
  GivenRows,
  NextPhase,
  Phase,
  PhaseTimes,
  RunState,
  TrainerEvent,
} from "../../../engine/rl/run/events.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import type { StepCosts } from "../../../engine/runs/phase-lines.ts";
import type { GroupRecord, LoopId } from "../../../engine/runs/rollouts/records.ts";
import { outdateBy } from "../reads.ts";
import { etaAfter, NO_PACE } from "./eta.ts";
import { metricStore } from "./metrics.ts";

/** Number of steps whose costs are kept for medians. */
const MAX_COSTS = 2000;

interface LastCheckpoint {
  readonly step: number;
  /** Milliseconds since the epoch; null for one that an earlier session wrote. */
  readonly at: number | null;
  readonly bytes: number;
  /** Whether the user requested it, not the interval. */
  readonly asked: boolean;
}

/** No run. */
const EMPTY = {
  runId: null as string | null,
  /** The stored run that is to continue, until it does. */
  continues: null as string | null,
  manifest: null as RunManifest | null,
  state: "idle" as RunState,
  /** Steps completed. */
  step: 0,
  phase: null as Phase | null,
  /** GPU programs compiled so far. */
  programs: 0,
  loop: null as LoopId | null,
  /** Seconds per phase of the last finished step. */
  phaseTimes: {} as PhaseTimes,
  /** Costs per phase of the steps since the page opened, newest last. */
  costs: [] as readonly StepCosts[],
  /** Newest last; whole steps (run-groups.ts). */
  groups: [] as readonly GroupRecord[],
  /** Unfinished groups of the running step. */
  drawn: [] as readonly GroupRecord[],
  /** Rows that a loop of the running step has drawn last. */
  given: null as GivenRows | null,
  lastCheckpoint: null as LastCheckpoint | null,
  /** Whether a requested checkpoint is not written yet. */
  saveAsked: false,
  /** Whether a requested evaluation is waiting or in progress. */
  evaluationAsked: false,
  /** The next phase, while paused. */
  nextPhase: null as NextPhase | null,
  eta: NO_PACE,
  /** Since the page opened, newest last. */
  alarms: [] as readonly Alarm[],
  /** Keys of dismissed alarms of this run. */
  dismissed: new Set() as ReadonlySet<string>,
  /** Of the last finished step; null before the first. */
  rolloutsPerMinute: null as number | null,
  /** Held-out evaluations that arrived since the page opened. */
  evaluations: 0,
  heldOutRows: 0,
};

export type RunStoreState = Readonly<typeof EMPTY>;

export const useRun = create<RunStoreState>()(() => EMPTY);

/** States in which a run occupies the trainer. */
export function isActive(state: RunState): boolean {
  return state !== "idle" && state !== "ready" && state !== "finished" && state !== "failed";
}

/** Peak bytes on the GPU in the last step; null where they were not measured. */
export function lastPeak({ costs }: RunStoreState): number | null {
  const peaks = Object.values(costs.at(-1)?.phases ?? {}).flatMap(({ peakBytes }) => peakBytes ?? []);
  return peaks.length === 0 ? null : Math.max(...peaks);
}

/** A run started, or resumed at `resumedAt` completed steps. */
export function beginRun(manifest: RunManifest, resumedAt: number, heldOutRows: number): void {
  const before = useRun.getState();
  const same = before.runId === manifest.id;
  metricStore(manifest.id).keepTo(resumedAt);
  useRun.setState({
    ...EMPTY,
    runId: manifest.id,
    manifest,
    state: before.state === "running" ? "running" : "starting",
    step: resumedAt,
    // The first evaluation may have started before this event.
    eta: {
      ...NO_PACE,
      ...(before.state === "running" && { doing: before.eta.doing, since: before.eta.since }),
      evaluatedTo: resumedAt,
      savedTo: resumedAt,
    },
    costs: same ? before.costs.filter(({ step }) => step <= resumedAt) : [],
    groups: same ? before.groups.filter((group) => group.step <= resumedAt) : [],
    lastCheckpoint: resumedAt === 0 ? null : { step: resumedAt, at: null, bytes: 0, asked: false },
    heldOutRows,
  });
}

/** Sets the title of the run of this page, already stored in its folder; ignores other runs. */
export function retitleRun(runId: string, title: string): void {
  useRun.setState(({ manifest }) => (manifest?.id === runId ? { manifest: { ...manifest, title } } : {}));
}

/** The run of this page was deleted; ignores other runs. */
export function forgetRun(runId: string): void {
  if (useRun.getState().runId === runId) useRun.setState(EMPTY);
}

/** Handles one event of the trainer. @param now milliseconds since the epoch */
export function applyEvent(event: TrainerEvent, now: number): void {
  const before = useRun.getState();
  const eta = etaAfter(before.eta, event, now);
  const set = (change: Partial<RunStoreState>): void => useRun.setState({ ...change, eta });
  switch (event.type) {
    case "state":
      set({
        state: event.state,
        step: event.step,
        groups: groupsAt(before.groups, event.state, event.step),
        drawn: groupsAt(before.drawn, event.state, event.step),
        nextPhase: event.next ?? null,
        saveAsked: before.saveAsked && isActive(event.state),
        evaluationAsked: before.evaluationAsked && isActive(event.state),
      });
      break;
    case "phase":
      set({ phase: event.phase, loop: event.loop, programs: event.programs });
      break;
    case "rows":
      set({ given: event.rows });
      break;
    case "drawn":
    case "group":
      set(
        event.group.unfinished
          ? { drawn: withGroup(before.drawn, event.group) }
          : { groups: withGroup(before.groups, event.group), drawn: drawnAfter(before.drawn, event.group) },
      );
      break;
    case "step": {
      if (before.runId !== null) metricStore(before.runId).append(event.step, event.metrics);
      set({
        step: event.step,
        phaseTimes: event.phaseTimes,
        // After a lost device the run continues from an earlier step.
        costs: [
          ...before.costs.filter(({ step }) => step < event.step),
          { step: event.step, phases: event.costs },
        ].slice(-MAX_COSTS),
        rolloutsPerMinute: rolloutRate(before.groups, event.step, event.phaseTimes) ?? before.rolloutsPerMinute,
      });
      break;
    }
    case "alarm":
      set({
        alarms: [...before.alarms.filter((alarm) => alarmKey(alarm) !== alarmKey(event.alarm)), event.alarm].slice(
          -100,
        ),
      });
      break;
    case "eval-rows":
      set({});
      break;
    case "eval":
      set({
        evaluations: before.evaluations + 1,
        // The start may be evaluated first.
        evaluationAsked: before.evaluationAsked && event.report.step < before.step,
      });
      break;
    case "checkpoint":
      set({
        lastCheckpoint: { step: event.step, at: now, bytes: event.bytes, asked: before.saveAsked },
        saveAsked: false,
      });
      break;
  }
  if (before.runId !== null) outdateBy(event, before.runId);
}

function rolloutRate(groups: readonly GroupRecord[], step: number, times: PhaseTimes): number | null {
  const seconds = Object.values(times).reduce((sum, value) => sum + value, 0);
  let rollouts = 0;
  for (let at = groups.length - 1; at >= 0 && groups[at]?.step === step; at--) {
    rollouts += groups[at]?.rollouts.length ?? 0;
  }
  return seconds > 0 && rollouts > 0 ? (rollouts * 60) / seconds : null;
}

/** The user requested an evaluation of held-out rows. */
export function noteEvaluationAsked(): void {
  useRun.setState({ evaluationAsked: true });
}

/** The user requested a checkpoint; it is written at once while paused, else at the end of the current step. */
export function noteSaveAsked(): void {
  useRun.setState({ saveAsked: true });
}

/** Identity of an alarm within a run. */
export function alarmKey({ step, id }: Alarm): string {
  return `${step} ${id}`;
}

/** Dismisses an alarm; it stays in the run folder. */
export function dismissAlarm(alarm: Alarm): void {
  const key = alarmKey(alarm);
  useRun.setState(({ alarms, dismissed }) => ({
    alarms: alarms.filter((other) => alarmKey(other) !== key),
    dismissed: new Set([...dismissed, key]),
  }));
}

/** Maximum groups in memory, unless a single step has more; older groups are read from the run folder. */
export const MAX_GROUPS = 400;

/**
 * Adds the newest group. After a lost device, a run repeats steps: the new group replaces the old one, and groups of later
 * steps are removed. The oldest steps beyond `most` groups are removed as wholes, so that every step except the current
 * one is complete or absent.
 */
export function withGroup(groups: readonly GroupRecord[], group: GroupRecord, most = MAX_GROUPS): GroupRecord[] {
  const kept = groups.filter(({ step }) => step <= group.step);
  const same = kept.findIndex(
    (known) => known.step === group.step && known.loop === group.loop && known.group === group.group,
  );
  if (same >= 0) kept[same] = group;
  else kept.push(group);
  while (kept.length > most && kept[0]?.step !== group.step) {
    const oldest = kept[0]?.step;
    const end = kept.findIndex(({ step }) => step !== oldest);
    kept.splice(0, end);
  }
  return kept;
}

/**
 * Unfinished groups that remain when a group of the step is scored: those of other loops. The groups of a loop are scored
 * together, and those that dynamic sampling dropped never are.
 */
export function drawnAfter(drawn: readonly GroupRecord[], { loop }: GroupRecord): readonly GroupRecord[] {
  return drawn.some((group) => group.loop === loop) ? drawn.filter((group) => group.loop !== loop) : drawn;
}

/**
 * Groups that remain when the run reports its state. While it runs, groups after the completed steps belong to the
 * current step; when it has ended, they are removed.
 * @param step steps completed
 */
export function groupsAt(groups: readonly GroupRecord[], state: RunState, step: number): readonly GroupRecord[] {
  const last = state === "finished" || state === "failed" ? step : step + 1;
  return groups.some((group) => group.step > last) ? groups.filter((group) => group.step <= last) : groups;
}

/**
 * Finished steps of the run of this page that have groups, ascending.
 * @param stored steps in the run folder when it was read; may include steps removed after a lost device
 * @param measured steps with metrics
 * @param groups groups in memory
 * @param done steps completed
 */
export function liveSteps(
  stored: Iterable<number>,
  measured: Iterable<number>,
  groups: readonly GroupRecord[],
  done: number,
): readonly number[] {
  const known = [...stored, ...measured, ...groups.map(({ step }) => step)];
  return [...new Set(known.filter((step) => step <= done))].sort((a, b) => a - b);
}

/** Short names of the phases, in their order. */
export const PHASE_NAMES: Readonly<Record<Phase, string>> = {
  sample: "draw rows",
  features: "encode pictures",
  generate: "generate",
  partner: "partner answers",
  reward: "compute rewards",
  advantage: "compute advantages",
  loss: "loss and backward",
  update: "update the policy",
  ema: "update the partner",
  log: "write the log",
  eval: "evaluate",
  checkpoint: "save a checkpoint",
};
