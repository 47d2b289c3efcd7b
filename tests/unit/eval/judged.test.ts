/** Verdicts of judges: their source, their questions, and what they compare. */
import { expect, test } from "vitest";
import { judgeRows, type SuiteJudge } from "../../../scripts/lib/scores/suite-judge.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { suiteOf } from "../../../src/plugins/suites/all.ts";
import { judgeAnswers } from "../../../src/plugins/suites/judged.ts";
import {
  answerKey,
  parseSuiteRow,
  type SuiteRow,
  type System,
  suiteScores,
} from "../../../src/plugins/suites/run-suite.ts";
import type { AnsweredItem, Suite, SuiteItem, Verdict } from "../../../src/plugins/suites/suite.ts";

const dlc = suiteOf("dlc") as Suite;
const item = (id: string, question = "Is it red?"): SuiteItem => ({
  id,
  imageId: id,
  size: [2, 2],
  text: "",
  masks: [],
  questions: [{ type: "positive", question, choices: [["Yes", 1]] }],
});
const scored = (positive: number): Verdict => ({ positive, negative: positive });

/** Answers of both systems, and what judges were asked about them. */
function answered(ids: readonly string[]) {
  const answers = new Map<string, SuiteRow>();
  const keep = async (rows: readonly SuiteRow[]): Promise<void> => {
    // As stored in a file.
    for (const row of rows) {
      answers.set(answerKey(row.system, row.rowId), parseSuiteRow(JSON.parse(JSON.stringify(row)), "rows.jsonl"));
    }
  };
  for (const system of ["base", "adapter"] as const) {
    for (const rowId of ids) answers.set(answerKey(system, rowId), { system, rowId, text: `${system} ${rowId}` });
  }
  const judge = async (
    name: string,
    items: readonly SuiteItem[],
    verdict: (caption: string) => Verdict | undefined,
  ): Promise<string[][]> => {
    const asked: string[][] = [];
    const systems: readonly System[] = ["base", "adapter"];
    await judgeAnswers({
      items,
      systems,
      answers,
      judge: name,
      keep,
      ask: async (rows) => {
        asked.push(rows.map(({ caption }) => caption));
        return rows.map(({ caption }) => verdict(caption));
      },
    });
    return asked;
  };
  const positives = () => [...answers.values()].map(({ judged }) => judged?.positive ?? null);
  return { answers, keep, judge, positives };
}

test("a judge is asked once for both systems, and about nothing that it has judged", async () => {
  const { judge } = answered(["1", "2"]);
  const items = [item("1"), item("2")];
  expect(await judge("A", items, () => scored(1))).toEqual([["base 1", "adapter 1", "base 2", "adapter 2"]]);
  expect(await judge("A", items, () => scored(0))).toEqual([]);
});

test("the tools' judge reads both systems of a row together, and what it read before a stop is kept", async () => {
  const ids = Array.from({ length: 12 }, (_, at) => String(at));
  const { answers, keep, positives } = answered(ids);
  const stop = new AbortController();
  const asked: string[] = [];
  const judge: SuiteJudge = {
    name: "A",
    of: async (rows, signal) => {
      // The second portion is never read.
      if (asked.length > 0) stop.abort();
      if (signal.aborted) throw new LabError("cancelled", "The judge requests were stopped");
      asked.push(...rows.map(({ caption }) => caption));
      return rows.map(() => scored(1));
    },
  };
  const items = ids.map((id) => item(id));
  const reading = judgeRows(judge, { answers, add: keep }, items, ["base", "adapter"], stop.signal);
  await expect(reading).rejects.toMatchObject({ code: "cancelled" });
  expect(asked.slice(0, 4)).toEqual(["base 0", "adapter 0", "base 1", "adapter 1"]);
  expect(positives().filter((value) => value === 1)).toHaveLength(asked.length);
});

test("another judge and other questions are asked again", async () => {
  const { judge, positives } = answered(["1", "2"]);
  await judge("A", [item("1"), item("2")], () => scored(1));
  expect(await judge("B", [item("1"), item("2")], () => scored(-1))).toHaveLength(1);
  expect(positives()).toEqual([-1, -1, -1, -1]);
  expect(await judge("B", [item("1"), item("2", "Is it blue?")], () => scored(0))).toEqual([["base 2", "adapter 2"]]);
  expect(positives()).toEqual([-1, 0, -1, 0]);
});

test("a row that another judge gives no verdict keeps none, and one of a file without the judge's name is asked", async () => {
  const { answers, judge, positives } = answered(["1", "2"]);
  for (const [key, row] of answers) answers.set(key, { ...row, judged: scored(1) });
  const items = [item("1"), item("2")];
  const some = (caption: string): Verdict | undefined => (caption === "base 2" ? undefined : scored(0));
  expect(await judge("A", items, some)).toHaveLength(1);
  expect(positives()).toEqual([0, null, 0, 0]);
  expect(await judge("A", items, some)).toEqual([["base 2"]]);
});

test("scores and difference are over rows that a judge has read of both systems", () => {
  const rows = (positives: readonly (number | null)[]): AnsweredItem[] =>
    positives.map((positive, at) => ({
      item: item(String(at)),
      answer: { text: "" },
      judged: positive === null ? undefined : scored(positive),
    }));
  const { systems, difference } = suiteScores(
    dlc,
    { base: rows([1, 0, 0]), adapter: rows([1, null, null]) },
    { meteor: () => 0 },
  );
  expect(difference?.map(({ metric, value }) => [metric, value])).toEqual([
    ["Pos", 0],
    ["Neg", 0],
    ["Avg", 0],
  ]);
  expect([systems.base?.[0]?.value, systems.adapter?.[0]?.value]).toEqual([1, 1]);
});
