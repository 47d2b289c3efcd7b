/** The legend of added and left-out words appears only where words are marked. */
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { DiffLegend } from "../../../src/app/components/rollout/reward/caption-diff.tsx";

const legend = (reference: string, text: string): string =>
  renderToStaticMarkup(createElement(DiffLegend, { reference, text }));

it("explains marks of captions that differ", () => {
  expect(legend("a red cup", "a blue cup")).toMatch(/added.*left out/);
});

it("is absent where nothing is marked: equal captions, other case, no caption", () => {
  expect(legend("A red cup.", "a red cup")).toBe("");
  expect(legend("a red cup", " ")).toBe("");
});
