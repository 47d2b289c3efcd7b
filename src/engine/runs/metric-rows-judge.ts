import { row } from "./metric-rows.ts";
import type { Metric } from "./metric-table.ts";

/** The judge over both loops; absent in steps without one. */
export const JUDGE_ROWS: readonly Metric[] = [
  row("judge/verdicts", "Captions of the step that the judge gave a score", "", "captions", "All of them", 0),
  row(
    "judge/failures",
    "Captions without a verdict after all repeats; they are missing, never 0",
    "",
    "captions",
    "0; one is in the rollout's reward tab with its reason",
    0,
    { better: "down" },
  ),
  row("judge/calls", "Requests sent to the judge, repeats included", "", "calls", "Below the budget", 0),
  row(
    "judge/cache_hits",
    "Verdicts that were known already and cost no call",
    "",
    "captions",
    "Grows as captions repeat; all of them when a run is done again",
    0,
  ),
  row(
    "judge/latency_ms",
    "Mean time of a request to the judge, waiting in line left out",
    "Σ time / calls",
    "ms",
    "Steady; times the calls of a step it should stay below the step's own time",
    0,
    { better: "down" },
  ),
  row("judge/cost", "Price of the step's requests at the prices that were set", "", "currency of the prices", "", 6),
];
