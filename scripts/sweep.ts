/**
 * Trains a grid or a list of settings over several seeds and reports the effect on held-out rows.
 *
 *   npm run sweep -- --config FILE [--out DIR] [--processes N] [--commands FILE] [--report-only] [--json]
 *
 * FILE is JSON or YAML, see `experiments/`. Jobs are processes of `npm run train` under DIR/jobs, one at a time unless
 * --processes is larger; jobs with the same start share its evaluation. Repeat the command after an interruption:
 * finished jobs are skipped, and a job with a checkpoint is resumed. At the end the table is printed and written to
 * DIR/table.md, the curves of all variants to DIR/curves.svg; DIR/report.html has both and rollouts. --report-only trains nothing. --commands names a
 * file with one command line per worker: each takes one job at a time, instead of processes on this machine
 * (docs/scale-out.md#many-jobs).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isStoredRow } from "../src/engine/data/open-rows.ts";
import { badInput } from "../src/engine/errors.ts";
import { EVAL_METRICS } from "../src/engine/runs/evaluations/evaluation-metrics.ts";
import { readEvaluations } from "../src/engine/runs/evaluations/evaluations.ts";
import { curveSvg, variantCurves } from "../src/plugins/sweep/curve-svg.ts";
import type { SweepPlan } from "../src/plugins/sweep/plan.ts";
import { sweepReport } from "../src/plugins/sweep/report.ts";
import { type DoneJob, doneJob, variantResults } from "../src/plugins/sweep/results.ts";
import { runJobs } from "../src/plugins/sweep/run-jobs.ts";
import { sweepTable } from "../src/plugins/sweep/table.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { root } from "./lib/ensure.mjs";
import { openNodeRows } from "./lib/node/node-rows.ts";
import { nodeStore } from "./lib/node/node-store.ts";
import { lockRun } from "./lib/node/run-lock.ts";
import { intervalJson } from "./lib/step-line.ts";
import { onStopSignal } from "./lib/stop-signal.ts";
import { readCommands } from "./lib/sweep/commands.ts";
import { INTERRUPTED, jobFolder, jobRuns, jobState, runBuild, runJob } from "./lib/sweep/jobs.ts";
import { readSweepFile } from "./lib/sweep/sweep-file.ts";

const OPTIONS = {
  config: { takes: 1 },
  out: { takes: 1 },
  processes: { takes: 1 },
  commands: { takes: 1 },
  "report-only": { takes: 0 },
  json: { takes: 0 },
} as const;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/**
 * Trains the unfinished jobs.
 * @param places command lines; null is a process of this machine
 * @returns names of the jobs that failed
 */
async function train(
  plan: SweepPlan,
  out: string,
  places: readonly (string | null)[],
  signal: AbortSignal,
): Promise<string[]> {
  const free = [...places].reverse();
  const codes = new Map<string, number | null>();
  return await runJobs(
    plan.jobs,
    {
      state: (job) => jobState(out, plan, job),
      async run(job, state, first) {
        const alike = first === undefined ? undefined : join(jobRuns(out, first.job), first.run);
        const place = free.pop() ?? null;
        try {
          codes.set(job.name, await runJob(out, plan, job, state, { first: alike, place }, signal));
        } finally {
          free.push(place);
        }
      },
      tell(job, event, run) {
        if (event === "done") say(`${job.name} is done`);
        else if (event !== "failed") say(`${job.name} ${event}${run === null ? "" : ` ${run}`}`);
        else {
          const log = join(jobFolder(out, job), "train.log");
          say(`${job.name} ended with code ${codes.get(job.name)}; its output is in ${log}`);
        }
      },
    },
    { atOnce: places.length, signal },
  );
}

/** The finished jobs, in the plan's order. */
async function doneJobs(plan: SweepPlan, out: string): Promise<DoneJob[]> {
  const found: DoneJob[] = [];
  for (const job of plan.jobs) {
    const state = await jobState(out, plan, job);
    if (state.at !== "done") continue;
    found.push(doneJob(job, state.run, await readEvaluations(nodeStore(jobRuns(out, job)), state.run)));
  }
  return found;
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const file = one(parsed, "config");
  if (file === undefined) throw badInput("--config FILE is needed", "config");
  const plan = readSweepFile(file, say);
  // Jobs are processes in the project's folder.
  const out = resolve(one(parsed, "out") ?? join(root, "out", plan.name));
  const processes = whole(parsed, "processes", 1, 64, 1);
  const commands = one(parsed, "commands");
  const places = commands === undefined ? Array.from({ length: processes }, () => null) : readCommands(commands);
  if (!parsed.has("report-only")) lockRun(out, plan.name, new Date().toISOString());
  const stop = new AbortController();
  onStopSignal(() => stop.abort());
  let failed: string[] = [];
  if (!parsed.has("report-only")) {
    for (const build of plan.build) if (await runBuild(build, stop.signal)) say(`${build.script} wrote ${build.out}`);
    failed = await train(plan, out, places, stop.signal);
  }
  const results = variantResults(await doneJobs(plan, out), plan.metrics);
  if (results.length > 0) {
    const table = sweepTable(results, plan.metrics);
    mkdirSync(out, { recursive: true });
    writeFileSync(join(out, "table.md"), `${table}\n`);
    const shown = EVAL_METRICS.filter((metric) => plan.metrics.includes(metric));
    writeFileSync(join(out, "curves.svg"), curveSvg(variantCurves(results), shown));
    const { set, rows } = await openNodeRows(plan.shards ?? undefined);
    const places = new Map(set.summaries.map(({ id }, at) => [id, at]));
    const html = await sweepReport(plan, results, {
      store: (job) => nodeStore(jobRuns(out, job)),
      async row(rowId, imageId) {
        const at = places.get(rowId);
        const summary = at === undefined ? undefined : set.summaries[at];
        if (at === undefined || summary === undefined || !isStoredRow(summary, { rowId, imageId })) return null;
        return { rgb: (await rows(at)).rgb, mask: summary.mask };
      },
    });
    writeFileSync(join(out, "report.html"), html);
    if (parsed.has("json")) {
      for (const { variant, rows, images, metrics } of results) {
        process.stdout.write(`${intervalJson({ variant, rows, images, metrics })}\n`);
      }
    } else process.stdout.write(`${table}\n`);
    say(`The report is ${join(out, "report.html")}`);
  }
  if (results.length === 0) say(`${out} has no finished job, so no table was written`);
  if (stop.signal.aborted) say(INTERRUPTED);
  return failed.length === 0 && !stop.signal.aborted && results.length > 0 ? 0 : 1;
});
