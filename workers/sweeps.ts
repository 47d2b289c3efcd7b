/** Results and report of a sweep whose jobs are stored runs. */
import { readEvaluations } from "../src/engine/runs/evaluations/evaluations.ts";
import { listRuns } from "../src/engine/runs/run-folder.ts";
import type { RunStore } from "../src/engine/storage/store.ts";
import { curveSvg } from "../src/engine/sweep/curve-svg.ts";
import { readSweep, type SweepPlan } from "../src/engine/sweep/plan.ts";
import { type ReportSources, sweepReport } from "../src/engine/sweep/report.ts";
import { type DoneJob, doneJob, type VariantResult, variantResults } from "../src/engine/sweep/results.ts";
import { type JobState, stateOfRuns } from "../src/engine/sweep/run-jobs.ts";
import type { StoredSweep, SweepResults } from "../src/protocol/data.ts";

/** State of a job according to its run; "new" for a run that is not stored. */
export async function jobStateOf(store: RunStore, runId: string): Promise<JobState> {
  const { runs } = await listRuns(store);
  const own = runs.filter(({ id }) => id === runId);
  return stateOfRuns(store, own);
}

interface ReadSweep {
  readonly plan: SweepPlan;
  readonly states: Readonly<Record<string, JobState>>;
  readonly results: readonly VariantResult[];
}

async function readJobs(store: RunStore, { file, text, runs }: StoredSweep): Promise<ReadSweep> {
  // The page has already reported translated names when it read the file.
  const plan = readSweep(text, file, () => undefined);
  const states: Record<string, JobState> = {};
  const done: DoneJob[] = [];
  for (const job of plan.jobs) {
    const run = runs[job.name];
    if (run === undefined) continue;
    const state = await jobStateOf(store, run);
    states[job.name] = state;
    if (state.at === "done") done.push(doneJob(job, run, await readEvaluations(store, run)));
  }
  return { plan, states, results: variantResults(done, plan.metrics) };
}

/** See `DataCalls.sweepResults`. */
export async function sweepResults(
  store: RunStore,
  sweep: StoredSweep,
): Promise<{ readonly states: ReadSweep["states"]; readonly results: SweepResults | null }> {
  const { states, results } = await readJobs(store, sweep);
  const shown = results.map(({ jobs, ...result }) => ({
    ...result,
    runs: jobs.map(({ job, run }) => ({ seed: job.seed, run })),
    curves: curveSvg(jobs.map(({ job, evaluations }) => ({ name: `seed ${job.seed}`, evaluations }))),
  }));
  return { states, results: shown.length === 0 ? null : shown };
}

/** The report as one HTML document. */
export async function sweepDocument(store: RunStore, sweep: StoredSweep, row: ReportSources["row"]): Promise<Blob> {
  const { plan, results } = await readJobs(store, sweep);
  return new Blob([await sweepReport(plan, results, { store: () => store, row })], { type: "text/html" });
}
