/** The folder of an evaluation: what was asked (eval.json), every answer (rows.jsonl), the scores (report.json). */
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isRecord, parseJson } from "../../src/engine/bytes/json.ts";
import { LabError } from "../../src/engine/errors.ts";
import type { SuiteRow } from "../../src/engine/eval/benchmarks/suite-scores.ts";

/** Which weights answered. */
export type System = "base" | "adapter";

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
  /** Answers by system and row id, those of earlier calls included. */
  readonly answers: ReadonlyMap<string, SuiteRow>;
  add(system: System, rows: readonly SuiteRow[]): Promise<void>;
  report(report: object): Promise<void>;
}

/** Key of an answer. */
export function answerKey(system: System, rowId: string): string {
  return `${system} ${rowId}`;
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
  const answers = new Map<string, SuiteRow>();
  const stored = (await readText(rowsFile)) ?? "";
  const whole = stored.slice(0, stored.lastIndexOf("\n") + 1);
  if (whole.length < stored.length) await writeFile(rowsFile, whole);
  for (const line of whole.split("\n")) {
    if (line === "") continue;
    const row = parseJson(line, rowsFile);
    if (!isRecord(row) || typeof row.rowId !== "string" || (row.system !== "base" && row.system !== "adapter")) {
      throw new LabError("bad-input", `${rowsFile} holds a line that is no answer`, { subject: rowsFile });
    }
    const { system, ...answer } = row;
    answers.set(answerKey(system as System, row.rowId), answer as unknown as SuiteRow);
  }
  return {
    answers,
    add: async (system, rows) => {
      for (const row of rows) answers.set(answerKey(system, row.rowId), row);
      await appendFile(rowsFile, rows.map((row) => `${JSON.stringify({ system, ...row })}\n`).join(""));
    },
    report: (report) => writeFile(join(out, "report.json"), `${JSON.stringify(report, null, 2)}\n`),
  };
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw thrown;
  }
}
