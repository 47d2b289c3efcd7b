/** What rows ask of a model: words of its vocabulary, and captions within its limit. */
import { expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import { rowWarnings } from "../../../src/engine/session/row-warnings.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";

const pocket = await openTokenizer(await nodeFolder("public/pocket/model"));
const bytes = await openTokenizer(await nodeFolder("tests/golden/sa2va-tiny-qwen2"));
const demo = presetConfig("demo");
const DRAWN = ["the big blue butterfly", "the green hat at the bottom left"];
const PHOTOGRAPHS = ["A herring gull stands on one leg beside a wooden railing, its head turned towards the harbour"];

it("captions of the pocket world need nothing", () => {
  expect(rowWarnings(pocket, DRAWN, demo)).toEqual([]);
  expect(rowWarnings(pocket, [], demo)).toEqual([]);
});

it("words without a token ask for another model, and only for that", () => {
  const warnings = rowWarnings(pocket, PHOTOGRAPHS, demo);
  expect(warnings).toEqual([{ sentence: expect.stringMatching(/^The model has no tokens for "/), remedy: "model" }]);
  // One unknown name in ten words is none.
  const rare = [...Array.from({ length: 9 }, () => "the blue butterfly"), "the zeppelin"];
  expect(rowWarnings(pocket, rare, demo)).toEqual([]);
});

it("quotes whole words, of which the vocabulary may hold a part", () => {
  const captions = ["the blue-and-white bird’s harbour-master", "a gull on a leg."];
  const [warning] = rowWarnings(pocket, captions, demo);
  expect(warning?.sentence).toMatch(
    /no tokens for "bird’s", "harbour-master", "gull" and 1 more word of these captions:/,
  );
});

it("a vocabulary of bytes has every word, but longer captions than the limit need a longer one", () => {
  const [warning] = rowWarnings(bytes, PHOTOGRAPHS, demo);
  expect(warning?.sentence).toMatch(/^Captions of these rows have \d+ to \d+ tokens, but the model may write 12: /);
  const values = typeof warning?.remedy === "object" ? warning.remedy.values : {};
  const length = bytes.encode(PHOTOGRAPHS[0] ?? "").length;
  expect(values).toEqual({ maxCompletionLength: length + 1, partnerMaxTokens: length + 1 });
  expect(rowWarnings(bytes, PHOTOGRAPHS, { ...demo, ...values })).toEqual([]);
});
