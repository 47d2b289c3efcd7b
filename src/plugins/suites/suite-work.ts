/**
 * Evaluates a suite: opens it, answers row by row, asks the judge if one is set, and scores. It can be stopped and
 * continued.
 */

import { lab, pluginCalls } from "../../app/clients/lab.ts";
import { requireAgreed } from "../../app/clients/run/agreed.ts";
import { addProblem, useSession } from "../../app/stores/session.ts";
import { useTry } from "../../app/stores/try-out.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import type { CaptionPair } from "../../engine/rewards/types.ts";
import type { Judged } from "../../protocol/reward.ts";
import { suiteOf } from "./all.ts";
import type { EvalFacts } from "./folder.ts";
import { judgeAnswers, judgeName, judgeSettings, liveVerdicts, newFailures } from "./judged.ts";
import type { ReportCalls } from "./report-calls.ts";
import { answerKey, answerRows, type SuiteRow, type System } from "./run-suite.ts";
import type { Suite, SuiteItem } from "./suite.ts";
import type { AskCalls } from "./suite-ask.ts";
import type { SuiteCalls } from "./suite-calls.ts";
import { chooseSuite, useSuite } from "./suite-store.ts";

const data = () => pluginCalls<SuiteCalls>("data");

let stop = new AbortController();

/** Stops after the answer in progress; all answers are kept. */
export function stopSuite(): void {
  stop.abort();
}

/** Continues an evaluation that was stopped, also by closing the page. @throws LabError as `runSuite` */
export async function continueSuite({ suite, split, part, answers, rows, rowsHash }: EvalFacts): Promise<void> {
  chooseSuite({ suite, split: split ?? "", part: part ?? "all", mode: answers, rows });
  await runSuite(rowsHash);
}

/**
 * Evaluates the chosen suite on the open files with the loaded model, and with the open adapter if there is one.
 * @param expected hash of the rows of the evaluation to continue
 * @throws LabError("cancelled") after `stopSuite`, "bad-input" naming what is missing
 */
export async function runSuite(expected?: string): Promise<void> {
  const { suite: name, split, part, mode, rows: most } = useSuite.getState();
  const suite = suiteOf(name);
  if (suite === undefined) throw new LabError("internal", `There is no suite ${name}`);
  stop = new AbortController();
  const { signal } = stop;
  useSuite.setState({ phase: "opening", report: null, answers: new Map(), done: 0, kept: 0 });
  try {
    const opened = await data().openSuite(name, split === "" ? null : split, part, signal);
    // Another model or adapter may have been opened meanwhile.
    const { model } = useSession.getState();
    const { adapter } = useTry.getState();
    if (model === null) throw badInput("No model is loaded; open a model folder first");
    const items = most === 0 ? opened.items : opened.items.slice(0, most);
    useSuite.setState({ items, leftOut: opened.leftOut });
    if (expected !== undefined && opened.rowsHash !== expected) {
      throw badInput("The open files hold other rows than this evaluation; its answers are kept. Open its files first");
    }
    if (items.length === 0) throw badInput(opened.leftOut[0] ?? "The open files have no row that can be scored");
    const {
      id,
      answers: known,
      looks,
    } = await data().openEvaluation({
      suite: name,
      split: split === "" ? null : split,
      ...(part === "all" ? {} : { part }),
      answers: mode,
      model: { name: model.name, hash: model.hash },
      adapter: adapter === null ? null : { name: adapter.name, hash: adapter.hash },
      rows: items.length,
      rowsHash: opened.rowsHash,
    });
    const answers = new Map(known.map((row) => [answerKey(row.system, row.rowId), row]));
    const systems: readonly System[] = adapter === null ? ["base"] : ["base", "adapter"];
    const keep = async (added: readonly SuiteRow[]): Promise<void> => {
      for (const row of added) answers.set(answerKey(row.system, row.rowId), row);
      await data().keepAnswers(id, added);
    };
    useSuite.setState({ phase: "answering", kept: known.length });
    await answerRows({
      suite,
      items,
      mode,
      systems,
      answers,
      signal,
      keep,
      onProgress: (done) => useSuite.setState({ done }),
      ask: async (system, index, tasks) => {
        const given = await pluginCalls<AskCalls>("trainer").askSuite(system, index, tasks, signal);
        if (useSession.getState().model?.hash === model.hash && useTry.getState().adapter?.hash === adapter?.hash)
          return given;
        throw badInput("The model or the adapter was changed; start the evaluation again");
      },
    });
    useSuite.setState({ phase: "judging" });
    const judge = await judgeSuite(suite, items, systems, answers, keep, signal);
    useSuite.setState({ phase: "scoring" });
    const evaluated = {
      split: split === "" ? undefined : split,
      part,
      looks,
      mode,
      items,
      leftOut: opened.leftOut.length,
      systems,
      judge,
    };
    const report = await pluginCalls<ReportCalls>("reward").suiteReport({ ...evaluated, suite: name }, [
      ...answers.values(),
    ]);
    await data().keepReport(id, report);
    useSuite.setState({ report, answers });
  } finally {
    useSuite.setState({ phase: "idle" });
  }
}

/** Whether the judge of these settings can be shown pictures: a server, and a suite whose published judge sees them. */
export function mayShow(suite: Suite, { judge }: LabConfig): boolean {
  return suite.judgeSees !== undefined && judge !== "off";
}

/**
 * Has the judge of the settings score captions by prepared questions. Returns the judge's name, null without a judge.
 */
async function judgeSuite(
  suite: Suite,
  items: readonly SuiteItem[],
  systems: readonly System[],
  answers: ReadonlyMap<string, SuiteRow>,
  keep: (rows: readonly SuiteRow[]) => Promise<void>,
  signal: AbortSignal,
): Promise<string | null> {
  const { config } = useSession.getState();
  const seen = useSuite.getState().judgePictures && mayShow(suite, config);
  const asked = items.filter(({ questions }) => questions !== undefined);
  if (!suite.judged || config.judge === "off" || asked.length === 0) return null;
  await requireAgreed(config, "The settings of this page", lab().reward.allow, seen);
  const tried = (model: string, captions: readonly CaptionPair[]): Promise<Judged> => {
    const settings = { ...config, ...judgeSettings(asked), judgeModel: model };
    return lab().reward.tryJudge(settings, captions, { rounds: 1, fresh: false }, signal);
  };
  // Without captions no question is sent; the call only returns the judge's model where the settings name none.
  const { judge } = await tried(config.judgeModel, []);
  const name = judgeName(judge, seen);
  const shown = new Map<SuiteItem, Promise<readonly string[]>>();
  const pictures = (item: SuiteItem): Promise<readonly string[]> => {
    const known = shown.get(item) ?? data().judgePictures(suite.name, items.indexOf(item));
    shown.set(item, known);
    return known;
  };
  await judgeAnswers({
    items: asked,
    systems,
    answers,
    judge: name,
    keep,
    ask: (rows) =>
      liveVerdicts(
        {
          // One call, so that the budget of the settings applies to all rows together.
          atOnce: rows.length,
          pictures: seen ? pictures : undefined,
          terms: async (captions) => {
            const terms = (await tried(judge.model, captions)).rounds[0] ?? [];
            for (const message of newFailures(terms, new Set())) addProblem({ code: "network", message });
            return terms;
          },
        },
        rows,
      ),
  });
  return name;
}
