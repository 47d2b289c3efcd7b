/** Jobs of a sweep as processes. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { lockRun } from "../../../scripts/lib/node/run-lock.ts";
import { jobFolder, jobRuns, jobState, runJob } from "../../../scripts/lib/sweep/jobs.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { readSweep, type SweepJob } from "../../../src/plugins/sweep/plan.ts";
import { testWith } from "../../support/plugins.ts";
import { tool } from "../../support/tools.ts";
import { manifest } from "../runs/sample-run.ts";

const out = mkdtempSync(join(tmpdir(), "lab-jobs-"));
afterAll(() => rmSync(out, { recursive: true, force: true }));

const PLAN = readSweep(JSON.stringify({ title: "a", seeds: [1, 2], settings: { evalSteps: 1 } }), "a.json", () => {});
const WAITING = 'process.on("SIGTERM", () => process.exit()); setTimeout(() => {}, 6e5); console.log("begun")';
const NODE = `"${process.execPath}"`;
const [JOB, OTHER] = PLAN.jobs as [SweepJob, SweepJob];

/** Waits until the job has written "begun". @returns its log */
async function begun(): Promise<string> {
  const log = join(jobFolder(out, JOB), "train.log");
  while (!existsSync(log) || !readFileSync(log, "utf8").includes("begun")) {
    await new Promise((done) => setTimeout(done, 20));
  }
  return log;
}

it.each([
  ["has started", "echo begun in {folder}; sleep 600; echo ended", false],
  ["has left in the background", `${NODE} -e '${WAITING}' {folder} &`, true],
])("an interrupt reaches what a command line %s", async (_what, place, good) => {
  const stop = new AbortController();
  rmSync(jobFolder(out, JOB), { recursive: true, force: true });
  const ended = runJob(out, PLAN, JOB, { at: "new" }, { first: undefined, place }, stop.signal);
  const log = await begun();
  stop.abort();
  expect((await ended) === 0).toBe(good);
  expect(readFileSync(log, "utf8")).not.toContain("ended");
});

it("an interrupt before a job's process begins keeps it from beginning", async () => {
  const place = "sleep 600; echo {folder}";
  expect(await runJob(out, PLAN, JOB, { at: "new" }, { first: undefined, place }, AbortSignal.abort())).toBeNull();
});

it("an interrupt of a job that has just ended is no error", async () => {
  const stop = new AbortController();
  const gone = Object.assign(new Error("kill ESRCH"), { code: "ESRCH" });
  const kill = vi.spyOn(process, "kill").mockImplementation(() => {
    throw gone;
  });
  const go = join(out, "go");
  const place = `echo begun; while [ ! -e '${go}' ]; do sleep 0.02; done; echo {folder}`;
  const ended = runJob(out, PLAN, JOB, { at: "new" }, { first: undefined, place }, stop.signal);
  await begun();
  stop.abort();
  writeFileSync(go, "");
  expect(await ended).toBe(0);
  expect(kill).toHaveBeenCalledOnce();
  kill.mockRestore();
});

it("a report without a finished job says so", async () => {
  const file = join(out, "none.json");
  writeFileSync(file, JSON.stringify({ title: "a", seeds: [1], settings: { evalSteps: 1 } }));
  const place = join(out, "none");
  const sentence = `${place} has no finished job, so no table was written\n`;
  const done = await tool("sweep", ["--config", file, "--out", place, "--report-only"]);
  expect(done).toEqual({ code: 1, out: "", err: sentence });
});

testWith("trl")("a job that an earlier version stored under former names is the same job", async () => {
  const held = { title: "a", seeds: [3], settings: { evalSteps: 1, numGenerations: 6, lrSchedulerType: "constant" } };
  const plan = readSweep(JSON.stringify(held), "a.json", () => {});
  const [job] = plan.jobs as [SweepJob];
  const path = join(jobFolder(out, job), "job.json");
  const place = "echo {folder}";
  await runJob(out, plan, job, { at: "new" }, { first: undefined, place }, new AbortController().signal);
  const store = (names: readonly (readonly [string, string])[]): void =>
    writeFileSync(
      path,
      names.reduce((text, [name, former]) => text.replace(name, former), readFileSync(path, "utf8")),
    );
  store([
    ['"numGenerations": 6', '"groupSize": 6'],
    ["lrSchedulerType", "schedule"],
  ]);
  expect(readFileSync(path, "utf8")).toContain('"groupSize": 6');
  expect(await jobState(out, plan, job)).toEqual({ at: "new" });
  store([['"groupSize": 6', '"groupSize": 4']]);
  await expect(jobState(out, plan, job)).rejects.toThrow("has other values of numGenerations than this sweep");
  store([['"groupSize": 4', '"numGenerations": 6, "gone": 1']]);
  await expect(jobState(out, plan, job)).rejects.toThrow("has other values of gone than this sweep");
});

it("a job that another process trains is not begun anew", async () => {
  const runs = jobRuns(out, OTHER);
  await createRun(nodeStore(runs), manifest("held"));
  const release = lockRun(join(runs, "held"), "held", "2026-01-02T03:04:05.000Z");
  const how = { first: undefined, place: "echo {folder}" };
  const begin = (): Promise<number | null> =>
    runJob(out, PLAN, OTHER, { at: "new" }, how, new AbortController().signal);
  await expect(begin()).rejects.toThrow(/Run "held" is running in process/);
  expect(existsSync(join(runs, "held", "run.json"))).toBe(true);
  release();
  expect(await begin()).toBe(0);
  expect(existsSync(join(runs, "held"))).toBe(false);
});
