/** `npm run eval -- --ledger DIR…`: finished evaluations of the same rows as one CSV table. */
import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { isRecord, parseJson } from "../../src/engine/bytes/json.ts";
import { LabError } from "../../src/engine/errors.ts";
import { suiteOf } from "../../src/engine/eval/suites/all.ts";
import { type LedgerColumn, ledgerCsv } from "../../src/engine/eval/suites/ledger.ts";
import { answeredItems, answerKey, parseSuiteRow } from "../../src/engine/eval/suites/run-suite.ts";
import type { SuiteItem } from "../../src/engine/eval/suites/suite.ts";

/** @throws LabError("bad-input") for a folder that holds no finished evaluation, or one of other rows */
export async function evalLedger(folders: readonly string[]): Promise<string> {
  return ledgerCsv((await Promise.all(folders.map(columnsOf))).flat());
}

async function columnsOf(folder: string): Promise<LedgerColumn[]> {
  const [report, items, rows] = await Promise.all(
    ["report.json", "items.jsonl", "rows.jsonl"].map((name) => text(folder, name)),
  );
  const facts = parseJson(report as string, folder);
  const suite = isRecord(facts) && typeof facts.suite === "string" ? suiteOf(facts.suite) : undefined;
  if (suite === undefined || !isRecord(facts) || !isRecord(facts.systems)) {
    throw new LabError("bad-input", `${folder} holds no report of a known suite`, { subject: folder });
  }
  const list = lines(items as string).map((line) => parseJson(line, folder) as SuiteItem);
  const answers = new Map(
    lines(rows as string).map((line) => {
      const row = parseSuiteRow(parseJson(line, folder), folder);
      return [answerKey(row.system, row.rowId), row];
    }),
  );
  return (["base", "adapter"] as const)
    .filter((system) => system in (facts.systems as object))
    .map((system) => ({
      name: `${basename(resolve(folder))} ${system}`,
      suite,
      rows: answeredItems(list, answers, system),
    }));
}

const lines = (content: string): string[] => content.split("\n").filter((line) => line !== "");

async function text(folder: string, name: string): Promise<string> {
  return readFile(join(folder, name), "utf8").catch((cause: unknown) => {
    throw new LabError("bad-input", `${folder} holds no finished evaluation (${name} is missing)`, {
      subject: folder,
      cause,
    });
  });
}
