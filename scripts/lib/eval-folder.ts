/** The folder of an evaluation: what was asked (eval.json), the rows (items.jsonl), every answer (rows.jsonl), the scores (report.json). */
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isRecord, parseJson } from "../../src/engine/bytes/json.ts";
import { LabError } from "../../src/engine/errors.ts";
import { answerKey, parseSuiteRow, type SuiteRow } from "../../src/engine/eval/suites/run-suite.ts";
import type { SuiteItem } from "../../src/engine/eval/suites/suite.ts";

/** What an evaluation is of; another one is refused in the same folder. */
export interface EvalFacts {
  readonly suite: string;
  readonly split: string | null;
  readonly answers: "free" | "forced";
  readonly model: { readonly name: string; readonly hash: string };
  readonly adapter: { readonly name: string; readonly hash: string } | null;
  /** Number of rows and the hash of their ids and pictures. */
  readonly rows: number;
  readonly rowsHash: string;
}

export interface EvalFolder {
  /** Answers by system and row id, those of earlier calls included; a later one of the same row replaces it. */
  readonly answers: ReadonlyMap<string, SuiteRow>;
  add(rows: readonly SuiteRow[]): Promise<void>;
  /** Writes the rows, so that the scores can be computed again from the folder alone. */
  items(items: readonly SuiteItem[]): Promise<void>;
  report(report: object): Promise<void>;
}

/**
 * Opens a folder for an evaluation, new or to be continued. A last line that was cut off is asked again.
 * @throws LabError("bad-input") when the folder holds another evaluation
 */
export async function openEvalFolder(out: string, facts: EvalFacts): Promise<EvalFolder> {
  await mkdir(out, { recursive: true });
  const [factsFile, rowsFile] = [join(out, "eval.json"), join(out, "rows.jsonl")];
  const known = await readText(factsFile);
  const text = `${JSON.stringify(facts, null, 2)}\n`;
  if (known === undefined) await writeFile(factsFile, text);
  else if (known !== text) {
    const before = parseJson(known, factsFile);
    const other = Object.entries(facts).find(
      ([key, value]) => !isRecord(before) || JSON.stringify(before[key]) !== JSON.stringify(value),
    );
    throw new LabError("bad-input", `${out} holds another evaluation (other ${other?.[0]}); name another --out`, {
      subject: out,
    });
  }
  const stored = (await readText(rowsFile)) ?? "";
  const whole = stored.slice(0, stored.lastIndexOf("\n") + 1);
  if (whole.length < stored.length) await writeFile(rowsFile, whole);
  const answers = new Map<string, SuiteRow>();
  for (const row of readRows(whole, rowsFile)) answers.set(answerKey(row.system, row.rowId), row);
  return {
    answers,
    add: async (rows) => {
      for (const row of rows) answers.set(answerKey(row.system, row.rowId), row);
      await appendFile(rowsFile, lines(rows));
    },
    items: (items) => writeFile(join(out, "items.jsonl"), lines(items)),
    report: (report) => writeFile(join(out, "report.json"), `${JSON.stringify(report, null, 2)}\n`),
  };
}

/** Answers of a file of lines. @throws LabError("bad-input") for a line that is none */
export function readRows(text: string, from: string): SuiteRow[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => parseSuiteRow(parseJson(line, from), from));
}

function lines(values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw thrown;
  }
}
