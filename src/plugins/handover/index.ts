import type { Plugin } from "../plugin.ts";

export const plugin = {
  name: "handover",
  exports: {
    trl: "For TRL",
    sa2va: "For Sa2VA's own code",
    "scale-out": "For many GPUs (Python)",
    proof: "Proof for PyTorch",
  },
} as const satisfies Plugin;
