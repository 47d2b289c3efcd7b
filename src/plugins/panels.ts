/** The panels of plug-ins. Each is loaded when it is first shown, so that it costs nothing before. */
import { lazy } from "react";
import type { PluginPanel } from "../app/components/place/page-plugin.ts";

export const PANELS: readonly PluginPanel[] = [
  { plugin: "clips", at: "frames", Panel: lazy(() => import("./clips/clip-player.tsx")) },
  { plugin: "clips", at: "clip", Panel: lazy(() => import("./clips/follow-panel.tsx")) },
  { plugin: "compare", at: "run-curves", Panel: lazy(() => import("./compare/run-charts.tsx")) },
  { plugin: "compare", at: "compare", Panel: lazy(() => import("./compare/comparison.tsx")) },
  { plugin: "hub", at: "model", Panel: lazy(() => import("./hub/address-form.tsx")) },
  { plugin: "judge-workshop", at: "judge", Panel: lazy(() => import("./judge-workshop/workshop-panels.tsx")) },
  { plugin: "whole-run", at: "whole-run", Panel: lazy(() => import("./whole-run/across-view.tsx")) },
  { plugin: "reward-bench", at: "rewards", Panel: lazy(() => import("./reward-bench/bench-panel.tsx")) },
  { plugin: "reward-bench", at: "trial", Panel: lazy(() => import("./reward-bench/trial-panel.tsx")) },
  { plugin: "run-address", at: "open-run", Panel: lazy(() => import("./run-address/open-address.tsx")) },
  { plugin: "leaderboard", at: "runs", Panel: lazy(() => import("./leaderboard/leaderboard-panel.tsx")) },
  { plugin: "exchange", at: "runs", Panel: lazy(() => import("./exchange/completions-panel.tsx")) },
  { plugin: "whole-run", at: "rollout-table", Panel: lazy(() => import("./whole-run/rollout-table.tsx")) },
  { plugin: "whole-run", at: "rewards-of", Panel: lazy(() => import("./whole-run/reward-histogram.tsx")) },
  { plugin: "suites", at: "held-out", Panel: lazy(() => import("./suites/held-out-tables.tsx")) },
  { plugin: "suites", at: "suites", Panel: lazy(() => import("./suites/suite-screen.tsx")) },
  { plugin: "suites", at: "stopped-work", Panel: lazy(() => import("./suites/stopped-suites.tsx")) },
  { plugin: "rollout-tools", at: "actions", Panel: lazy(() => import("./rollout-tools/action-strip.tsx")) },
  { plugin: "rollout-tools", at: "reward", Panel: lazy(() => import("./rollout-tools/reward-details.tsx")) },
  { plugin: "rollout-tools", at: "rollout", Panel: lazy(() => import("./rollout-tools/more.tsx")) },
  { plugin: "tuner", at: "tools", Panel: lazy(() => import("./tuner/tuning-panel.tsx")) },
  { plugin: "card", at: "tools", Panel: lazy(() => import("./card/card-panel.tsx")) },
  { plugin: "diagnostics", at: "self-test", Panel: lazy(() => import("./diagnostics/self-test-panel.tsx")) },
  { plugin: "diagnostics", at: "memory", Panel: lazy(() => import("./diagnostics/memory-panel.tsx")) },
  { plugin: "diagnostics", at: "fit", Panel: lazy(() => import("./diagnostics/fit-table.tsx")) },
  {
    plugin: "diagnostics",
    at: "browser",
    Panel: lazy(async () => ({ default: (await import("./diagnostics/page-panels.tsx")).PagePanel })),
  },
  {
    plugin: "diagnostics",
    at: "log",
    Panel: lazy(async () => ({ default: (await import("./diagnostics/page-panels.tsx")).LogPanel })),
  },
  {
    plugin: "diagnostics",
    at: "report",
    Panel: lazy(async () => ({ default: (await import("./diagnostics/page-panels.tsx")).CopyReport })),
  },
  { plugin: "data-tools", at: "row-filter", Panel: lazy(() => import("./data-tools/row-histograms.tsx")) },
  { plugin: "data-tools", at: "data-files", Panel: lazy(() => import("./data-tools/data-files.tsx")) },
  { plugin: "try-out", at: "row", Panel: lazy(() => import("./try-out/try-out.tsx")) },
];
