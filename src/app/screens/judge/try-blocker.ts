/** Why the judge cannot be tested now. */
import type { LabConfig } from "../../../engine/config/table.ts";
import { webllmModel } from "../../../engine/rewards/judge/providers/webllm-model.ts";
import { useJudge } from "../../stores/judge.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";

type JudgeChoice = Pick<LabConfig, "judge" | "judgeProvider" | "judgeUrl" | "judgeModel">;

/**
 * Why a test cannot start; null when it can.
 * @param busy another test is in progress
 * @param running settings of the run in progress; null without one
 */
export function tryBlocker(config: JudgeChoice, busy: boolean, running: JudgeChoice | null): string | null {
  if (busy) return "Another test is in progress";
  if (config.judgeProvider === "server" && config.judgeUrl === "") return "Set the judge's address first";
  if (running === null || running.judge === "off") return null;
  const held = webllmModel(running.judgeModel);
  const [own, other] = [running.judgeProvider === "webllm", config.judgeProvider === "webllm"];
  if (!own || !other || webllmModel(config.judgeModel) === held) return null;
  return `The run in progress uses ${held} in this tab; another model would replace it`;
}

/** The same for the settings and the run of this page. */
export function useTryBlocker(): string | null {
  const config = useSession((session) => session.config);
  const busy = useJudge((state) => state.busy !== null);
  const running = useRun((run) => (isActive(run.state) ? (run.manifest?.config ?? null) : null));
  return tryBlocker(config, busy, running);
}
