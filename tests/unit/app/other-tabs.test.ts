/** Locks of other tabs are told apart from those of this page. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { EVALUATION, startJob, stopJob, useJobs } from "../../../src/app/stores/jobs.ts";
import { useRoute } from "../../../src/app/stores/route.ts";
import { FALLBACK } from "../../../src/app/stores/route-text.ts";
import { followOtherTabs } from "../../../src/app/stores/run/other-tabs.ts";
import { useRun } from "../../../src/app/stores/run/run.ts";
import { useSession } from "../../../src/app/stores/session.ts";
import { untilStopped } from "./fake-lab.ts";

let held: readonly string[] = [];
let released = 0;

/** Other files share the stores. */
function resetStores(): void {
  useSession.setState(useSession.getInitialState(), true);
  useRun.setState(useRun.getInitialState(), true);
  useRoute.setState(FALLBACK, true);
  useJobs.setState({}, true);
}

beforeEach(() => {
  resetStores();
  held = [];
  released = 0;
  vi.useFakeTimers();
  vi.stubGlobal("navigator", {
    locks: { query: async () => ({ held: held.map((id) => ({ name: `sa2va-lab/run/${id}` })) }) },
  });
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("history", { replaceState: () => undefined });
  followOtherTabs(() => void released++);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  resetStores();
});

/** What the page takes for runs of other tabs after it looked some times. */
async function others(): Promise<readonly string[]> {
  await vi.advanceTimersByTimeAsync(10_000);
  return useSession.getState().otherTabs;
}

it("a run that another tab holds is listed while it does", async () => {
  held = ["theirs"];
  expect(await others()).toEqual(["theirs"]);
  expect(released).toBe(0);
  held = [];
  expect(await others()).toEqual([]);
  expect(released).toBe(1);
});

it("the run of this page is outdated once another tab continues with it, whose result is then shown", async () => {
  useRun.setState({ runId: "mine", state: "finished", step: 4 });
  held = ["mine"];
  expect(await others()).toEqual(["mine"]);
  expect(useRun.getState()).toMatchObject({ runId: null, state: "idle", step: 0 });
  expect(useRoute.getState().run).toBeNull();
  held = [];
  await others();
  expect(useRoute.getState().run).toBe("mine");
  expect(useSession.getState().problems).toEqual([]);
});

it("a run of this page that starts is not another tab's, though its lock is held before its id is known", async () => {
  useRun.setState({ state: "starting" });
  held = ["new"];
  expect(await others()).toEqual([]);
});

it("a run whose checkpoint this page evaluates is not another tab's", async () => {
  const progress = { runId: "mine", title: "Mine", step: 2, done: 0, total: 4 };
  const evaluated = startJob(EVALUATION, progress, untilStopped);
  held = ["mine", "theirs"];
  expect(await others()).toEqual(["theirs"]);
  stopJob(EVALUATION);
  await expect(evaluated).rejects.toThrow("stopped");
});
