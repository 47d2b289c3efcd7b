/** The placeholders for missing rollouts. */
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { Nothing } from "../../../src/app/components/rollout/time-line.tsx";
import type { ViewedRun } from "../../../src/app/components/rollout/use-viewed-run.ts";

const shown = (mode: "rl" | "sft"): string => {
  const run = { manifest: { config: { mode } }, problem: null, loading: false, live: false, place: "run-1" };
  const props = { run: run as unknown as ViewedRun, loading: false, problem: null, filtered: false };
  return renderToStaticMarkup(createElement(Nothing, props));
};

it("a supervised run leads to its held-out rows, which have masks and captions", () => {
  expect(shown("sft")).toMatch(/href="[^"]*screen=train&amp;tab=held-out[^"]*run=run-1[^"]*">held-out rows</);
  expect(shown("rl")).toContain("This run has no rollouts");
});
