/** Determines which jobs of a sweep are done and runs the others. */
import { listCheckpoints } from "../../engine/runs/checkpoint/checkpoint-folder.ts";
import { readEvaluations } from "../../engine/runs/evaluations/evaluations.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import type { RunStore } from "../../engine/storage/store.ts";
import { differentStart } from "./first-evaluation.ts";
import type { SweepJob } from "./plan.ts";

/** State of a job: complete, or how to start its run. */
export type JobState =
  | { readonly at: "new" }
  | { readonly at: "resume"; readonly run: string }
  | { readonly at: "done"; readonly run: string };

/** A finished run with its last evaluation is done; a run with a checkpoint continues; anything else starts anew. */
export async function stateOfRuns(
  store: RunStore,
  runs: readonly Pick<RunManifest, "id" | "state" | "config">[],
): Promise<JobState> {
  for (const { id, state, config } of runs) {
    const last = (await readEvaluations(store, id)).at(-1)?.report.step;
    if (state === "finished" && last === config.steps) return { at: "done", run: id };
    if ((await listCheckpoints(store, id)).length > 0) return { at: "resume", run: id };
  }
  return { at: "new" };
}

interface JobRunner {
  state(job: SweepJob): Promise<JobState>;
  /**
   * Trains a job to its end; rejects only if the whole sweep cannot continue.
   * @param first a finished job, with its run, whose evaluation of the start is copied; undefined computes it
   */
  run(
    job: SweepJob,
    state: Exclude<JobState, { readonly at: "done" }>,
    first: { readonly job: SweepJob; readonly run: string } | undefined,
  ): Promise<void>;
  /** @param run the run that continues or is done; null for a new one and after a failure */
  tell(job: SweepJob, event: "done" | "starts" | "resumes" | "failed", run: string | null): void;
}

/**
 * Runs the unfinished jobs in order; a failed job does not stop the others. Jobs with the same start share the
 * evaluation of that start.
 * @param atOnce maximum concurrent jobs
 * @param signal when aborted, no further job starts
 * @returns names of the jobs that failed
 */
export async function runJobs(
  jobs: readonly SweepJob[],
  runner: JobRunner,
  { atOnce, signal }: { readonly atOnce: number; readonly signal: AbortSignal },
): Promise<string[]> {
  const open = [...jobs];
  const done: { readonly job: SweepJob; readonly run: string }[] = [];
  const failed: string[] = [];
  const isDone = (job: SweepJob, state: JobState): boolean => {
    if (state.at !== "done") return false;
    done.push({ job, run: state.run });
    runner.tell(job, "done", state.run);
    return true;
  };
  const work = async (): Promise<void> => {
    for (let job = open.shift(); job !== undefined && !signal.aborted; job = open.shift()) {
      const { config } = job;
      const state = await runner.state(job);
      if (isDone(job, state) || state.at === "done") continue;
      if (signal.aborted) return;
      if (state.at === "resume") runner.tell(job, "resumes", state.run);
      else runner.tell(job, "starts", null);
      const first = done.find(({ job: other }) => differentStart(other.config, config) === undefined);
      await runner.run(job, state, first);
      if (isDone(job, await runner.state(job))) continue;
      if (signal.aborted) return;
      failed.push(job.name);
      runner.tell(job, "failed", null);
    }
  };
  const ended = (thrown: unknown): never => {
    // The others start no further job.
    open.length = 0;
    throw thrown;
  };
  await Promise.all(Array.from({ length: atOnce }, () => work().catch(ended)));
  return failed;
}
