import type { TermSpec } from "./spec.ts";

/** The judge's verdict, which the scorer requests. */
export const JUDGE = {
  name: "judge",
  label: "Judge",
  help: "Score of the judge. Without a judge, METEOR takes its weight",
} as const satisfies TermSpec;
