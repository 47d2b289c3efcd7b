/** Long work of the page: one mechanism for its progress, its end, its result and its error. */
import { create } from "zustand";
import type { DryRun, DryRunPlace } from "../../engine/session/dry-run.ts";
import { toWire, type WireError } from "../../protocol/rpc.ts";

declare const FORMS: unique symbol;

/** A kind of work; one job of a name runs at a time. @typeParam P form of its progress @typeParam R form of its result */
export interface JobKind<P, R> {
  readonly name: string;
  /** Whether it writes a file, which would be lost with the page. */
  readonly writes: boolean;
  readonly [FORMS]?: (progress: P) => R;
}

export function jobKind<P, R = void>(name: string, writes = false): JobKind<P, R> {
  return { name, writes };
}

export interface Job<P, R> {
  readonly kind: JobKind<P, R>;
  readonly state: "running" | "done" | "failed" | "stopped";
  readonly progress: P;
  /** Null before it is done. */
  readonly result: R | null;
  /** Why it failed. */
  readonly problem: WireError | null;
  /** Whether a stop was requested. */
  readonly stopping: boolean;
}

/** The newest job of each name. */
export const useJobs = create<Readonly<Record<string, Job<unknown, unknown>>>>()(() => ({}));

/** Ends the running jobs of a name. */
const stops = new Map<string, () => void>();

/** The newest job of a kind; null before the first. */
export function jobOf<P, R>({ name }: JobKind<P, R>): Job<P, R> | null {
  return (useJobs.getState()[name] ?? null) as Job<P, R> | null;
}

export function useJob<P, R>({ name }: JobKind<P, R>): Job<P, R> | null {
  return useJobs((jobs) => jobs[name] ?? null) as Job<P, R> | null;
}

/** The progress of a kind's job while it runs, else null. */
export function useRunning<P, R>(kind: JobKind<P, R>): P | null {
  return useJobs(() => runningOf(kind));
}

export function runningOf<P, R>(kind: JobKind<P, R>): P | null {
  const job = jobOf(kind);
  return job?.state === "running" ? job.progress : null;
}

/** Tells the running job of a kind to stop; it runs until its work ends. */
export function stopJob<P, R>(kind: JobKind<P, R>): void {
  stops.get(kind.name)?.();
}

/** Drops the newest job of a kind with its result, unless it runs. */
export function forgetJob<P, R>({ name }: JobKind<P, R>): void {
  const { [name]: job, ...others } = useJobs.getState();
  if (job !== undefined && job.state !== "running") useJobs.setState(others, true);
}

/**
 * Does work as the job of its kind; one that runs is stopped and no longer shown.
 * @param first its progress before the work reports any
 * @returns the result of the work
 * @throws what the work throws; LabError("cancelled") leaves the job "stopped" without a problem
 */
export async function startJob<P, R>(
  kind: JobKind<P, R>,
  first: NoInfer<P>,
  work: (signal: AbortSignal, progress: (now: P) => void) => Promise<NoInfer<R>>,
): Promise<R> {
  const { name } = kind;
  stopJob(kind);
  const abort = new AbortController();
  let mine: Job<P, R> = { kind, state: "running", progress: first, result: null, problem: null, stopping: false };
  const show = (change: Partial<Job<P, R>>): void => {
    if (stops.get(name) !== stop) return;
    mine = { ...mine, ...change };
    useJobs.setState({ [name]: mine as Job<unknown, unknown> });
  };
  const stop = (): void => {
    show({ stopping: true });
    abort.abort();
  };
  stops.set(name, stop);
  show({});
  const end = (change: Partial<Job<P, R>>): void => {
    show(change);
    if (stops.get(name) === stop) stops.delete(name);
  };
  try {
    const result = await work(abort.signal, (progress) => show({ progress }));
    end({ state: "done", result });
    return result;
  } catch (thrown) {
    const problem = toWire(thrown);
    end(problem.code === "cancelled" ? { state: "stopped" } : { state: "failed", problem });
    throw thrown;
  }
}

/** Two steps with the current settings; null before the first phase. The result holds for what it depends on (measured.ts). */
export const DRY_RUN = jobKind<DryRunPlace | null, { readonly dryRun: DryRun; readonly of: readonly unknown[] }>(
  "dry run",
);

/** Held-out rows with a checkpoint of a stored run. */
export const EVALUATION = jobKind<{
  readonly runId: string;
  readonly title: string;
  readonly step: number;
  /** Rows done and in total, including those of the start if it was not evaluated; 0 of 0 before the first. */
  readonly done: number;
  readonly total: number;
}>("evaluation");

/** Checks of the graphics adapter, which a plug-in runs; one entry per finished check, for reports. */
export const SELF_TEST = jobKind<{ readonly checks: readonly object[]; readonly failed: number }>("self-test");
