import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { JudgeWords } from "../../../src/app/frame/consent-dialog.tsx";

test("the question about a judge names pictures where they would be sent", () => {
  const said = (pictures: boolean): string =>
    renderToStaticMarkup(createElement(JudgeWords, { source: "A", place: "https://judge.example", pictures }));
  expect(said(false)).toContain("those the model writes would be sent to");
  expect(said(false)).toContain("No pictures and no key are sent");
  expect(said(true)).toContain("and pictures of your rows with their masks, would be sent to");
  expect(said(true)).toContain("No key is sent");
});
