import type { Plugin } from "../plugin.ts";

export const plugin = {
  name: "report",
  exports: { report: "Report (one HTML file)" },
} as const satisfies Plugin;
