/** Display names of the exports that need no base checkpoint; a proof needs the rows of the run. */
export const RUN_EXPORTS = {
  report: "Report (one HTML file)",
  peft: "Adapter of the policy (PEFT)",
  "peft-ema": "Adapter of the partner (PEFT)",
  csv: "Tables (CSV) and pictures",
  tfevents: "TensorBoard events",
  trl: "For TRL",
  sa2va: "For Sa2VA's own code",
  proof: "Proof for PyTorch",
} as const;

export type RunExport = keyof typeof RUN_EXPORTS;
