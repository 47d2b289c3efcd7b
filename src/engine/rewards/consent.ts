/**
 * What settings make a lab send out or run. Settings come from files, addresses and runs of others, so a judge is asked
 * and a custom reward runs only after a person named it or agreed to it.
 */
import * as z from "zod/mini";
import type { LabConfig } from "../config/table.ts";
import { LabError, plainLine } from "../errors.ts";
import { parseEndpoint } from "./judge/providers/endpoint.ts";
import { rewardHash } from "./user/hash.ts";
import type { UserRewards } from "./user/user-rewards.ts";

/** Stands for a judge whose model is fetched into the browser. */
export const TAB_MODEL = "a model in this tab";

/** What was agreed to, as it is remembered. */
export const ALLOWED = z.object({
  judges: z.readonly(z.array(z.string())),
  rewards: z.readonly(z.array(z.string())),
  hubs: z.readonly(z.array(z.string())),
});

export interface Consent {
  /** Whether the judge at a place may be asked; see judgePlace. */
  readonly judge: (place: string) => boolean;
  /** Whether the custom reward with this hash may run. */
  readonly reward: (hash: string) => boolean;
}

/** What settings reach for, whether or not they use it. */
export interface Reach {
  /** Where captions would go; null for nowhere. */
  readonly judge: string | null;
  /** The function that would run; null without one. */
  readonly reward: { readonly hash: string; readonly code: string } | null;
}

type JudgeSettings = Pick<LabConfig, "judgeProvider" | "judgeUrl">;

/** Where a judge of these settings would be: the origin of a server, TAB_MODEL, or null for nowhere outside the browser. */
export function judgePlace({ judgeProvider, judgeUrl }: JudgeSettings): string | null {
  if (judgeProvider === "webllm") return TAB_MODEL;
  return judgeProvider === "chrome" ? null : originOf(judgeUrl);
}

/** The origin of a server's address; null when it is none. */
export function originOf(address: string): string | null {
  try {
    return new URL(parseEndpoint(address).place).origin;
  } catch (thrown) {
    // No address: nothing can be sent, and opening the judge reports the error.
    if (thrown instanceof LabError) return null;
    throw thrown;
  }
}

/** What these settings reach for. */
export async function reachOf(config: JudgeSettings & Pick<LabConfig, "userReward">): Promise<Reach> {
  const hash = await rewardHash(config.userReward);
  return { judge: judgePlace(config), reward: hash === "" ? null : { hash, code: config.userReward } };
}

/** The parts without consent. */
export function openQuestions({ judge, reward }: Reach, consent: Consent): Reach {
  return {
    judge: judge === null || consent.judge(judge) ? null : judge,
    reward: reward === null || consent.reward(reward.hash) ? null : reward,
  };
}

/** Custom rewards of which only those run that somebody agreed to. */
export function consentedRewards(user: UserRewards, consent: Consent): UserRewards {
  return {
    async run(plan, group, terms) {
      if (consent.reward(await rewardHash(plan.code))) return user.run(plan, group, terms);
      throw new LabError("held", "The custom reward came with settings that are not confirmed yet; it was not run", {
        subject: "userReward",
      });
    },
  };
}

/** A foreign source as it can be shown: indented as it was, without control characters or marks that turn the text around. */
export function sourceLines(code: string): readonly string[] {
  return code.split(/\r?\n/).map((line) => {
    const indent = Math.min(40, line.length - line.trimStart().length);
    return `${" ".repeat(indent)}${plainLine(line)}`;
  });
}
