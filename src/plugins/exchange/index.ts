import type { Plugin } from "../plugin.ts";

export const plugin = {
  name: "exchange",
  exports: { coco: "COCO results" },
} as const satisfies Plugin;
