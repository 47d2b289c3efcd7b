/**
 * Trains a grid or a list of settings over several seeds and says what it did to held-out rows.
 *
 *   npm run sweep -- --config FILE [--out DIR] [--processes N] [--report-only] [--json]
 *
 * FILE is JSON or YAML, see `experiments/`. Jobs are processes of `npm run train` under DIR/jobs, one at a time unless
 * --processes says otherwise; jobs that begin alike share the evaluation of their start. The same command goes on after an interruption: finished jobs are skipped, a job with a
 * checkpoint is resumed. At the end the table is printed and written to DIR/table.md, and DIR/report.html shows table,
 * curves and rollouts. --report-only trains nothing.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LabError } from "../src/engine/errors.ts";
import { differentStart } from "../src/engine/rl/run/first-evaluation.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { root } from "./lib/ensure.mjs";
import { openNodeRows } from "./lib/node-rows.ts";
import { readSweep, type SweepJob, type SweepPlan } from "./lib/sweep/config.ts";
import { type JobState, jobFolder, jobState, runBuild, runJob } from "./lib/sweep/jobs.ts";
import { sweepReport } from "./lib/sweep/report.ts";
import { doneJobs, variantResults } from "./lib/sweep/results.ts";
import { sweepTable } from "./lib/sweep/table.ts";

const OPTIONS = {
  config: { takes: 1 },
  out: { takes: 1 },
  processes: { takes: 1 },
  "report-only": { takes: 0 },
  json: { takes: 0 },
} as const;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Runs what is not done, `processes` at a time; a failed job does not stop the others. @returns names of those that failed */
async function train(plan: SweepPlan, out: string, processes: number, signal: AbortSignal): Promise<string[]> {
  const open: SweepJob[] = [...plan.jobs];
  const done: { readonly job: SweepJob; readonly folder: string }[] = [];
  const failed: string[] = [];
  const isDone = (job: SweepJob, state: JobState): boolean => {
    if (state.at !== "done") return false;
    done.push({ job, folder: join(jobFolder(out, job), "runs", state.run) });
    say(`${job.name} is done`);
    return true;
  };
  const work = async (): Promise<void> => {
    for (let job = open.shift(); job !== undefined && !signal.aborted; job = open.shift()) {
      const { name, config } = job;
      const state = await jobState(out, plan, job);
      if (isDone(job, state) || state.at === "done") continue;
      say(`${name} ${state.at === "resume" ? `resumes ${state.run}` : "starts"}`);
      const alike = done.find(({ job: other }) => differentStart(other.config, config) === undefined);
      const code = await runJob(out, plan, job, state, alike?.folder, signal);
      if (signal.aborted) return;
      if (isDone(job, await jobState(out, plan, job))) continue;
      failed.push(name);
      say(`${name} ended with code ${code}; its output is in ${join(jobFolder(out, job), "train.log")}`);
    }
  };
  await Promise.all(Array.from({ length: processes }, work));
  return failed;
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const file = one(parsed, "config");
  if (file === undefined) throw new LabError("bad-input", "--config FILE is needed", { subject: "config" });
  const plan = readSweep(file, say);
  const out = one(parsed, "out") ?? join(root, "out", plan.name);
  const processes = whole(parsed, "processes", 1, 64, 1);
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  let failed: string[] = [];
  if (!parsed.has("report-only")) {
    for (const build of plan.build) if (await runBuild(build, stop.signal)) say(`${build.script} wrote ${build.out}`);
    failed = await train(plan, out, processes, stop.signal);
  }
  const results = variantResults(await doneJobs(out, plan), plan.metrics);
  if (results.length > 0) {
    const table = sweepTable(results, plan.metrics);
    mkdirSync(out, { recursive: true });
    writeFileSync(join(out, "table.md"), `${table}\n`);
    writeFileSync(
      join(out, "report.html"),
      await sweepReport(out, plan, results, await openNodeRows(plan.shards ?? undefined)),
    );
    if (parsed.has("json")) {
      for (const { variant, rows, images, metrics } of results) {
        process.stdout.write(`${JSON.stringify({ variant, rows, images, metrics })}\n`);
      }
    } else process.stdout.write(`${table}\n`);
    say(`The report is ${join(out, "report.html")}`);
  }
  if (stop.signal.aborted) say("The sweep was interrupted; the same command goes on");
  return failed.length === 0 && !stop.signal.aborted && results.length > 0 ? 0 : 1;
});
