/** An evaluation of the page with workers that are stood in for. */
import { afterEach, expect, test, vi } from "vitest";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { badInput } from "../../../src/engine/errors.ts";
import type { CaptionPair } from "../../../src/engine/rewards/types.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { isFinished, storedSuites } from "../../../src/plugins/suites/finished.ts";
import type { EvalFacts } from "../../../src/plugins/suites/folder.ts";
import type { SuiteReport } from "../../../src/plugins/suites/report.ts";
import type { SuiteRow } from "../../../src/plugins/suites/run-suite.ts";
import type { SuiteItem } from "../../../src/plugins/suites/suite.ts";

const LAB = "../../../src/app/clients/lab.ts";
const items: SuiteItem[] = ["1", "2"].map((id) => ({
  id,
  imageId: id,
  size: [2, 2],
  text: "hat",
  masks: [{ size: [2, 2], counts: "04" }],
  questions: [{ type: "positive", question: "Is it red?", choices: [["Yes", 1]] }],
}));
const REPORT = { suite: "dlc", systems: {} } as unknown as SuiteReport;

afterEach(() => {
  vi.doUnmock(LAB);
  vi.resetModules();
});

/** The page's modules by themselves, with a model "first" and workers that answer at once. */
async function page() {
  vi.resetModules();
  const facts: EvalFacts[] = [];
  const judged: CaptionPair[][] = [];
  const rows: SuiteRow[] = [];
  const hooks = { opening: (): void => undefined, answering: (): void => undefined, refused: false };
  const data = {
    openSuite: async () => {
      hooks.opening();
      return { items, leftOut: [], rowsHash: "r" };
    },
    openEvaluation: async (given: EvalFacts) => {
      facts.push(given);
      return { id: "e", answers: [...rows], looks: 1 };
    },
    keepAnswers: async (_: string, kept: readonly SuiteRow[]) => void rows.push(...kept),
    keepReport: async () => undefined,
    judgePictures: async () => ["data:"],
  };
  const trainer = {
    askSuite: async (system: string) => {
      hooks.answering();
      return [{ text: system }];
    },
  };
  const reward = {
    allow: async () => undefined,
    tryJudge: async ({ judgeModel }: LabConfig, pairs: readonly CaptionPair[]) => {
      judged.push([...pairs]);
      const given = { name: "judge", value: 1, weight: 1, judge: { positive: 1, negative: null } };
      const refused = { name: "judge", value: null, weight: 1, note: "bad key", judge: { failure: "bad-key" } };
      const terms = pairs.map(() => (hooks.refused ? refused : given));
      return { judge: { model: judgeModel || "reader-1", version: "v" }, rounds: [terms], reach: null };
    },
    suiteReport: async () => REPORT,
  };
  const lab = { data, trainer, reward };
  const pluginCalls = (worker: keyof typeof lab) => lab[worker];
  vi.doMock(LAB, () => ({ lab: () => lab, pluginCalls, report: () => undefined, builtIn: String }));
  const { continueSuite, runSuite } = await import("../../../src/plugins/suites/suite-work.ts");
  const { chooseSuite, showReport, useSuite } = await import("../../../src/plugins/suites/suite-store.ts");
  const { changeConfig, useSession } = await import("../../../src/app/stores/session.ts");
  const { useTry } = await import("../../../src/app/stores/try-out.ts");
  const { useConsent } = await import("../../../src/app/stores/consent.ts");
  const open = (model: string, adapter: string | null): void => {
    useSession.setState({ model: { name: model, hash: model } as never });
    useTry.setState({ adapter: adapter === null ? null : ({ name: adapter, hash: adapter } as never) });
  };
  open("first", "first adapter");
  chooseSuite({ suite: "dlc", split: "" });
  return {
    continueSuite,
    runSuite,
    chooseSuite,
    showReport,
    useSuite,
    changeConfig,
    useSession,
    useConsent,
    open,
    facts,
    judged,
    rows,
    hooks,
  };
}

const JUDGE = { judge: "dlc", judgeUrl: "http://localhost:9/v1" } as const;

test("one call asks the judge about both systems, so that its budget is spent once", async () => {
  const { runSuite, changeConfig, useConsent, judged, rows } = await page();
  changeConfig(JUDGE);
  useConsent.setState({ judges: ["http://localhost:9"] });
  await runSuite();
  expect(judged.filter((pairs) => pairs.length > 0)).toEqual([
    ["1", "1", "2", "2"].map((reference, at) => ({ reference, hypothesis: at % 2 === 0 ? "base" : "adapter" })),
  ]);
  const verdicts = rows.flatMap(({ judged: verdict }) => (verdict === undefined ? [] : [verdict]));
  expect(verdicts).toHaveLength(4);
  expect(verdicts[0]).toMatchObject({ positive: 1, judge: expect.stringMatching(/^reader-1, .* without pictures/) });
});

test("a judge that gives no verdict is named with its reason, once", async () => {
  const { runSuite, changeConfig, useConsent, useSession, hooks } = await page();
  changeConfig(JUDGE);
  useConsent.setState({ judges: ["http://localhost:9"] });
  hooks.refused = true;
  await runSuite();
  expect(useSession.getState().problems).toMatchObject([{ message: "No verdict: bad key", times: 1 }]);
});

test("another judge reads the kept answers again", async () => {
  const { runSuite, changeConfig, useConsent, judged } = await page();
  useConsent.setState({ judges: ["http://localhost:9"] });
  const asked: number[] = [];
  for (const judgeModel of ["reader-1", "reader-1", "reader-2"]) {
    changeConfig({ ...JUDGE, judgeModel });
    await runSuite();
    asked.push(judged.splice(0).flat().length);
  }
  expect(asked).toEqual([4, 0, 4]);
});

test("consent to a judge says whether pictures are sent", async () => {
  for (const judgePictures of [false, true]) {
    const { runSuite, chooseSuite, changeConfig, useConsent, judged } = await page();
    changeConfig(JUDGE);
    chooseSuite({ judgePictures });
    const ends = expect(runSuite()).rejects.toMatchObject({ code: "cancelled" });
    await vi.waitFor(() => expect(useConsent.getState().questions).toHaveLength(1));
    const [question] = useConsent.getState().questions;
    expect(question).toMatchObject({ reach: { judge: "http://localhost:9" }, pictures: judgePictures });
    question?.answer("cancel");
    await ends;
    expect(judged).toEqual([]);
  }
});

test("a judge that may be sent captions is sent pictures only after a second question, which is asked once", async () => {
  const { runSuite, chooseSuite, changeConfig, useConsent, useSuite } = await page();
  changeConfig(JUDGE);
  useConsent.setState({ judges: ["http://localhost:9"] });
  chooseSuite({ judgePictures: true });
  const first = runSuite();
  await vi.waitFor(() => expect(useConsent.getState().questions).toMatchObject([{ pictures: true }]));
  useConsent.getState().questions[0]?.answer("allow");
  await first;
  expect(useConsent.getState()).toMatchObject({ judges: ["http://localhost:9"], pictures: ["http://localhost:9"] });
  await runSuite();
  expect(useConsent.getState().questions).toEqual([]);
  expect(useSuite.getState().phase).toBe("idle");
});

test("a model and an adapter that are opened while the rows are read are those of the evaluation", async () => {
  const { runSuite, open, facts, hooks } = await page();
  hooks.opening = () => open("second", null);
  await runSuite();
  expect(facts).toMatchObject([{ model: { hash: "second" }, adapter: null }]);
});

test("answers of a model that was opened later are not kept", async () => {
  const { runSuite, open, rows, hooks } = await page();
  hooks.answering = () => open("second", null);
  await expect(runSuite()).rejects.toEqual(
    badInput("The model or the adapter was changed; start the evaluation again"),
  );
  expect(rows).toEqual([]);
});

test("what is evaluated and shown stays while an evaluation is in progress", async () => {
  const { runSuite, chooseSuite, showReport, useSuite, hooks } = await page();
  hooks.opening = () => showReport(REPORT);
  hooks.answering = () => {
    chooseSuite({ rows: 7 });
    const { phase, rows, items: asked, report } = useSuite.getState();
    expect([phase, rows, asked.length, report]).toEqual(["answering", 50, 2, null]);
  };
  await runSuite();
  expect(useSuite.getState()).toMatchObject({ phase: "idle", items, report: REPORT });
});

test("a choice that changes nothing leaves the report", async () => {
  const { runSuite, chooseSuite, useSuite } = await page();
  await runSuite();
  chooseSuite({ rows: 50 });
  expect(useSuite.getState()).toMatchObject({ report: REPORT, items });
  chooseSuite({ rows: 7 });
  expect(useSuite.getState()).toMatchObject({ report: null, items: [], rows: 7 });
});

test("an evaluation that was stopped goes on with its own choices, on its own rows only", async () => {
  const { continueSuite, runSuite, chooseSuite, facts } = await page();
  chooseSuite({ mode: "forced", rows: 1, part: "report" });
  await runSuite();
  chooseSuite({ suite: "masks", mode: "free", rows: 50, part: "all" });
  const [first] = facts as [EvalFacts];
  await continueSuite(first);
  expect(facts).toEqual([first, first]);
  await expect(continueSuite({ ...first, rowsHash: "of other files" })).rejects.toThrow("hold other rows");
  expect(facts).toHaveLength(2);
});

test("evaluations without a report are those that can be continued", async () => {
  const store = memoryStore();
  const known = { suite: "masks", split: null };
  await store.write("a/eval.json", JSON.stringify(known));
  await store.write("b/eval.json", JSON.stringify(known));
  await store.write("b/report.json", JSON.stringify({ systems: {} }));
  await store.write("c/eval.json", JSON.stringify({ suite: "no such" }));
  const stored = await storedSuites(store, ["a", "b", "c"]);
  expect(stored.map((one) => [one.id, isFinished(one)])).toEqual([
    ["a", false],
    ["b", true],
  ]);
});
