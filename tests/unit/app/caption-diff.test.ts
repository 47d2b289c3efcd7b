/** Marks of added and left-out words, and their legend, which appears only where words are marked. */
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it, vi } from "vitest";

import CaptionDifference, {
  type DiffWord,
  diffWords,
  MarkedWords,
} from "../../../src/plugins/rollout-tools/caption-difference.tsx";

const shown = (text: string, reference: string): string =>
  renderToStaticMarkup(createElement(CaptionDifference, { name: "Caption", text, reference }));

it("shows a caption as it was said, and offers its difference to the reference", () => {
  expect(shown("a blue cup", "a red cup")).toMatch(/<p[^>]*>a blue cup<\/p>/);
  expect(shown("a blue cup", "a red cup")).toMatch(/<button[^>]*aria-pressed="false"[^>]*>Difference</);
});

it("offers no difference where nothing would be marked: equal captions, other case, no caption, little in common", () => {
  const long =
    "a tall patio umbrella that is closed and tied made of tan canvas hanging in long vertical folds over a table";
  for (const [text, reference] of [
    ["a red cup", "A red cup."],
    [" ", "a red cup"],
    ["the black dog at the top", long],
  ] as const) {
    expect(shown(text, reference)).not.toContain("Difference");
  }
  expect(shown(`${long} outside`, long)).toContain("Difference");
});

it("marks added and left-out words, and says which marks are which", () => {
  const marked = (text: string, reference: string): string =>
    renderToStaticMarkup(createElement(MarkedWords, { words: diffWords(reference, text) }));
  expect(marked("a cat outside", "a cat")).toMatch(/<ins[^>]*>outside<\/ins>/);
  expect(marked("a cat", "the orange cat on the right")).toMatch(/<del[^>]*>orange<\/del>/);
  expect(marked("a cat", "a dog")).toMatch(/added.*left out/);
});

const told = (diff: readonly DiffWord[]): string =>
  diff.map(({ kind, text }) => `${{ same: "", added: "+", removed: "-" }[kind]}${text}`).join(" ");

it("marks the fewest words between the common start and end", () => {
  expect(told(diffWords("a red cup on the table", "A blue cup near the table"))).toBe(
    "A -red +blue cup -on +near the table",
  );
  expect(told(diffWords("a cup", "a a cup"))).toBe("a +a cup");
  expect(told(diffWords("a b a b", "a b"))).toBe("a b -a -b");
  expect(told(diffWords("", "cup"))).toBe("+cup");
});

it("marks texts of 10,000 words as a whole, apart from their common start and end, without a table of all pairs", () => {
  const long = (word: string): string => `start ${Array.from({ length: 10_000 }, (_, at) => word + at).join(" ")} end`;
  const table = vi.spyOn(globalThis, "Uint32Array");
  const diff = diffWords(long("x"), long("y"));
  expect(table).not.toHaveBeenCalled();
  table.mockRestore();
  expect([diff.length, diff[0]?.kind, diff[1]?.kind, diff.at(-2)?.kind, diff.at(-1)?.kind]).toEqual([
    ...[20_002, "same", "removed", "added", "same"],
  ]);
});
