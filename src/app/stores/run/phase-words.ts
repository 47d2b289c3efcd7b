import type { Phase } from "../../../engine/rl/run/events.ts";

/** Present-participle labels of the phases. */
export const PHASE_WORDS: Readonly<Record<Phase, string>> = {
  sample: "drawing rows",
  features: "encoding pictures",
  generate: "generating",
  partner: "partner answers",
  reward: "scoring",
  advantage: "advantages",
  loss: "loss and backward",
  update: "updating",
  ema: "EMA",
  log: "logging",
  eval: "evaluating",
  checkpoint: "saving",
};
