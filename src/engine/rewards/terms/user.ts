import type { TermSpec } from "./spec.ts";

/** The value of the custom reward, which the scorer computes in a sandbox. */
export const USER = {
  name: "user",
  label: "Custom reward",
  help: "The function on the Rewards screen",
} as const satisfies TermSpec;
