import { useEffect, useMemo, useState } from "react";
import { rowsHash } from "../../../engine/data/open-rows.ts";
import type { BestCheckpoint } from "../../../engine/runs/checkpoint/best-checkpoint.ts";
import type { StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import type { StepNote } from "../../../engine/runs/notes.ts";
import type { GroupRecord, LoopId } from "../../../engine/runs/rollouts/records.ts";
import { report } from "../../clients/lab.ts";
import {
  NOTHING_READ,
  readEvaluations,
  readGroups,
  readRun,
  type ScanProgress,
  scanGroups,
} from "../../clients/run/run-reads.ts";
import { readOnce, useRead } from "../../stores/reads.ts";
import { useRoute } from "../../stores/route.ts";
import { type MetricStore, metricStore } from "../../stores/run/metrics.ts";
import { useOtherTabs } from "../../stores/run/other-tabs.ts";
import { isActive, liveSteps, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { counted } from "../../styles/format.ts";
import { useAsync } from "../use-async.ts";

/** A run that the screens show. */
export interface ViewedRun {
  readonly runId: string;
  /** Run id for addresses that lead to it; null if it is shown without one. */
  readonly place: string | null;
  readonly manifest: RunManifest | null;
  /** The run of this page, whose groups arrive live; one in this browser; or one served with the page, dropped or at an address. */
  readonly source: "live" | "stored" | "elsewhere";
  /** Whether this page may change it. */
  readonly writable: boolean;
  /** What it is, in words; empty for the run of this page. */
  readonly kind: string;
  readonly metrics: MetricStore;
  /** Notes at steps. */
  readonly notes: readonly StepNote[];
  /** Steps with stored groups, ascending; for the live run, the steps known so far. */
  readonly steps: readonly number[];
  /** Steps of the complete checkpoints that are stored, ascending. */
  readonly checkpoints: readonly number[];
  readonly loading: boolean;
  /** A sentence: why the run, or a part of it, cannot be read; what was read before stays in view. */
  readonly problem: string | null;
}

const NONE: readonly never[] = [];

/** Where a run comes from, and that in words. */
const SOURCES = {
  live: ["live", ""],
  tab: ["stored", "training in another tab, read-only"],
  stored: ["stored", "stored run"],
  recorded: ["elsewhere", "recorded run"],
  dropped: ["elsewhere", "imported run, read-only"],
  address: ["elsewhere", "computed on another machine"],
} as const;

/** The run in the address, else of this page, of another tab, the newest stored one, or the recorded one; null if there is none. */
export function useViewedRun(): ViewedRun | null {
  const asked = useRoute((route) => route.run);
  const liveId = useRun((run) => run.runId);
  const liveManifest = useRun((run) => run.manifest);
  const liveStep = useRun((run) => run.step);
  const groups = useRun((run) => run.groups);
  const recorded = useSession((session) => session.recordedRun);
  const stored = useSession(({ newest }) => (newest === undefined ? null : (newest?.id ?? recorded)));
  const held = useOtherTabs();
  // A run that is asked for finds no other in its place; one that continues is shown as it is stored.
  const starting = useRun((run) => run.state === "starting" && run.runId === null);
  const continues = useRun((run) => run.continues);
  const runId = asked ?? liveId ?? held[0] ?? (starting ? continues : stored) ?? null;
  // An address may ask for a run named "constructor".
  const elsewhere = useSession(({ elsewhere: all }) =>
    Object.hasOwn(all, runId ?? "") ? all[runId ?? ""] : undefined,
  );
  const otherTab = held.some((id) => id === runId);
  const live = runId !== null && runId === liveId && !otherTab;
  const { last, loading, problem: failed } = useRead(runId === null ? null : readRun(runId));

  return useMemo(() => {
    if (runId === null) return null;
    const metrics = metricStore(runId);
    const manifest = live ? liveManifest : (last?.run.manifest ?? null);
    const from = otherTab ? "tab" : live ? "live" : (elsewhere ?? (runId === recorded ? "recorded" : "stored"));
    const [source, words] = SOURCES[from];
    const kind = from === "address" ? `${words}, ${counted(metrics.length, "step")} so far, read-only` : words;
    const steps = last?.groupSteps ?? NONE;
    const gone = last?.run.manifest.state === "finished" && metrics.length === 0 && steps.length > 0;
    const lost = gone ? "metrics.jsonl of this run is missing or empty, so it has no curves; the rest is kept" : null;
    return {
      runId,
      place: asked ?? (live || runId === recorded ? null : runId),
      manifest,
      source,
      writable: source !== "elsewhere" && !otherTab,
      kind,
      metrics,
      notes: last?.run.notes.steps ?? NONE,
      steps: live ? liveSteps(steps, metrics.steps, groups, liveStep) : steps,
      checkpoints: last?.run.checkpoints ?? NONE,
      loading,
      // The folder of a new run may not exist yet; its groups come from the page.
      problem: live ? null : failed === null ? lost : `Cannot read this run: ${failed}`,
    };
  }, [runId, asked, live, otherTab, elsewhere, recorded, liveManifest, liveStep, groups, last, loading, failed]);
}

/** Whether there is certainly no run to show; false while the page still looks for stored runs and its recorded one. */
export function useNoRun(run: ViewedRun | null): boolean {
  const asking = useSession(({ recordedRun, newest }) => recordedRun === undefined || newest === undefined);
  return run === null && !asking;
}

/** Newest finished step of a run that is training on this page; null for another run. */
export function useLiveStep(run: ViewedRun | null): number | null {
  return useRun(({ state, step }) => (run?.source === "live" && isActive(state) && step > 0 ? step : null));
}

export interface StepGroups {
  readonly groups: readonly GroupRecord[];
  readonly loading: boolean;
  readonly problem: string | null;
}

/** Groups of a step: live, or read from the run folder. */
export function useStepGroups(run: ViewedRun | null, step: number | null): StepGroups {
  const arrived = useRun((state) => state.groups);
  const isLive = run?.source === "live";
  const live = useMemo(() => (isLive ? arrived.filter((group) => group.step === step) : NONE), [isLive, arrived, step]);
  const needed = run !== null && step !== null && live.length === 0;
  const read = useRead(needed ? readGroups(run.runId, step) : null);
  const { value = NONE, loading, problem } = read;
  return useMemo(
    () => (live.length > 0 ? { groups: live, loading: false, problem: null } : { groups: value, loading, problem }),
    [live, value, loading, problem],
  );
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
  const live = run?.source === "live";
  const count = run?.steps.length ?? 0;
  const oldestLive = live ? (arrived[0]?.step ?? Infinity) : Infinity;
  const stored = useMemo(() => (run?.steps ?? []).filter((step) => step < oldestLive), [run?.steps, oldestLive]);
  const storedKey = stored.join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list's content decides, not its identity
  useEffect(() => {
    // Results are kept only while they are wanted: dropped steps may have been trained again since.
    if (!wanted || runId === null) return setRead(undefined);
    const stop = new AbortController();
    const known = last?.runId === runId ? last.groups : NONE;
    // Each scan takes longer as the groups grow, so later scans are less frequent.
    let next = 0;
    report(
      scanGroups(
        (step) => readOnce(readGroups(runId, step)),
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
    const { groups: older, done, unread, cause } = last?.runId === runId ? last : { groups: NONE, ...NOTHING_READ };
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

interface Evaluations {
  readonly list: readonly StoredEvaluation[];
  /** Of the stored checkpoints; null when none was evaluated. */
  readonly best: BestCheckpoint | null;
  readonly loading: boolean;
  readonly problem: string | null;
}

/** Held-out evaluations of a run as they are computed. Earlier results stay when a read fails. */
export function useEvaluations(run: ViewedRun | null): Evaluations {
  const read = useRead(run === null ? null : readEvaluations(run.runId));
  // A run that is not there has no evaluations either.
  const { last, loading, problem } = useRead(run === null ? null : readRun(run.runId));
  return {
    list: read.last ?? NONE,
    best: last?.run.best ?? null,
    loading: run === null || read.loading || loading,
    problem: read.problem ?? problem,
  };
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
