/** Calls of plug-ins that the data worker serves. */
import type { DataPlace, ServedAt } from "../protocol/plugin-calls.ts";
import { rolloutCalls } from "./reward-bench/rollout-calls.ts";

export const DATA_CALLS: readonly ServedAt<DataPlace, unknown>[] = [rolloutCalls];
