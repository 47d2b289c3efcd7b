/**
 * Consent to the judges and custom rewards that settings name. Settings come from files, addresses and other people's
 * runs, so a judge is called and a custom reward runs only after the user named it or agreed to it.
 */
import * as z from "zod/mini";
import type { LabConfig } from "../config/table.ts";
import { LabError, plainLine } from "../errors.ts";
import { parseEndpoint } from "./judge/providers/endpoint.ts";
import { rewardHash } from "./user/hash.ts";
import type { UserRewards } from "./user/watched.ts";

/** Stored consent. */
export const ALLOWED = z.object({
  judges: z.readonly(z.array(z.string())),
  rewards: z.readonly(z.array(z.string())),
  hubs: z.readonly(z.array(z.string())),
  pictures: z.readonly(z.array(z.string())),
});

export interface Consent {
  /** Whether the judge at a place may be called; see originOf. */
  readonly judge: (place: string) => boolean;
  /** Whether the custom reward with this hash may run. */
  readonly reward: (hash: string) => boolean;
}

/** The judge and function that settings name, even if they do not use them. */
export interface Reach {
  /** Place that captions would be sent to; null for none. */
  readonly judge: string | null;
  /** The custom reward that would run; null if there is none. */
  readonly reward: { readonly hash: string; readonly code: string } | null;
}

/** The origin of a server's address; null for an invalid one. */
export function originOf(address: string): string | null {
  try {
    return new URL(parseEndpoint(address).place).origin;
  } catch (thrown) {
    // Not an address, so nothing can be sent; opening the judge reports the error.
    if (thrown instanceof LabError) return null;
    throw thrown;
  }
}

/** The judge and function that these settings name. */
export async function reachOf(config: Pick<LabConfig, "judgeUrl" | "userReward">): Promise<Reach> {
  const hash = await rewardHash(config.userReward);
  return { judge: originOf(config.judgeUrl), reward: hash === "" ? null : { hash, code: config.userReward } };
}

/** The parts without consent. */
export function openQuestions({ judge, reward }: Reach, consent: Consent): Reach {
  return {
    judge: judge === null || consent.judge(judge) ? null : judge,
    reward: reward === null || consent.reward(reward.hash) ? null : reward,
  };
}

/** Runs only custom rewards that have consent. */
export function consentedRewards(user: UserRewards, consent: Consent): UserRewards {
  return {
    check: async (plan) => (consent.reward(await rewardHash(plan.code)) ? user.check(plan) : null),
    async run(plan, group, terms) {
      if (consent.reward(await rewardHash(plan.code))) return user.run(plan, group, terms);
      throw new LabError("held", "The custom reward came with settings that are not confirmed yet; it was not run", {
        subject: "userReward",
      });
    },
  };
}

/** Untrusted source code for display: keeps indentation, removes control characters and bidirectional marks. */
export function sourceLines(code: string): readonly string[] {
  return code.split(/\r?\n/).map((line) => {
    const indent = Math.min(40, line.length - line.trimStart().length);
    return `${" ".repeat(indent)}${plainLine(line)}`;
  });
}
