/** A judge on a scripted server, with a clock that runs twenty times as fast. */
import { memoryCache, type ReplyCache } from "../../src/engine/rewards/judge/cache.ts";
import { type CaptionJudge, captionJudge, type JudgeSettings } from "../../src/engine/rewards/judge/judge.ts";
import type { JudgeKind } from "../../src/engine/rewards/judge/judge-kind.ts";
import { type Clock, timerClock } from "../../src/engine/rewards/judge/providers/caller.ts";
import { serverProvider } from "../../src/engine/rewards/judge/providers/openai.ts";
import { dlcJudge, questionJudge } from "../../src/engine/rewards/judge/questions/judges.ts";
import { DEFAULT_PROMPTS, promptVersion } from "../../src/engine/rewards/judge/questions/prompts.ts";
import { parseQuestionFile } from "../../src/engine/rewards/judge/questions/question-set.ts";

const FAST = 20;

export interface FastClock extends Clock {
  /** Milliseconds of every requested wait. */
  readonly waits: number[];
}

export function fastClock(): FastClock {
  const began = Date.now();
  const now = (): number => began + (Date.now() - began) * FAST;
  const clock = timerClock(now);
  const waits: number[] = [];
  return {
    waits,
    now,
    sleep: (milliseconds, signal) => {
      waits.push(milliseconds);
      return clock.sleep(milliseconds / FAST, signal);
    },
  };
}

export const version = await promptVersion(DEFAULT_PROMPTS);

/** Questions that do not depend on a model. */
export const WRITTEN = JSON.stringify([
  {
    questions: [
      {
        type: "recognition",
        question: 'Is it likely that the object is a "car" or something similar?',
        choices: [
          ["Yes", "correct"],
          ["No", "incorrect"],
        ],
      },
      {
        type: "positive",
        question: "Which of the following is applicable?",
        choices: [
          ['"red" is not mentioned', 0],
          ['"red" is mentioned', 1],
        ],
      },
      {
        type: "negative",
        question: "Which of the following is applicable?",
        choices: [
          ['"wings" is not mentioned', 1],
          ['"wings" is mentioned', -1],
        ],
      },
    ],
  },
]);

export interface TestJudge extends CaptionJudge {
  readonly clock: FastClock;
  readonly cache: ReplyCache;
}

export interface JudgeChanges extends Partial<Omit<JudgeSettings, "budget">> {
  readonly calls?: number;
  readonly cost?: number;
  readonly cache?: ReplyCache;
  readonly key?: string;
  readonly model?: string;
  readonly dlc?: boolean;
}

export function testJudge(url: string, changes: JudgeChanges = {}): TestJudge {
  const { calls = 0, cost = 0, cache = memoryCache(), key = "", model = "reader-1", dlc = false, ...rest } = changes;
  const clock = fastClock();
  const kind: JudgeKind = dlc
    ? dlcJudge({ prompts: DEFAULT_PROMPTS, written: parseQuestionFile("written.json", WRITTEN) })
    : questionJudge({ prompts: DEFAULT_PROMPTS, positives: 4, negatives: 2, maxTokens: 500 });
  const judge = captionJudge(
    {
      // A minute of real time: only a server that hangs is too slow, however busy the machine.
      timeout: 1_200_000,
      retries: 3,
      parallel: 4,
      range: "raw",
      version,
      budget: { calls, cost, promptPrice: 1000, completionPrice: 1000 },
      ...rest,
    },
    {
      provider: serverProvider({ url, model, key: () => key }, { fetch, now: clock.now }),
      kind,
      cache,
      clock,
      jitter: () => 0.5,
    },
  );
  return { terms: judge.terms, spent: judge.spent, clock, cache };
}
