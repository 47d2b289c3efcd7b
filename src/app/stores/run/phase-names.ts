import type { Phase } from "../../../engine/rl/run/events.ts";

/** Short names of the phases, in their order. */
export const PHASE_NAMES: Readonly<Record<Phase, string>> = {
  sample: "draw rows",
  features: "encode pictures",
  generate: "generate",
  partner: "partner answers",
  reward: "compute rewards",
  advantage: "compute advantages",
  loss: "loss and backward",
  update: "update the policy",
  ema: "update the partner",
  log: "write the log",
  eval: "evaluate",
  checkpoint: "save a checkpoint",
};
