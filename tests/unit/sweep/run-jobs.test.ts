import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { LabError } from "../../../src/engine/errors.ts";
import type { SweepJob } from "../../../src/plugins/sweep/plan.ts";
import { type JobState, runJobs } from "../../../src/plugins/sweep/run-jobs.ts";

const job = (name: string): SweepJob => ({ name, variant: name, seed: 1, config: defaultConfig() });

/**
 * Runs two jobs.
 * @param where reading or running of which job it is cancelled
 * @param done jobs that are complete after their run
 */
async function said(where: string, done: readonly string[]): Promise<readonly string[]> {
  const stop = new AbortController();
  const all: string[] = [];
  const ran = new Set<string>();
  const at = (what: string): void => {
    if (what === where) stop.abort();
  };
  await runJobs(
    [job("a"), job("b")],
    {
      async state({ name }): Promise<JobState> {
        at(`read ${name}`);
        return ran.has(name) && done.includes(name) ? { at: "done", run: name } : { at: "new" };
      },
      async run({ name }) {
        ran.add(name);
        at(`run ${name}`);
      },
      tell: ({ name }, event) => void all.push(`${name} ${event}`),
    },
    { atOnce: 1, signal: stop.signal },
  );
  return all;
}

describe("the jobs of a sweep", () => {
  it("go on after one that failed", async () => {
    expect(await said("nowhere", ["b"])).toEqual(["a starts", "a failed", "b starts", "b done"]);
  });

  it("do not start once it is cancelled, also while it is read where they stand", async () => {
    expect(await said("read a", [])).toEqual([]);
  });

  it("are done where they ended although it was cancelled, and failed neither where they did not", async () => {
    expect(await said("run a", ["a"])).toEqual(["a starts", "a done"]);
    expect(await said("run a", [])).toEqual(["a starts"]);
  });

  it("start none beside one that is refused", async () => {
    const started: string[] = [];
    let end = (): void => undefined;
    const working = new Promise<void>((resolve) => (end = resolve));
    const refused = runJobs(
      ["a", "b", "c"].map(job),
      {
        async state({ name }): Promise<JobState> {
          if (name === "b") throw new LabError("bad-config", "b has other settings");
          return { at: "new" };
        },
        run: () => working,
        tell: ({ name }, event) => void (event === "starts" && started.push(name)),
      },
      { atOnce: 2, signal: new AbortController().signal },
    );
    await expect(refused).rejects.toThrow("b has other settings");
    end();
    await new Promise((resolve) => setImmediate(resolve));
    expect(started).toEqual(["a"]);
  });
});
