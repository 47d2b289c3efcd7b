/** Captions that are longer than the model's context, and captions that spell its tokens, in both places they train. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tf } from "../../../src/engine/gpu/tf.ts";
import type { Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { contextTokens } from "../../../src/engine/policy/fit-caption.ts";
import { segmentPrompt } from "../../../src/engine/policy/prompts.ts";
import { watchAlarms } from "../../../src/engine/rl/run/alarms.ts";
import { dataCaptionObservations } from "../../../src/engine/rl/step/metrics/rollout-metrics.ts";
import { sftBatch } from "../../../src/plugins/supervised/batch.ts";
import { disposeTiny, type TinySft, tinySft } from "../../support/tiny-sft.ts";

let tiny: TinySft;
let model: Sa2vaModel;
beforeAll(async () => {
  await tf.setBackend("cpu");
  tiny = await tinySft();
  const { config } = tiny.model;
  model = { ...tiny.model, config: { ...config, language: { ...config.language, maxPositions: 220 } } };
});
afterAll(() => disposeTiny(tiny));

const WORDS = Array.from({ length: 2400 }, (_, at) => `word${at % 7} größe`).join(" ");

describe("a caption beyond the context", () => {
  it("is cut at a word, as far as it fits, as the phrase of the mask task", () => {
    const prompt = segmentPrompt(model, { tiles: 1 }, WORDS);
    expect(prompt.cut).toBe(true);
    expect(prompt.forcedIds.length).toBeLessThanOrEqual(220);
    expect(prompt.forcedIds.length).toBeGreaterThan(180);
    expect(prompt.text).toMatch(/Please segment word0 größe .* (word\d|größe) in this image\./);
    expect(prompt.forcedIds.at(-1)).toBe(model.tokenizer.special.seg);
  });

  it("leaves one that fits as it was", () => {
    expect(segmentPrompt(model, { tiles: 1 }, "the red car")).toEqual(
      segmentPrompt(tiny.model, { tiles: 1 }, "the red car"),
    );
    expect(segmentPrompt(model, { tiles: 1 }, "the red car").cut).toBe(false);
  });

  it("is cut as a supervised answer, which still ends", () => {
    const [region] = tiny.regions;
    const long = { ...region!, caption: WORDS, phrase: "a car" };
    const batch = sftBatch(model, { tiles: 1 }, [[long]]);
    expect(batch.cut).toBe(1);
    expect(batch.prefix.length + batch.caption.length).toBeLessThanOrEqual(220);
    const labels = batch.caption.labels[0]?.filter((_, at) => batch.caption.labelled[0]?.[at] === 1) ?? [];
    expect(labels.length).toBeGreaterThan(40);
    expect(labels.at(-1)).toBe(model.tokenizer.special.eos);
    expect(model.tokenizer.decode(labels)).toMatch(/^word0 größe word1/);
  });

  it.each([
    ["one endless word", "x".repeat(3_000_000)],
    ["letters of two halves", "🙂".repeat(200_000)],
    ["white space", " \n".repeat(500_000)],
  ])("ends at once for %s", (_, text) => {
    const prompt = segmentPrompt(model, { tiles: 1 }, text);
    expect(prompt.forcedIds.length).toBeLessThanOrEqual(220);
    expect(prompt.cut).toBe(text.trim() !== "");
    expect(prompt.full).not.toContain("\ufffd");
  });

  it("keeps the published recipe's length where the context is longer", () => {
    const { config } = tiny.model;
    const language = { ...config.language, maxPositions: 32_768 };
    expect(contextTokens({ config: { ...config, language } })).toBe(8192);
  });

  it("is counted and told once", () => {
    const alarms = watchAlarms([]);
    const update = { stepped: true, nonFinite: [] };
    const told = (row: Record<string, number>) =>
      alarms.observe(1, row, update).map(({ id, message }) => `${id}: ${message}`);
    const fine = dataCaptionObservations(model, "a car", false);
    const both = dataCaptionObservations(model, "a [SEG] car", true);
    expect([Object.values(fine), Object.values(both)]).toEqual([
      [0, 0],
      [1, 1],
    ]);
    expect(told({ "loop2/captions/cut": 0, "loop2/captions/spell_tokens": 0 })).toEqual([]);
    expect(told({ "loop2/captions/cut": 0.25, "sft/captions/spell_tokens": 1 })).toEqual([
      expect.stringMatching(
        /^captions-cut: 25 % of this step's captions are too long for the model's context, so their ends are cut/,
      ),
      expect.stringMatching(/^captions-tokens: 100 % of this step's captions spell/),
    ]);
    expect(told({ "loop2/captions/cut": 0.25, "sft/captions/spell_tokens": 1 })).toEqual([]);
  });
});
