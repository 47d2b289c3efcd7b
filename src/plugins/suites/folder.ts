/**
 * The folder of an evaluation: its facts (eval.json), rows (items.jsonl), answers (rows.jsonl) and scores
 * (report.json). The scores can be recomputed from it.
 */
import { sha256Hex } from "../../engine/bytes/hash.ts";
import { isRecord, parseJson } from "../../engine/bytes/json.ts";
import { rowsHash } from "../../engine/data/open-rows.ts";
import { badInput } from "../../engine/errors.ts";
import type { RunStore } from "../../engine/storage/store.ts";
import { answerKey, parseSuiteRow, type SuiteRow } from "./run-suite.ts";
import type { Suite, SuiteItem } from "./suite.ts";

/** Facts that identify an evaluation; its folder refuses another one. */
export interface EvalFacts {
  readonly suite: string;
  readonly split: string | null;
  /** Absent for all rows. */
  readonly part?: "selection" | "report";
  readonly answers: "free" | "forced";
  /** Maximum tokens of an answer; absent for the default of 256. */
  readonly maxTokens?: number;
  /** Decoder and frames, in suites of clips. */
  readonly follow?: string;
  readonly model: { readonly name: string; readonly hash: string };
  readonly adapter: { readonly name: string; readonly hash: string } | null;
  readonly rows: number;
  /** Result of `suiteRowsHash`. */
  readonly rowsHash: string;
}

/**
 * Hash of what the model is asked: ids, pictures and tasks, in either answer mode. A change of the truth alone keeps
 * the answers, which are scored again.
 * @param frames identifies the frames of the clip of the row at an index, because a clip is known by its name only
 */
export async function suiteRowsHash(
  suite: Suite,
  items: readonly SuiteItem[],
  frames: (index: number) => string = () => "",
): Promise<string> {
  return rowsHash(
    items.map((item, at) => [item.id, JSON.stringify([item.imageId, suite.task(item, "free"), frames(at)])]),
  );
}

/** Name for the folder of an evaluation; different evaluations have different names. */
export async function evalId(facts: EvalFacts): Promise<string> {
  return `${facts.suite}-${(await sha256Hex(new TextEncoder().encode(JSON.stringify(facts)))).slice(0, 16)}`;
}

export interface EvalFolder {
  /**
   * Answers by system and row id, including those of earlier calls; a later answer to a row replaces the earlier one.
   */
  readonly answers: ReadonlyMap<string, SuiteRow>;
  add(rows: readonly SuiteRow[]): Promise<void>;
  /** Writes the rows. */
  items(items: readonly SuiteItem[]): Promise<void>;
  report(report: object): Promise<void>;
}

/**
 * Opens a folder of a store for an evaluation, new or to be continued. The row of a truncated last line is asked again.
 * @throws LabError("bad-input") when the folder holds another evaluation
 */
export async function openEvalFolder(store: RunStore, name: string, facts: EvalFacts): Promise<EvalFolder> {
  const [factsFile, rowsFile] = [`${name}/eval.json`, `${name}/rows.jsonl`];
  const readText = async (path: string): Promise<string | undefined> =>
    (await store.size(path)) === null ? undefined : store.readText(path);
  const known = await readText(factsFile);
  if (known === undefined) await store.write(factsFile, `${JSON.stringify(facts, null, 2)}\n`);
  else {
    const stored = parseJson(known, factsFile);
    const [before, now]: Record<string, unknown>[] = [isRecord(stored) ? stored : {}, { ...facts }];
    const other = Object.keys({ ...now, ...before }).find(
      (key) => sortedJson(before?.[key]) !== sortedJson(now?.[key]),
    );
    if (other !== undefined) {
      const what = other === "rowsHash" ? "different rows" : `different ${other}`;
      throw badInput(`${name} holds a different evaluation (${what}); name another folder`, name);
    }
  }
  const stored = (await readText(rowsFile)) ?? "";
  const whole = stored.slice(0, stored.lastIndexOf("\n") + 1);
  if (whole.length < stored.length) await store.write(rowsFile, whole);
  const answers = new Map<string, SuiteRow>();
  for (const line of whole.split("\n")) {
    if (line === "") continue;
    const row = parseSuiteRow(parseJson(line, rowsFile), rowsFile);
    answers.set(answerKey(row.system, row.rowId), row);
  }
  return {
    answers,
    add: async (rows) => {
      for (const row of rows) answers.set(answerKey(row.system, row.rowId), row);
      await store.append(rowsFile, lines(rows));
    },
    items: (items) => store.write(`${name}/items.jsonl`, lines(items)),
    report: (report) => store.write(`${name}/report.json`, `${JSON.stringify(report, null, 2)}\n`),
  };
}

/** JSON text that does not depend on the order of keys. */
function sortedJson(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, part: unknown) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

function lines(values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}
