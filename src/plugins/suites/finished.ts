/** Finished evaluations of a store: their facts, reports, and rows as columns of one table. */
import { isRecord, parseJson } from "../../engine/bytes/json.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import type { RunStore } from "../../engine/storage/store.ts";
import { suiteOf } from "./all.ts";
import type { EvalFacts } from "./folder.ts";
import { type LedgerColumn, suiteColumn } from "./ledger.ts";
import type { SuiteReport } from "./report.ts";
import { answeredItems, answerKey, parseSuiteRow } from "./run-suite.ts";
import type { SuiteItem } from "./suite.ts";

export interface FinishedEvaluation {
  /** Name of its folder. */
  readonly id: string;
  readonly facts: EvalFacts;
  readonly report: SuiteReport;
}

type Reader = Pick<RunStore, "readText" | "size">;

/** An evaluation of which some answers are kept; without a report it was stopped and can be continued. */
export type StoredSuite = Omit<FinishedEvaluation, "report"> & { readonly report: SuiteReport | null };

/** The evaluations among these folders, in order; other folders are skipped. */
export async function storedSuites(store: Reader, names: readonly string[]): Promise<StoredSuite[]> {
  const found: StoredSuite[] = [];
  for (const id of names) {
    const [facts, report] = [await record(store, `${id}/eval.json`), await record(store, `${id}/report.json`)];
    if (typeof facts?.suite !== "string" || suiteOf(facts.suite) === undefined) continue;
    const finished = isRecord(report?.systems) ? (report as unknown as SuiteReport) : null;
    found.push({ id, facts: facts as unknown as EvalFacts, report: finished });
  }
  return found;
}

export const isFinished = (one: StoredSuite): one is FinishedEvaluation => one.report !== null;

/** The finished ones among them. */
export async function finishedEvaluations(store: Reader, names: readonly string[]): Promise<FinishedEvaluation[]> {
  return (await storedSuites(store, names)).filter(isFinished);
}

/** An object of a file; undefined if there is none or it holds something else. */
async function record(store: Reader, path: string): Promise<Record<string, unknown> | undefined> {
  if ((await store.size(path)) === null) return undefined;
  try {
    const value = parseJson(await store.readText(path), path);
    return isRecord(value) ? value : undefined;
  } catch (thrown) {
    // A damaged folder is not a finished evaluation.
    if (thrown instanceof LabError) return undefined;
    throw thrown;
  }
}

/** Number of evaluations of these rows: this one, and the finished ones of other models, adapters or answers. */
export function looksAt(facts: EvalFacts, id: string, others: readonly FinishedEvaluation[]): number {
  const same = others.filter((one) => one.id !== id && one.facts.rowsHash === facts.rowsHash);
  return 1 + same.filter((one) => one.facts.suite === facts.suite && one.facts.rows === facts.rows).length;
}

/** A column for each system of a finished evaluation. @throws LabError("bad-input") when the folder holds none */
export async function evaluationColumns(store: Reader, id: string): Promise<LedgerColumn[]> {
  const text = async (file: string): Promise<string> => {
    if ((await store.size(`${id}/${file}`)) !== null) return store.readText(`${id}/${file}`);
    throw badInput(`${id} holds no finished evaluation (${file} is missing)`, id);
  };
  const [report, items, rows] = [await text("report.json"), await text("items.jsonl"), await text("rows.jsonl")];
  const facts = parseJson(report, id);
  const suite = isRecord(facts) && typeof facts.suite === "string" ? suiteOf(facts.suite) : undefined;
  if (suite === undefined || !isRecord(facts) || !isRecord(facts.systems)) {
    throw badInput(`${id} holds no report of a known suite`, id);
  }
  const systems = Object.keys(facts.systems);
  const list = lines(items).map((line) => parseJson(line, id) as SuiteItem);
  const answers = new Map(
    lines(rows).map((line) => {
      const row = parseSuiteRow(parseJson(line, id), id);
      return [answerKey(row.system, row.rowId), row];
    }),
  );
  return (["base", "adapter"] as const)
    .filter((system) => systems.includes(system))
    .map((system) => suiteColumn(`${id} ${system}`, suite, answeredItems(list, answers, system)));
}

const lines = (content: string): string[] => content.split("\n").filter((line) => line !== "");
