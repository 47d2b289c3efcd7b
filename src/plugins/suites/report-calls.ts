/** Scores an evaluation of a suite on the reward worker, which holds the WordNet table. */
import { LabError } from "../../engine/errors.ts";
import type { RewardPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import { suiteOf } from "./all.ts";
import { type Evaluated, type SuiteReport, suiteReport } from "./report.ts";
import { answerKey, type SuiteRow } from "./run-suite.ts";

/** An evaluation with the name of its suite. */
type EvaluatedSuite = Omit<Evaluated, "suite"> & { readonly suite: string };

export const reportCalls = (place: () => Promise<RewardPlace>) => ({
  /** Scores of an evaluation, with METEOR; it does not touch runs. */
  async suiteReport({ suite: name, ...evaluated }: EvaluatedSuite, rows: readonly SuiteRow[]): Promise<SuiteReport> {
    const { meteor } = await place();
    const suite = suiteOf(name);
    if (suite === undefined) throw new LabError("internal", `There is no suite ${name}`);
    const answers = new Map(rows.map((row) => [answerKey(row.system, row.rowId), row]));
    const tools = { meteor: (reference: string, caption: string) => meteor.score(reference, caption).score };
    return suiteReport({ ...evaluated, suite }, answers, tools);
  },
});

export type ReportCalls = CallsOf<typeof reportCalls>;
