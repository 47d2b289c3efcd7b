/** Calls of plug-ins that the trainer serves. */
import type { ServedAt, TrainerPlace } from "../protocol/plugin-calls.ts";
import { cardCalls } from "./card/card-calls.ts";
import { clipCalls } from "./clips/clip-calls.ts";
import { diagnosticsCalls } from "./diagnostics/diagnostics-calls.ts";
import { forkCalls } from "./fork/fork-calls.ts";
import { benchCalls } from "./reward-bench/bench-calls.ts";
import { recomputeCalls } from "./rollout-tools/recompute-calls.ts";
import { evaluationCalls } from "./run-details/evaluation-calls.ts";
import { askCalls } from "./suites/suite-ask.ts";
import { tryCalls } from "./try-out/try-calls.ts";
import { tunerCalls } from "./tuner/tuner-calls.ts";

export const TRAINER_CALLS: readonly ServedAt<TrainerPlace>[] = [
  benchCalls,
  cardCalls,
  clipCalls,
  diagnosticsCalls,
  forkCalls,
  recomputeCalls,
  evaluationCalls,
  askCalls,
  tryCalls,
  tunerCalls,
];
