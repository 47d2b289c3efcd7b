/** Jobs of a sweep as processes. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { lockRun } from "../../../scripts/lib/node/run-lock.ts";
import { jobFolder, jobRuns, runJob } from "../../../scripts/lib/sweep/jobs.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { readSweep, type SweepJob } from "../../../src/engine/sweep/plan.ts";
import { manifest } from "../runs/sample-run.ts";

const out = mkdtempSync(join(tmpdir(), "lab-jobs-"));
afterAll(() => rmSync(out, { recursive: true, force: true }));

const PLAN = readSweep(JSON.stringify({ title: "a", seeds: [1, 2], settings: { evalSteps: 1 } }), "a.json", () => {});
const [JOB, OTHER] = PLAN.jobs as [SweepJob, SweepJob];

it("an interrupt reaches what a command line has started", async () => {
  const stop = new AbortController();
  const place = "echo begun in {folder}; sleep 600; echo ended";
  const ended = runJob(out, PLAN, JOB, { at: "new" }, { first: undefined, place }, stop.signal);
  const log = join(jobFolder(out, JOB), "train.log");
  while (!existsSync(log) || !readFileSync(log, "utf8").includes("begun")) {
    await new Promise((done) => setTimeout(done, 20));
  }
  stop.abort();
  expect(await ended).not.toBe(0);
  expect(readFileSync(log, "utf8")).not.toContain("ended");
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
