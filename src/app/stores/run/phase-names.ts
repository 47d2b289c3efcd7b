import type { Phase } from "../../../engine/rl/run/events.ts";

/** Short names of the phases, in their order. */
export const PHASE_NAMES: Readonly<Record<Phase, string>> = {
  sample: "draw rows",
  features: "encode pictures",
  generate: "generate",
  partner: "EMA partner",
  reward: "reward",
  advantage: "advantage",
  loss: "loss and backward",
  update: "update",
  ema: "EMA",
  log: "log",
  eval: "evaluation",
  checkpoint: "checkpoint",
};
