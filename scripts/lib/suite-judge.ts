/** Verdicts about the captions of an evaluation: from a judge, or from replies that were stored with their captions. */
import { readFile } from "node:fs/promises";
import { isRecord, parseJson } from "../../src/engine/bytes/json.ts";
import { requireConfig } from "../../src/engine/config/parse.ts";
import { LabError } from "../../src/engine/errors.ts";
import { judgeName, judgeSettings, liveVerdicts, repliedVerdict } from "../../src/engine/eval/suites/judged.ts";
import { answerKey, type System } from "../../src/engine/eval/suites/run-suite.ts";
import type { SuiteItem, Verdict } from "../../src/engine/eval/suites/suite.ts";
import { openJudge } from "../../src/engine/rewards/judge/setup.ts";
import { one, type Parsed } from "./arguments.ts";
import { commandLineConsent } from "./node-consent.ts";
import { judgeFlags, nodeJudgeHost } from "./node-judge.ts";
import { nodeStore } from "./node-store.ts";

/** Rows whose pictures are in memory together. */
const AT_ONCE = 8;

/** Verdicts of one system's captions, undefined where there is none; the name of the judge. */
export interface SuiteJudge {
  readonly name: string;
  of(
    system: System,
    rows: readonly { readonly item: SuiteItem; readonly caption: string }[],
  ): Promise<readonly (Verdict | undefined)[]>;
}

/**
 * The judge that the options name: `--replies FILE` or `--judge URL`; undefined without either.
 * @param pictures of a row as data URLs, for a judge that may see them
 * @throws LabError("bad-input" | "bad-config")
 */
export async function suiteJudge(
  parsed: Parsed,
  items: readonly SuiteItem[],
  out: string,
  say: (text: string) => void,
  pictures?: (item: SuiteItem) => Promise<readonly string[]>,
): Promise<SuiteJudge | undefined> {
  const file = one(parsed, "replies");
  if (file !== undefined) return storedReplies(file);
  if (!parsed.has("judge")) return undefined;
  const config = requireConfig(
    { ...judgeFlags(parsed, { judge: "dlc" }), ...judgeSettings(items) },
    undefined,
    "command line",
  );
  const host = nodeJudgeHost(nodeStore(out), await commandLineConsent(parsed, process.env), say);
  const opened = await openJudge(config, host);
  if (opened === null) throw new LabError("bad-config", "The configuration turns the judge off");
  const seen = pictures !== undefined;
  return {
    name: judgeName(opened.description, seen),
    of: async (_, rows) => {
      const asked = rows.filter(({ item }) => item.questions !== undefined);
      const verdicts = await liveVerdicts({ terms: opened.judge.terms, pictures, atOnce: AT_ONCE }, asked);
      return rows.map((row) => verdicts[asked.indexOf(row)]);
    },
  };
}

/** Replies as lines `{"system", "rowId", "text", "replies": [...]}`: those to another caption are refused. */
async function storedReplies(file: string): Promise<SuiteJudge> {
  const content = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new LabError("bad-input", `${file} cannot be read`, { subject: file, cause });
  });
  const known = new Map<string, { readonly caption: string; readonly replies: readonly string[] }>();
  for (const line of content.split("\n").filter((text) => text.trim() !== "")) {
    const value = parseJson(line, file);
    if (!isRecord(value) || typeof value.rowId !== "string" || !Array.isArray(value.replies)) {
      throw new LabError("bad-input", `${file} holds a line without rowId and replies`, { subject: file });
    }
    const caption = typeof value.text === "string" ? value.text : "";
    const system = value.system === "adapter" ? "adapter" : "base";
    known.set(answerKey(system, value.rowId), { caption, replies: value.replies.map(String) });
  }
  return {
    name: `replies of ${file}`,
    of: async (system, rows) =>
      rows.map(({ item, caption }) => {
        const found = known.get(answerKey(system, item.id));
        if (found === undefined) return undefined;
        if (found.caption === caption) return repliedVerdict(item, found.replies);
        throw new LabError("bad-input", `${file} has replies to another caption of row ${item.id}`, { subject: file });
      }),
  };
}
