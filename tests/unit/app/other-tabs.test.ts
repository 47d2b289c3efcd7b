/** Locks of other tabs are told apart from those of this page. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { checkpointEvaluationStore } from "../../../src/app/stores/run/checkpoint-evaluation.ts";
import { followOtherTabs } from "../../../src/app/stores/run/other-tabs.ts";
import { useSession } from "../../../src/app/stores/session.ts";

let held: readonly string[] = [];
let released = 0;

beforeEach(() => {
  held = [];
  released = 0;
  vi.useFakeTimers();
  vi.stubGlobal("navigator", {
    locks: { query: async () => ({ held: held.map((id) => ({ name: `sa2va-lab/run/${id}` })) }) },
  });
  followOtherTabs(() => void released++);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  useSession.setState(useSession.getInitialState(), true);
  checkpointEvaluationStore.setState(checkpointEvaluationStore.getInitialState(), true);
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

it("a run whose checkpoint this page evaluates is not another tab's", async () => {
  const now = { runId: "mine", title: "Mine", step: 2, done: 0, total: 4, stop: () => undefined };
  checkpointEvaluationStore.setState({ now });
  held = ["mine", "theirs"];
  expect(await others()).toEqual(["theirs"]);
});
