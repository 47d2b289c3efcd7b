/** Verdicts about the captions of an evaluation: from a judge, or from replies that were stored with their captions. */
import { isRecord, parseJson } from "../../../src/engine/bytes/json.ts";
import { requireConfig } from "../../../src/engine/config/parse.ts";
import { badInput, LabError } from "../../../src/engine/errors.ts";
import { openJudge } from "../../../src/engine/rewards/judge/setup.ts";
import type { RewardTerm } from "../../../src/engine/rewards/term.ts";
import type { CaptionPair } from "../../../src/engine/rewards/types.ts";
import type { EvalFolder } from "../../../src/plugins/suites/folder.ts";
import {
  judgeAnswers,
  judgeName,
  judgeSettings,
  liveVerdicts,
  newFailures,
  repliedVerdict,
} from "../../../src/plugins/suites/judged.ts";
import { answerKey, type SuiteRow, type System } from "../../../src/plugins/suites/run-suite.ts";
import type { SuiteItem, Verdict } from "../../../src/plugins/suites/suite.ts";
import { one, type Parsed } from "../arguments.ts";
import { commandLineConsent } from "../node/node-consent.ts";
import { readTextFile } from "../node/node-files.ts";
import { judgeFlags, nodeJudgeHost } from "../node/node-judge.ts";
import { nodeStore } from "../node/node-store.ts";

/** Maximum rows whose pictures are in memory at once; verdicts are stored after each batch of this size. */
const AT_ONCE = 8;

/** A caption and the row it belongs to. */
interface JudgedRow {
  readonly item: SuiteItem;
  readonly row: Pick<SuiteRow, "system">;
  readonly caption: string;
}

/** Verdicts about captions, undefined where there is none; the name of the judge. */
export interface SuiteJudge {
  readonly name: string;
  of(rows: readonly JudgedRow[], signal: AbortSignal): Promise<readonly (Verdict | undefined)[]>;
}

/**
 * The judge that the options name: `--replies FILE` or `--judge URL`; undefined without either.
 * @param pictures of a row as data URLs, for a judge that receives them
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
  /** Kinds of failure already printed. */
  const failures = new Set<string>();
  return {
    name: judgeName(opened.description, pictures !== undefined),
    of: async (rows, signal) => {
      const terms = async (pairs: readonly CaptionPair[]): Promise<readonly RewardTerm[]> => {
        const found = await opened.judge.terms(pairs, { signal });
        newFailures(found, failures).forEach(say);
        return found;
      };
      const asked = rows.filter(({ item }) => item.questions !== undefined);
      const verdicts = await liveVerdicts({ terms, pictures, atOnce: AT_ONCE }, asked);
      return rows.map((row) => verdicts[asked.indexOf(row)]);
    },
  };
}

/** Adds the judge's verdicts to the answers that lack one. @throws LabError("cancelled"); earlier verdicts are kept */
export async function judgeRows(
  judge: SuiteJudge,
  { answers, add: keep }: Pick<EvalFolder, "answers" | "add">,
  items: readonly SuiteItem[],
  systems: readonly System[],
  signal: AbortSignal,
): Promise<void> {
  for (let from = 0; from < items.length; from += AT_ONCE) {
    if (signal.aborted) throw new LabError("cancelled", "The judge was stopped; its verdicts are kept");
    const some = items.slice(from, from + AT_ONCE);
    await judgeAnswers({
      items: some,
      systems,
      answers,
      judge: judge.name,
      ask: (rows) => judge.of(rows, signal),
      keep,
    });
  }
}

/** Replies as lines `{"system", "rowId", "text", "replies": [...]}`: those to another caption are refused. */
async function storedReplies(file: string): Promise<SuiteJudge> {
  const content = readTextFile(file);
  const known = new Map<string, { readonly caption: string; readonly replies: readonly string[] }>();
  for (const line of content.split("\n").filter((text) => text.trim() !== "")) {
    const value = parseJson(line, file);
    if (!isRecord(value) || typeof value.rowId !== "string" || !Array.isArray(value.replies)) {
      throw badInput(`${file} holds a line without rowId and replies`, file);
    }
    const caption = typeof value.text === "string" ? value.text : "";
    const system = value.system === "adapter" ? "adapter" : "base";
    known.set(answerKey(system, value.rowId), { caption, replies: value.replies.map(String) });
  }
  return {
    name: `replies of ${file}`,
    of: async (rows) =>
      rows.map(({ item, row, caption }) => {
        const found = known.get(answerKey(row.system, item.id));
        if (found === undefined) return undefined;
        if (found.caption === caption) return repliedVerdict(item, found.replies);
        throw badInput(`${file} has replies to another caption of row ${item.id}`, file);
      }),
  };
}
