import type { Plugin } from "../plugin.ts";

export const plugin = {
  name: "exchange",
  exports: { "trl-completions": "Completions as TRL logs them (Parquet)", trackio: "trackio", coco: "COCO results" },
} as const satisfies Plugin;
