/** A judge for the tools: its options, its key from the environment, and its replies next to the runs. */
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { memoryCache, type ReplyCache } from "../../../src/engine/rewards/judge/cache.ts";
import { timerClock } from "../../../src/engine/rewards/judge/providers/caller.ts";
import type { JudgeHost } from "../../../src/engine/rewards/judge/setup.ts";
import { judgeJitter } from "../../../src/engine/rl/run/run-judge.ts";
import { judgeCache } from "../../../src/engine/runs/judge-cache.ts";
import type { RunStore } from "../../../src/engine/storage/store.ts";
import { one, type Parsed } from "../arguments.ts";
import { CONSENT_OPTIONS, type NodeConsent } from "./node-consent.ts";
import { readTextFile } from "./node-files.ts";

export const JUDGE_OPTIONS = {
  judge: { takes: 1 },
  "judge-model": { takes: 1 },
  "judge-kind": { takes: 1 },
  "judge-questions": { takes: 1 },
  ...CONSENT_OPTIONS,
} as const;

/**
 * Settings for the judge options: `--judge URL` switches the question judge on, `--judge-questions FILE` the DLC-style
 * one; `--judge-kind questions|dlc` selects the kind.
 * @throws LabError("bad-input") when the file cannot be read
 */
export function judgeFlags(parsed: Parsed, before: Pick<LabConfig, "judge">): Record<string, unknown> {
  const url = one(parsed, "judge");
  const file = one(parsed, "judge-questions");
  const kind = one(parsed, "judge-kind");
  const model = one(parsed, "judge-model");
  const named = kind ?? (file !== undefined ? "dlc" : before.judge === "off" ? "questions" : before.judge);
  return {
    ...(url === undefined ? {} : { judgeUrl: url, judge: named }),
    ...(url === undefined && kind !== undefined ? { judge: kind } : {}),
    ...(model === undefined ? {} : { judgeModel: model }),
    ...(file === undefined ? {} : { judgeWritten: readTextFile(file) }),
  };
}

/** @param store stores replies; without one they last as long as the tool */
export function nodeJudgeHost(store: RunStore | null, consent: NodeConsent, say: (text: string) => void): JudgeHost {
  let cache: Promise<ReplyCache> | undefined;
  return {
    key: consent.key,
    allows: consent.judge,
    fetch,
    clock: timerClock(() => Date.now()),
    jitter: judgeJitter(0),
    cache: () => {
      cache ??=
        store === null
          ? Promise.resolve(memoryCache())
          : judgeCache(store, (thrown) => {
              say(`The judge's replies are kept in memory only: ${thrown instanceof Error ? thrown.message : thrown}`);
            });
      return cache;
    },
  };
}
