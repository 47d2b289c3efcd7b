/** Long work of the page: what is shown of it while it runs and after it. */
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { forgetJob, jobKind, jobOf, runningOf, startJob, stopJob, useJobs } from "../../../src/app/stores/jobs.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { untilStopped } from "./fake-lab.ts";

const COUNT = jobKind<number, string>("count");

// Other files share the store.
beforeEach(() => useJobs.setState({}, true));
afterAll(() => useJobs.setState({}, true));

describe("a job", () => {
  it("shows its progress, then its result, until it is forgotten", async () => {
    expect(jobOf(COUNT)).toBeNull();
    const seen: (number | null)[] = [];
    const done = startJob(COUNT, 0, async (_, show) => {
      seen.push(runningOf(COUNT));
      show(1);
      seen.push(runningOf(COUNT));
      forgetJob(COUNT);
      seen.push(runningOf(COUNT));
      return "all";
    });
    expect(await done).toBe("all");
    expect(seen).toEqual([0, 1, 1]);
    expect(jobOf(COUNT)).toMatchObject({ state: "done", progress: 1, result: "all", problem: null });
    expect(runningOf(COUNT)).toBeNull();
    stopJob(COUNT);
    expect(jobOf(COUNT)?.stopping).toBe(false);
    forgetJob(COUNT);
    expect(jobOf(COUNT)).toBeNull();
  });

  it("that fails keeps its error, and throws it", async () => {
    const failed = startJob(COUNT, 0, async () => {
      throw new LabError("storage", "The disk is full");
    });
    await expect(failed).rejects.toThrow("The disk is full");
    expect(jobOf(COUNT)).toMatchObject({ state: "failed", result: null, problem: { message: "The disk is full" } });
  });

  it("runs until its work ends after it was told to stop, which is no error", async () => {
    let end = (): void => undefined;
    const slow = startJob(COUNT, 7, async (signal) => {
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      signal.throwIfAborted();
      return untilStopped(signal);
    });
    stopJob(COUNT);
    expect(jobOf(COUNT)).toMatchObject({ state: "running", stopping: true });
    end();
    await expect(slow).rejects.toThrow();
    expect(jobOf(COUNT)?.state).not.toBe("running");
    const stopped = startJob(COUNT, 7, untilStopped);
    stopJob(COUNT);
    await expect(stopped).rejects.toThrow("stopped");
    expect(jobOf(COUNT)).toMatchObject({ state: "stopped", progress: 7, problem: null });
  });

  it("replaces one that runs, which is told to stop and shows nothing more", async () => {
    let told = false;
    const first = startJob(COUNT, 1, (signal) => {
      signal.addEventListener("abort", () => {
        told = true;
      });
      return untilStopped(signal);
    });
    const second = startJob(COUNT, 2, untilStopped);
    expect(told).toBe(true);
    await expect(first).rejects.toThrow("stopped");
    expect(jobOf(COUNT)).toMatchObject({ state: "running", progress: 2, stopping: false });
    stopJob(COUNT);
    await expect(second).rejects.toThrow("stopped");
  });

  it("runs beside jobs of other names", async () => {
    const OTHER = jobKind<string>("other");
    const both = [startJob(COUNT, 1, untilStopped), startJob(OTHER, "a", untilStopped)];
    expect([runningOf(COUNT), runningOf(OTHER)]).toEqual([1, "a"]);
    stopJob(OTHER);
    await expect(both[1]).rejects.toThrow("stopped");
    expect([runningOf(COUNT), runningOf(OTHER)]).toEqual([1, null]);
    stopJob(COUNT);
    await expect(both[0]).rejects.toThrow("stopped");
  });
});
