/** Tests of the judge on fixed pairs, on a pair of the user, and on pairs of a run. */
import { create } from "zustand";
import { lab } from "../../app/clients/lab.ts";
import { agreedSettings } from "../../app/clients/run/start-run.ts";
import { jobKind, startJob, useRunning } from "../../app/stores/jobs.ts";
import { useSession } from "../../app/stores/session.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import type { QuestionCounts } from "../../engine/rewards/judge/questions/question-set.ts";
import type { CaptionPair } from "../../engine/rewards/types.ts";
import type { Judged } from "../../protocol/reward.ts";
import { TEST_PAIRS, TEST_QUESTIONS, type TestPair } from "./test-pairs.ts";

export interface TestResult extends Judged {
  readonly pairs: readonly TestPair[];
  /** Settings of the test. */
  readonly url: string;
}

export interface Calibration extends Judged {
  readonly pairs: readonly CaptionPair[];
}

/** A pair entered by the user, with its verdict. */
export interface PairVerdict extends Judged {
  /** Unique in the page. */
  readonly id: number;
  readonly pair: CaptionPair;
  /** Settings of the test. */
  readonly url: string;
  readonly counts: QuestionCounts;
}

interface Workshop {
  /** Models that the server lists; null before they are asked for. */
  readonly models: readonly string[] | null;
  readonly test: TestResult | null;
  readonly calibration: Calibration | null;
  /** The pair being edited. */
  readonly draft: CaptionPair;
  /** Newest first. */
  readonly verdicts: readonly PairVerdict[];
}

export const useWorkshop = create<Workshop>()(() => ({
  models: null,
  test: null,
  calibration: null,
  draft: { reference: "", hypothesis: "" },
  verdicts: [],
}));

/** A test of the judge, by its name. */
export const JUDGE_TEST = jobKind<string>("judge test");

/** Why the judge cannot be tried now; null when it can. */
export function useTryBlocker(): string | null {
  const url = useSession((session) => session.config.judgeUrl);
  const busy = useRunning(JUDGE_TEST) !== null;
  if (busy) return "Another test is in progress";
  return url === "" ? "Set the judge's address first" : null;
}

/** One test of the judge, which replaces the one in progress. @param what name of the test */
async function trying(what: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  try {
    await startJob(JUDGE_TEST, what, async (signal) => {
      await agreedSettings();
      await work(signal);
    });
  } catch {
    // The job keeps the error, which is shown beside the test.
  }
}

export function listJudgeModels(): Promise<void> {
  return trying("models", async (signal) => {
    useWorkshop.setState({ models: await lab().reward.judgeModels(useSession.getState().config, signal) });
  });
}

/** Settings for a test of the judge, also while it is off. */
const tried = (config: LabConfig): LabConfig => ({
  ...config,
  judge: config.judge === "off" ? "questions" : config.judge,
});

/** Tests the real prompts on three fixed pairs, without the cache. */
export function testJudge(): Promise<void> {
  const { config } = useSession.getState();
  useWorkshop.setState({ test: null });
  return trying("test", async (signal) => {
    const judged = await lab().reward.tryJudge(
      { ...tried(config), judgeWritten: TEST_QUESTIONS },
      TEST_PAIRS,
      { rounds: 1, fresh: true },
      signal,
    );
    useWorkshop.setState({ test: { ...judged, pairs: TEST_PAIRS, url: config.judgeUrl } });
  });
}

/** Verdicts that stay on the screen. */
const KEPT = 12;
let nextVerdict = 1;

/** Scores the pair that the user wrote, without the cache. */
export function judgePair(): Promise<void> {
  const { config } = useSession.getState();
  const { draft: pair } = useWorkshop.getState();
  return trying("pair", async (signal) => {
    const judged = await lab().reward.tryJudge(tried(config), [pair], { rounds: 1, fresh: true }, signal);
    const counts = { positives: config.judgePositives, negatives: config.judgeNegatives };
    const verdict = { ...judged, id: nextVerdict++, pair, url: config.judgeUrl, counts };
    useWorkshop.setState(({ verdicts }) => ({ verdicts: [verdict, ...verdicts].slice(0, KEPT) }));
  });
}

/** Scores every pair several times, without the cache. */
export function calibrateJudge(pairs: readonly CaptionPair[], rounds: number): Promise<void> {
  const { config } = useSession.getState();
  useWorkshop.setState({ calibration: null });
  return trying("calibration", async (signal) => {
    const judged = await lab().reward.tryJudge(tried(config), pairs, { rounds, fresh: true }, signal);
    useWorkshop.setState({ calibration: { ...judged, pairs } });
  });
}
