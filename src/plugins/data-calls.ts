/** Calls of plug-ins that the data worker serves. */
import type { DataPlace, ServedAt } from "../protocol/plugin-calls.ts";
import { compareCalls } from "./compare/compare-calls.ts";
import { completionCalls } from "./exchange/trl-completions.ts";
import { hubCalls } from "./hub/hub-calls.ts";
import { boardCalls } from "./leaderboard/board-calls.ts";
import { rolloutCalls } from "./reward-bench/rollout-calls.ts";
import { runAddressCalls } from "./run-address/address-store.ts";
import { suiteCalls } from "./suites/suite-calls.ts";

export const DATA_CALLS: readonly ServedAt<DataPlace>[] = [
  boardCalls,
  compareCalls,
  completionCalls,
  hubCalls,
  rolloutCalls,
  runAddressCalls,
  suiteCalls,
];
