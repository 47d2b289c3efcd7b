import { useEffect, useMemo, useState } from "react";
import { rowsHash } from "../../../engine/data/open-rows.ts";
import { toLabError } from "../../../engine/errors.ts";
import type { BestCheckpoint } from "../../../engine/runs/checkpoint/best-checkpoint.ts";
import type { StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import type { GroupRecord, LoopId } from "../../../engine/runs/rollouts/records.ts";
import { lab, report } from "../../clients/lab.ts";
import { useRoute } from "../../stores/route.ts";
import { fillMetrics, type MetricStore, metricStore, replaceMetrics } from "../../stores/run/metrics.ts";
import { knowNotes } from "../../stores/run/notes.ts";
import { useOtherTabs } from "../../stores/run/other-tabs.ts";
import { isActive, liveSteps, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { useAsync } from "../use-async.ts";
import { NOTHING_READ, type ScanProgress, storedGroups } from "./group-source.ts";

/** The run that the screens show: the run in the address, else the run of this page. */
export interface ViewedRun {
  readonly runId: string;
  /** Run id for addresses that lead to it; null if it is shown without one. */
  readonly place: string | null;
  readonly manifest: RunManifest | null;
  /** Whether it is the run of this page, whose groups arrive live. */
  readonly live: boolean;
  /** Whether another tab trains it; it is read-only here. */
  readonly otherTabs: boolean;
  /** Whether it is the recorded run served with the page. */
  readonly recorded: boolean;
  /** Whether another machine computes it; it is read-only here and re-read at an interval. */
  readonly followed: boolean;
  /** Whether it is an exported run that was dropped here; it is read-only. */
  readonly imported: boolean;
  readonly metrics: MetricStore;
  /** Steps with stored groups, ascending; for the live run, the steps known so far. */
  readonly steps: readonly number[];
  readonly loading: boolean;
  /** A sentence: why the run, or a part of it, cannot be read. */
  readonly problem: string | null;
}

/** Milliseconds between two reads of another tab's or machine's run. */
const FOLLOW_MS = 3000;

interface Stored {
  readonly manifest: RunManifest | null;
  readonly steps: readonly number[];
  /** A sentence: what is missing, or why the newest read of a followed run failed; its last state stays in view. */
  readonly lost: string | null;
}

/** The last state of each followed run. */
const lastRead = new Map<string, Stored>();

const NO_GROUPS: readonly GroupRecord[] = [];

/** The run in the address, else that of this page, else that of another tab, else the recorded one; null if there is none. */
export function useViewedRun(): ViewedRun | null {
  const asked = useRoute((route) => route.run);
  const liveId = useRun((run) => run.runId);
  const liveManifest = useRun((run) => run.manifest);
  const liveStep = useRun((run) => run.step);
  const groups = useRun((run) => run.groups);
  const recorded = useSession((session) => session.recordedRun);
  const held = useOtherTabs();
  // The recorded run makes room as soon as a run is asked for.
  const starting = useRun((run) => run.state === "starting" && run.runId === null);
  const runId = asked ?? liveId ?? held[0] ?? (starting ? null : recorded) ?? null;
  const otherTabs = held.some((id) => id === runId);
  const followed = useSession((session) => runId !== null && session.followedRuns.includes(runId));
  const imported = useSession((session) => runId !== null && session.importedRuns.includes(runId));
  const live = runId !== null && runId === liveId && !otherTabs;
  const [reads, setReads] = useState(0);
  useEffect(() => {
    if (!otherTabs && !followed) return;
    const timer = setInterval(() => setReads((count) => count + 1), FOLLOW_MS);
    return () => clearInterval(timer);
  }, [otherTabs, followed]);

  // A resumed run of this page has older steps on disk: it is read once. A run of another tab is read repeatedly.
  const stored = useAsync(
    runId,
    async (id, signal): Promise<Stored> => {
      try {
        const { run, metrics, groupSteps } = await lab().data.run(id);
        if (!signal.aborted) (live ? fillMetrics : replaceMetrics)(id, metrics);
        knowNotes(id, run.notes.steps);
        const gone = run.manifest.state === "finished" && metrics.length === 0 && groupSteps.length > 0;
        const lost = gone
          ? "metrics.jsonl of this run is missing or empty, so it has no curves; the rest is kept"
          : null;
        const stored = { manifest: run.manifest, steps: groupSteps, lost };
        if (followed) lastRead.set(id, stored);
        return stored;
      } catch (thrown) {
        const before = lastRead.get(id);
        if (!followed || before === undefined) throw thrown;
        return { ...before, lost: unreadable(toLabError(thrown).message) };
      }
    },
    [live, otherTabs, reads],
  );
  const { value: known, loading } = stored;
  // The folder of a new run may not exist yet; its groups come from the page.
  const unread = stored.problem === null ? (known?.lost ?? null) : unreadable(stored.problem);
  const problem = live ? null : unread;

  return useMemo(() => {
    if (runId === null) return null;
    const steps = live
      ? liveSteps(known?.steps ?? [], metricStore(runId).steps, groups, liveStep)
      : (known?.steps ?? []);
    return {
      runId,
      place: asked ?? (live || runId === recorded ? null : runId),
      manifest: live ? liveManifest : (known?.manifest ?? null),
      live,
      otherTabs,
      recorded: runId === recorded,
      followed,
      imported,
      metrics: metricStore(runId),
      steps,
      loading,
      problem,
    };
  }, [
    runId,
    asked,
    live,
    otherTabs,
    recorded,
    followed,
    imported,
    liveManifest,
    liveStep,
    groups,
    known,
    loading,
    problem,
  ]);
}

const unreadable = (why: string): string => `Cannot read this run: ${why}`;

/** Whether there is certainly no run to show; false while the page still looks for its recorded run. */
export function useNoRun(run: ViewedRun | null): boolean {
  const asking = useSession((session) => session.recordedRun === undefined);
  return run === null && !asking;
}

/** Newest finished step of a run that is training on this page; null for another run. */
export function useLiveStep(run: ViewedRun | null): number | null {
  return useRun(({ state, step }) => (run?.live === true && isActive(state) && step > 0 ? step : null));
}

export interface StepGroups {
  readonly groups: readonly GroupRecord[];
  readonly loading: boolean;
  readonly problem: string | null;
}

/** Groups of a step: live, or read from the run folder. */
export function useStepGroups(run: ViewedRun | null, step: number | null): StepGroups {
  const arrived = useRun((state) => state.groups);
  const live = useMemo(
    () => (run?.live === true ? arrived.filter((group) => group.step === step) : NO_GROUPS),
    [run?.live, arrived, step],
  );
  const runId = run?.runId ?? null;
  const needed = runId !== null && step !== null && live.length === 0;
  const read = useAsync(needed ? `${runId} ${step}` : null, () => storedGroups.step(runId as string, step as number));
  if (live.length > 0) return { groups: live, loading: false, problem: null };
  return { groups: read.value ?? NO_GROUPS, loading: read.loading, problem: read.problem };
}

export interface Scan extends ScanProgress {
  readonly groups: readonly GroupRecord[];
  readonly total: number;
}

interface Read extends ScanProgress {
  readonly runId: string;
  readonly groups: readonly GroupRecord[];
}

/** All groups of a run, newest step first, read step by step if `wanted`. */
export function useAllGroups(run: ViewedRun | null, wanted: boolean): Scan {
  const arrived = useRun((state) => state.groups);
  const [last, setRead] = useState<Read>();
  const runId = run?.runId ?? null;
  const live = run?.live === true;
  const count = run?.steps.length ?? 0;
  const oldestLive = live ? (arrived[0]?.step ?? Infinity) : Infinity;
  const stored = useMemo(() => (run?.steps ?? []).filter((step) => step < oldestLive), [run?.steps, oldestLive]);
  const storedKey = stored.join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list's content decides, not its identity
  useEffect(() => {
    // Results are kept only while they are wanted: dropped steps may have been trained again since.
    if (!wanted || runId === null) return setRead(undefined);
    const stop = new AbortController();
    const known = last?.runId === runId ? last.groups : NO_GROUPS;
    // Each scan takes longer as the groups grow, so later scans are less frequent.
    let next = 0;
    report(
      storedGroups.scan(
        runId,
        stored,
        known,
        (groups, progress) => {
          if (progress.done < next && progress.done < stored.length) return;
          next = Math.max(20, Math.ceil(1.25 * progress.done));
          setRead({ runId, groups: groups(), ...progress });
        },
        stop.signal,
      ),
    );
    return () => stop.abort();
  }, [wanted, runId, storedKey]);
  return useMemo(() => {
    const {
      groups: older,
      done,
      unread,
      cause,
    } = last?.runId === runId ? last : { groups: NO_GROUPS, ...NOTHING_READ };
    const newer = live ? [...arrived].reverse() : [];
    // The last scan of a running run may have covered fewer steps.
    const steps = count - stored.length + Math.min(done, stored.length);
    return { groups: [...newer, ...older], done: steps, total: count, unread, cause };
  }, [last, runId, live, arrived, count, stored]);
}

/** Title of a run; blank while it is loading, so that its id does not appear first. */
export function titleOf({ manifest, loading, runId }: ViewedRun): string {
  return manifest?.title ?? (loading ? "\u00a0" : runId);
}

/** Id of a group within its step, as in the address. */
export function groupKey(group: { readonly loop: LoopId; readonly group: number }): string {
  return `${group.loop}-${group.group}`;
}

export interface Evaluations {
  readonly list: readonly StoredEvaluation[];
  /** Of the stored checkpoints; null when none was evaluated. */
  readonly best: BestCheckpoint | null;
  readonly loading: boolean;
  readonly problem: string | null;
}

const NONE = { list: [], best: null };

/**
 * Held-out evaluations of a run, read again after each new evaluation or checkpoint of the run of this page, and with each
 * read of a run that is computed elsewhere. Earlier results stay when a read fails.
 */
export function useEvaluations(run: ViewedRun | null): Evaluations {
  const runId = run?.runId ?? null;
  const elsewhere = run?.followed === true || run?.otherTabs === true ? run.manifest : null;
  const arrived = useRun((run) => run.evaluations);
  const saved = useRun((run) => run.lastCheckpoint?.step);
  const { last, loading, problem } = useAsync(
    runId,
    async (id) => {
      const { data } = lab();
      const [list, { run }] = await Promise.all([data.evaluations(id), data.run(id)]);
      return { list, best: run.best };
    },
    // Each further evaluation or checkpoint causes a new read.
    [arrived, saved, elsewhere],
  );
  return { ...(last ?? NONE), loading: runId === null || loading, problem };
}

/** Whether exactly the rows of a run are open; null while unknown. */
export function useRowsOpen(manifest: RunManifest | null): boolean | null {
  const info = useSession((session) => session.dataInfo);
  const rows = useSession((session) => session.rows);
  const { value: hash } = useAsync(info === null ? null : rows, () =>
    rowsHash(rows.map(({ id, imageId }) => [id, imageId] as const)),
  );
  if (info === null) return false;
  if (manifest === null || hash === undefined) return null;
  return hash === manifest.data.hash;
}
