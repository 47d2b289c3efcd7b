/**
 * Trains the jobs of a sweep one after the other; each is an ordinary run. A sweep can be cancelled and continued
 * later.
 */
import type { LabConfig } from "../../../engine/config/table.ts";
import { badInput, LabError } from "../../../engine/errors.ts";
import { hold } from "../../../engine/storage/lock.ts";
import { readSweep, type SweepPlan } from "../../../engine/sweep/plan.ts";
import { runJobs } from "../../../engine/sweep/run-jobs.ts";
import type { StoredSweep } from "../../../protocol/data.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { addProblem, useSession } from "../../stores/session.ts";
import { keepSweep, reloadSweep, setJob, useSweep } from "../../stores/sweep.ts";
import { lab, report } from "../lab.ts";
import { saveBlob } from "../save-blob.ts";
import { requireAgreed } from "./agreed.ts";
import { loadedBlocker } from "./blockers.ts";
import { resumeRun, startRunWith } from "./start-run.ts";

let stop = new AbortController();

/**
 * Reads a sweep's file; settings translated from other names are listed as problems.
 * @throws LabError naming the file, and the field or setting
 */
function planOf({ file, text }: Pick<StoredSweep, "file" | "text">): SweepPlan {
  return readSweep(text, file, (message) => addProblem({ code: "bad-config", message, subject: file }));
}

/** The open model and rows, as a sweep stores them. @throws LabError when something is missing */
function openStart(): Pick<StoredSweep, "model" | "rows"> {
  const missing = loadedBlocker();
  const { model, dataInfo, rows } = useSession.getState();
  if (missing !== null || model === null) throw new LabError("bad-config", missing ?? "No model is loaded");
  return { model: model.hash, rows: `${dataInfo?.name ?? ""} (${rows.length} rows)` };
}

/** Starts the sweep of the form on the open model and rows. @throws LabError when it cannot begin or continue */
export async function startSweep(): Promise<void> {
  const { draft } = useSweep.getState();
  const plan = planOf(draft);
  const begun = { ...draft, ...openStart(), runs: {} };
  await agree(plan);
  await drive(plan, () => {
    keepSweep(begun);
    useSweep.setState({ jobs: {}, results: null });
  });
}

/** Continues the stored sweep: finished jobs are kept, a job with a checkpoint is resumed. @throws LabError like `startSweep` */
export async function resumeSweep(): Promise<void> {
  reloadSweep();
  const { sweep } = useSweep.getState();
  if (sweep === null) return;
  const now = openStart();
  if (now.model !== sweep.model) {
    throw badInput(`${sweep.file} was started with another model; open that one. Its runs are kept`);
  }
  if (now.rows !== sweep.rows) {
    throw badInput(`${sweep.file} was started on ${sweep.rows}; open them. Its runs are kept`);
  }
  const plan = planOf(sweep);
  await agree(plan);
  await drive(plan, reloadSweep);
}

/** Stops the current job after its step; finished jobs and checkpoints stay. */
export async function cancelSweep(): Promise<void> {
  stop.abort();
  await lab().trainer.control("stop");
}

/** Asks once for consent to everything that the variants use. */
async function agree(plan: SweepPlan): Promise<void> {
  const variants = new Map<string, LabConfig>(plan.jobs.map(({ variant, config }) => [variant, config]));
  for (const [variant, config] of variants) {
    await requireAgreed(config, `Variant ${variant} of ${plan.name}`, lab().reward.allow);
  }
}

/** @param begin called once no other tab can change the stored sweep */
async function drive(plan: SweepPlan, begin: () => void): Promise<void> {
  if (isActive(useRun.getState().state)) throw badInput("A run is in progress. Stop it first");
  const release = await hold("sweep", "stored");
  if (release === null) throw badInput("A sweep is in progress in another tab. Stop it there, or wait for its end");
  stop = new AbortController();
  const { signal } = stop;
  useSweep.setState({ active: true });
  try {
    begin();
    await runJobs(
      plan.jobs,
      {
        state: async (job) => {
          const run = useSweep.getState().sweep?.runs[job.name];
          return run === undefined ? { at: "new" } : await lab().data.sweepJob(run);
        },
        async run(job, state, first) {
          if (state.at === "resume") await resumeRun({ id: state.run, title: job.name, config: job.config });
          else {
            const id = await startRunWith(job.config, `${plan.name} ${job.name}`, first?.run);
            const { sweep } = useSweep.getState();
            if (sweep !== null) keepSweep({ ...sweep, runs: { ...sweep.runs, [job.name]: id } });
          }
          // Stop was pressed before there was a run to stop.
          if (signal.aborted) await lab().trainer.control("stop");
          const end = await runEnd();
          if (end === "stopped") {
            setJob(job.name, "stopped");
            stop.abort();
          }
        },
        tell(job, event) {
          setJob(job.name, event === "starts" || event === "resumes" ? "training" : event);
          // A finished job changes the table.
          if (event === "done") report(refreshSweep());
        },
      },
      { atOnce: 1, signal },
    );
  } finally {
    // Jobs that were refused or cancelled before their run began.
    for (const [job, progress] of Object.entries(useSweep.getState().jobs)) {
      if (progress === "training") setJob(job, "stopped");
    }
    useSweep.setState({ active: false });
    release();
  }
}

/** How the run of this page ends. */
async function runEnd(): Promise<"done" | "failed" | "stopped"> {
  return new Promise((done) => {
    const look = (): void => {
      const { state, step, manifest } = useRun.getState();
      if (isActive(state)) return;
      unsubscribe();
      if (state === "failed") done("failed");
      else done(step < (manifest?.config.steps ?? 0) ? "stopped" : "done");
    };
    const unsubscribe = useRun.subscribe(look);
    look();
  });
}

/** Reads which jobs of the stored sweep are done, and their table. */
export async function refreshSweep(): Promise<void> {
  const { sweep } = useSweep.getState();
  if (sweep === null) return;
  const { states, results } = await lab().data.sweepResults(sweep);
  for (const [job, { at }] of Object.entries(states)) {
    if (at === "done") setJob(job, "done");
    else if (useSweep.getState().jobs[job] === undefined) setJob(job, "stopped");
  }
  useSweep.setState({ results });
}

/** Saves the sweep's HTML report; pictures are those of the open rows. */
export async function saveSweepReport(): Promise<void> {
  const { sweep } = useSweep.getState();
  if (sweep !== null) saveBlob(await lab().data.sweepReport(sweep), `${planOf(sweep).name}.html`);
}
