import { expect, it } from "vitest";
import { type RunStoreState, useRun } from "../../../src/app/stores/run/run.ts";
import { useSession } from "../../../src/app/stores/session.ts";
import { isLog, runNews, sessionNews } from "../../../src/plugins/diagnostics/log.ts";

const idle = useRun.getInitialState();
const run = (change: Partial<RunStoreState>): RunStoreState => ({ ...idle, runId: "a", state: "running", ...change });
const texts = (now: RunStoreState, before: RunStoreState): readonly string[] =>
  runNews(now, before).map(({ text }) => text);

it("tells states that last, saves, alarms and a step that is taken back, each once", () => {
  const alarm = { id: "kl", step: 4, severity: "error", message: "The KL jumped" } as const;
  expect(texts(run({ step: 3 }), run({ step: 2 }))).toEqual([]);
  expect(texts(run({ state: "pausing" }), run({}))).toEqual([]);
  expect(texts(run({ state: "paused", step: 3 }), run({ state: "pausing", step: 3 }))).toEqual([
    "Run is paused at step 3",
  ]);
  expect(texts(run({ step: 5 }), run({ step: 9 }))).toEqual(["Run went back from step 9 to step 5"]);
  const saved = { step: 4, at: 1, bytes: 2_000_000, asked: false };
  expect(texts(run({ lastCheckpoint: saved, alarms: [alarm] }), run({}))).toEqual([
    "Checkpoint of step 4 written, 2.0 MB",
    "Step 4: The KL jumped",
  ]);
  expect(
    texts(run({ lastCheckpoint: saved, alarms: [alarm] }), run({ lastCheckpoint: saved, alarms: [alarm] })),
  ).toEqual([]);
  expect(runNews(run({ state: "failed" }), run({}))[0]?.level).toBe("error");
});

it("takes only lines with a time, a known level and a text from what was kept", () => {
  const line = { at: 1, level: "info", text: "The page was opened" };
  expect(isLog([line, { ...line, level: "error" }])).toBe(true);
  for (const wrong of [{ ...line, level: "loud" }, { at: 1, text: "no level" }, { ...line, at: "1" }, null]) {
    expect(isLog([line, wrong])).toBe(false);
  }
});

it("does not take another run for one that went back, nor tells a state before the run is known", () => {
  expect(texts(run({ runId: "b", step: 0 }), run({ step: 9 }))).toEqual([]);
  const unknown = run({ runId: null });
  expect(texts(unknown, run({ state: "starting", step: 9 }))).toEqual([]);
  const known = run({ manifest: { title: "calm owl", config: { steps: 12 } } as RunStoreState["manifest"] });
  expect(texts(known, unknown)).toEqual(["calm owl is running at step 0"]);
  expect(texts({ ...known, state: "finished", step: 8 }, known)).toEqual(["calm owl is stopped at step 8"]);
  expect(texts({ ...known, state: "finished", step: 12 }, known)).toEqual(["calm owl is finished at step 12"]);
});

it("tells a problem again when it comes again", () => {
  const before = useSession.getInitialState();
  const problem = { id: 1, code: "storage", message: "The disk is full", times: 1 } as const;
  const once = { ...before, problems: [problem] };
  const twice = { ...before, problems: [{ ...problem, times: 2 }] };
  expect(sessionNews(once, before)).toEqual([{ level: "error", text: "The disk is full" }]);
  expect(sessionNews(twice, once)).toHaveLength(1);
  expect(sessionNews(before, twice)).toEqual([]);
});
