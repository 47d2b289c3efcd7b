/** Runs the jobs of a sweep as processes of `npm run train`, and determines which are done. */
import { spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseJsonAs } from "../../../src/engine/bytes/json.ts";
import { configDifference, defaultConfig, parseConfig } from "../../../src/engine/config/parse.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import { badInput, LabError } from "../../../src/engine/errors.ts";
import { listRuns } from "../../../src/engine/runs/run-folder.ts";
import type { SweepBuild, SweepJob, SweepPlan } from "../../../src/plugins/sweep/plan.ts";
import { type JobState, stateOfRuns } from "../../../src/plugins/sweep/run-jobs.ts";
import { root } from "../ensure.mjs";
import { nodeStore } from "../node/node-store.ts";
import { lockRun } from "../node/run-lock.ts";

const STORED_JOB = z.looseObject({ settings: z.record(z.string(), z.unknown()) });

export const INTERRUPTED = "The sweep was interrupted; run the same command again to continue";

/** Folder of a job: its settings, the output of its process, and its run under `runs/`. */
export function jobFolder(out: string, job: Pick<SweepJob, "name">): string {
  return join(out, "jobs", job.name);
}

/** Folder of a job's runs. */
export function jobRuns(out: string, job: Pick<SweepJob, "name">): string {
  return join(jobFolder(out, job), "runs");
}

/** The settings of a job, as stored in its folder: those that differ from the defaults. */
function jobText({ preset, model, shards }: SweepPlan, { config }: SweepJob): string {
  const settings = configDifference(config, defaultConfig());
  return `${JSON.stringify({ preset, model, shards, settings }, null, 1)}\n`;
}

/** Names whose values differ between the stored text of a job, which may have former names, and the present one, sorted. */
function differingNames(stored: string, now: string, subject: string): string[] {
  const values = [stored, now].map((text) => {
    const { settings, ...rest } = parseJsonAs(text, STORED_JOB, subject);
    const { given, unknown } = parseConfig(settings);
    const others = Object.fromEntries(unknown.map((name) => [name, settings[name]]));
    return { ...rest, ...given, ...others } as Readonly<Record<string, unknown>>;
  });
  const names = [...new Set(values.flatMap(Object.keys))].sort();
  return names.filter((name) => new Set(values.map((value) => JSON.stringify(value[name]))).size > 1);
}

/**
 * State of a job according to its folder.
 * @throws LabError("bad-config") when the folder holds a job of other settings
 */
export async function jobState(out: string, plan: SweepPlan, job: SweepJob): Promise<JobState> {
  const folder = jobFolder(out, job);
  const path = join(folder, "job.json");
  if (!existsSync(path)) return { at: "new" };
  const names = differingNames(readFileSync(path, "utf8"), jobText(plan, job), path);
  if (names.length > 0) {
    throw new LabError(
      "bad-config",
      `${path} has other values of ${names.join(", ")} than this sweep; remove the folder or name another --out, its runs are kept`,
      { subject: path },
    );
  }
  const store = nodeStore(jobRuns(out, job));
  return stateOfRuns(store, (await listRuns(store)).runs);
}

/** Builds the inputs of a sweep, unless they exist. @throws LabError("bad-input") when a script fails */
export async function runBuild(build: SweepBuild, signal: AbortSignal): Promise<boolean> {
  if (existsSync(build.out)) return false;
  const unfinished = `${build.out}.unfinished~`;
  rmSync(unfinished, { recursive: true, force: true });
  const code = await runScript(build.script, [...build.words, "--out", unfinished], null, signal);
  if (code !== 0) {
    rmSync(unfinished, { recursive: true, force: true });
    if (signal.aborted) throw new LabError("cancelled", INTERRUPTED);
    throw badInput(`${build.script} ended with code ${code}; nothing was started`, build.script);
  }
  renameSync(unfinished, build.out);
  return true;
}

/**
 * Trains a job to its end; its output goes to `train.log` in its folder.
 * @param how `first`: run folder whose evaluation of the start is copied, undefined computes it; `place`: command line
 * that receives the job, null runs it here
 * @returns the exit code of the process, null when the signal ended it
 * @throws LabError("bad-input") when another process trains it already
 */
export async function runJob(
  out: string,
  plan: SweepPlan,
  job: SweepJob,
  state: Exclude<JobState, { at: "done" }>,
  { first, place }: { readonly first: string | undefined; readonly place: string | null },
  signal: AbortSignal,
): Promise<number | null> {
  const folder = jobFolder(out, job);
  if (state.at === "new") {
    const runs = jobRuns(out, job);
    // A run of another process that has no checkpoint yet must not be removed.
    for (const { id } of (await listRuns(nodeStore(runs))).runs)
      lockRun(join(runs, id), id, new Date().toISOString())();
    rmSync(folder, { recursive: true, force: true });
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "job.json"), jobText(plan, job));
  const settings = join(folder, "settings.json");
  writeFileSync(settings, `${JSON.stringify(configDifference(job.config, presetConfig(plan.preset)), null, 1)}\n`);
  // Set explicitly, because the tool has its own default interval of evaluations.
  const evaluation = ["--eval-steps", String(job.config.evalSteps), "--eval-rows", String(job.config.evalRows)];
  const known = first === undefined ? [] : ["--first-evaluation", first];
  const fresh = ["--preset", plan.preset, "--config", settings, ...evaluation, ...known];
  const words = [
    ...(plan.model === null ? [] : ["--model", plan.model]),
    ...(plan.shards === null ? [] : ["--shards", ...plan.shards]),
    ...(state.at === "resume" ? ["--resume", state.run] : fresh),
    "--out",
    jobRuns(out, job),
  ];
  const log = join(folder, "train.log");
  if (place === null) return await runScript("train", words, log, signal);
  return await runLine(place, { folder, runs: jobRuns(out, job), words }, log, signal);
}

/** @param log file to which the output is appended; null for the terminal */
function runScript(
  name: string,
  words: readonly string[],
  log: string | null,
  signal: AbortSignal,
): Promise<number | null> {
  return runProcess(process.execPath, ["--import", "tsx", join(root, "scripts", `${name}.ts`), ...words], log, signal);
}

/** Passes a job to a command line. */
function runLine(
  line: string,
  job: { readonly folder: string; readonly runs: string; readonly words: readonly string[] },
  log: string,
  signal: AbortSignal,
): Promise<number | null> {
  // As arguments of the shell, so that no path or setting is parsed as a command.
  const text = line.replaceAll("{words}", '"$@"').replaceAll("{folder}", '"$JOB"').replaceAll("{runs}", '"$RUNS"');
  const env = { JOB: job.folder, RUNS: job.runs };
  return runProcess("/bin/sh", ["-c", text, "sh", ...job.words], log, signal, env);
}

function runProcess(
  command: string,
  program: readonly string[],
  log: string | null,
  signal: AbortSignal,
  env: Readonly<Record<string, string>> = {},
): Promise<number | null> {
  // A shell that has just begun may miss the signal.
  if (signal.aborted) return Promise.resolve(null);
  return new Promise((done, failed) => {
    const child = spawn(command, program, {
      env: { ...process.env, ...env },
      cwd: root,
      // A separate process group: an interrupt from the terminal reaches it once, through the signal.
      detached: true,
      stdio: ["ignore", log === null ? "inherit" : "pipe", log === null ? "inherit" : "pipe"],
    });
    if (log !== null) {
      const file = createWriteStream(log, { flags: "a" });
      file.on("error", failed);
      child.stdout?.pipe(file, { end: false });
      child.stderr?.pipe(file, { end: false });
      child.once("close", () => file.end());
    }
    const stop = (): void => {
      if (child.pid === undefined) return;
      try {
        // To the whole group, because a shell does not react while its command runs, and may end before it. Not SIGINT:
        // a shell catches it between two commands and begins the next one.
        process.kill(process.platform === "win32" ? child.pid : -child.pid, "SIGTERM");
      } catch (cause) {
        // ESRCH: every process of the group has ended.
        if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause;
      }
    };
    signal.addEventListener("abort", stop);
    child.once("error", failed);
    child.once("close", (code) => {
      signal.removeEventListener("abort", stop);
      done(code);
    });
  });
}
