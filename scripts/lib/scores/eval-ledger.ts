/**
 * `npm run eval -- --ledger DIR…`: finished evaluations of the same rows as one table; also finds the finished
 * evaluations next to a folder.
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { readEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import {
  evaluationColumns,
  type FinishedEvaluation,
  finishedEvaluations,
} from "../../../src/plugins/suites/finished.ts";
import { type LedgerColumn, ledgerCsv, ledgerParquet, runColumns } from "../../../src/plugins/suites/ledger.ts";
import { nodeStore } from "../node/node-store.ts";

/**
 * The table of evaluations of suites, and of all held-out evaluations of run folders.
 * @param file Parquet if its name ends in .parquet, else CSV; undefined returns CSV
 * @throws LabError("bad-input") for a folder that holds no finished evaluation, or one of other rows;
 * LabError("storage") when the file cannot be written
 */
export async function evalLedger(folders: readonly string[], file?: string): Promise<string> {
  const columns = (await Promise.all(folders.map(columnsOf))).flat();
  if (file === undefined) return ledgerCsv(columns);
  const content = file.endsWith(".parquet") ? ledgerParquet(columns) : ledgerCsv(columns);
  await nodeStore(dirname(resolve(file))).write(basename(file), content);
  return `${file}\n`;
}

async function columnsOf(folder: string): Promise<LedgerColumn[]> {
  const [store, name] = [nodeStore(dirname(resolve(folder))), basename(resolve(folder))];
  if (existsSync(join(folder, "run.json"))) return runColumns(name, await readEvaluations(store, name));
  return evaluationColumns(store, name);
}

/** Finished evaluations in the directory of a folder. */
export async function evaluationsBeside(folder: string): Promise<FinishedEvaluation[]> {
  const directory = dirname(resolve(folder));
  const entries = existsSync(directory) ? await readdir(directory, { withFileTypes: true }) : [];
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return finishedEvaluations(nodeStore(directory), names.sort());
}
