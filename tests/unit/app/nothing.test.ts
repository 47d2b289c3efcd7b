/** What stands where rollouts are missing, where a run cannot resume and where rows can be opened. */
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { Nothing } from "../../../src/app/components/rollout/time-line.tsx";
import type { ViewedRun } from "../../../src/app/components/rollout/use-viewed-run.ts";
import { Resume } from "../../../src/app/components/upload/pickers.tsx";
import { OpenButtons } from "../../../src/app/screens/data/data-bar.tsx";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";

const shown = (mode: "rl" | "sft"): string => {
  const run = { manifest: { config: { mode } }, problem: null, loading: false, live: false, place: "run-1" };
  const props = { run: run as unknown as ViewedRun, loading: false, problem: null, filtered: false };
  return renderToStaticMarkup(createElement(Nothing, props));
};

it("a supervised run leads to its held-out rows, which have masks and captions", () => {
  expect(shown("sft")).toMatch(/href="[^"]*screen=train&amp;tab=held-out[^"]*run=run-1[^"]*">held-out rows</);
  expect(shown("rl")).toContain("This run has no rollouts");
});

it("a run says beside its button what only the user can open", () => {
  const run = { model: { name: "tiny", hash: "tiny" }, data: { name: "real", rows: 1 } } as unknown as RunManifest;
  expect(renderToStaticMarkup(createElement(Resume, { run }))).toMatch(
    /<small[^>]*>This run was trained on tiny; open that model&#x27;s folder first<\/small>/,
  );
});

it("each set of rows of the page is offered once", () => {
  const buttons = renderToStaticMarkup(createElement(OpenButtons, { demo: true })).matchAll(/Use ([a-z ]+)/g);
  expect([...buttons].map(([, name]) => name)).toEqual(["demo shard", "demo clips"]);
});
