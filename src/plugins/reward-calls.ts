/** Calls of plug-ins that the reward worker serves. */
import type { RewardPlace, ServedAt } from "../protocol/plugin-calls.ts";
import { reportCalls } from "./suites/report-calls.ts";

export const REWARD_CALLS: readonly ServedAt<RewardPlace>[] = [reportCalls];
