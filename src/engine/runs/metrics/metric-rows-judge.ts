import { type Metric, row } from "./metric.ts";

/** The judge over both loops; absent in steps without one. */
export const JUDGE_ROWS: readonly Metric[] = [
  row("judge/verdicts", "Captions with a judge score", "", "captions", "All captions", 0),
  row(
    "judge/failures",
    "Captions without a judge score after all retries; they count as missing, never as 0",
    "",
    "captions",
    "0. The reward tab of the rollout shows the reason",
    0,
    { better: "down" },
  ),
  row("judge/calls", "Requests sent to the judge, including retries", "", "calls", "Below the budget", 0),
  row(
    "judge/cache_hits",
    "Judge scores from the cache",
    "",
    "captions",
    "Grows as captions repeat; in a repeated run it equals the number of captions",
    0,
  ),
  row(
    "judge/latency_ms",
    "Mean time of a judge request, without queueing",
    "Σ time / calls",
    "ms",
    "Stable; multiplied by the requests per step it stays below the step time",
    0,
    { better: "down" },
  ),
  row("judge/cost", "Cost of the step's requests at the prices in the settings", "", "currency of the prices", "", 6),
];
