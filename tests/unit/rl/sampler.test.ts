import { describe, expect, it } from "vitest";
import { uniform } from "../../../src/engine/gpu/random.ts";
import {
  checkSampler,
  FULL_SAMPLING,
  greedyToken,
  inverseCdf,
  processRow,
  sampleToken,
} from "../../../src/engine/policy/decode/sampler.ts";

const LOGITS = Float32Array.from([0.5, -1, 2, 0.1, -40, 35]);

describe("the token sampler", () => {
  it("draws with the probabilities it reports", () => {
    const logits = Float32Array.from([0, 1, -1, 0.5]);
    const key = { seed: 1, step: 0, loop: 1, row: 0, rollout: 0, position: 0, stream: 0 };
    const uniforms = Array.from({ length: 20_000 }, (_, position) => uniform({ ...key, position }));
    const counts = [0, 0, 0, 0];
    for (const u of uniforms) {
      const { id } = sampleToken(logits, FULL_SAMPLING, [], u);
      counts[id] = (counts[id] ?? 0) + 1;
    }
    processRow(logits, FULL_SAMPLING).probabilities.forEach((p, i) => {
      expect((counts[i] as number) / 20_000).toBeCloseTo(p, 1);
      expect(Math.abs((counts[i] as number) / 20_000 - p)).toBeLessThan(0.02);
    });
  });

  it("without truncation the behaviour is the full distribution", () => {
    const token = sampleToken(LOGITS, FULL_SAMPLING, [], 0.3);
    expect(token.logpBehaviour).toBeCloseTo(token.logpFull, 12);
    expect(token.guardedCount).toBe(2);
  });

  it("log-prob and entropy are those of the guarded, tempered softmax", () => {
    const settings = { ...FULL_SAMPLING, guard: 3, temperature: 0.7, topP: 0.9 };
    const token = sampleToken(LOGITS, settings, [], 0.3);
    const logps = processRow(LOGITS, { ...FULL_SAMPLING, guard: 3, temperature: 0.7 }).probabilities.map(Math.log);
    expect(token.logpFull).toBeCloseTo(logps[token.id] as number, 12);
    expect(token.entropy).toBeCloseTo(-logps.reduce((sum, lp) => sum + Math.exp(lp) * lp, 0), 12);
  });

  it("truncation changes the behaviour, not the full log-prob", () => {
    const settings = { ...FULL_SAMPLING, guard: Number.POSITIVE_INFINITY, topK: 2, temperature: 10 };
    const token = sampleToken(LOGITS, settings, [], 0.001);
    expect(token.id).toBe(2);
    expect([...processRow(LOGITS, settings).kept].filter(Boolean)).toHaveLength(2);
    expect(token.logpBehaviour).toBeGreaterThan(token.logpFull);
  });

  it("counts NaN, never draws it and leaves the full log-prob NaN", () => {
    const token = sampleToken([Number.NaN, 1, 0], FULL_SAMPLING, [], 0);
    expect(token.id).toBe(1);
    expect(token.logpFull).toBeNaN();
    expect(token.entropy).toBeNaN();
    expect(sampleToken([Number.NaN, Number.NaN], FULL_SAMPLING, [], 0.5)).toMatchObject({
      id: -1,
    });
  });

  it("guards infinities and counts them", () => {
    const token = sampleToken([Number.POSITIVE_INFINITY, 0, Number.NEGATIVE_INFINITY], FULL_SAMPLING, [], 0.5);
    expect(token).toMatchObject({ id: 0, guardedCount: 2 });
    expect(token.logpFull).toBeCloseTo(0, 10);
  });

  it("takes the last possible index when the running sum ends below the uniform", () => {
    expect(inverseCdf([0.5, 0.4999999, 0], 0.99999999)).toBe(1);
    expect(inverseCdf([0, 0], 0.5)).toBe(-1);
  });

  it("greedy takes the first of equal tokens and applies the repetition penalty", () => {
    expect(greedyToken([1, 3, 3], FULL_SAMPLING).id).toBe(1);
    expect(greedyToken([1, 3, 2.9], { ...FULL_SAMPLING, repetitionPenalty: 2 }, [1]).id).toBe(2);
    expect(greedyToken([1, 3, 2.9], FULL_SAMPLING).logpBehaviour).toBe(0);
  });

  it("greedy takes the largest logit, however many the guard makes equal", () => {
    expect(greedyToken([31, 45, 40], FULL_SAMPLING).id).toBe(1);
    expect(greedyToken([-50, -45, -31], FULL_SAMPLING).id).toBe(2);
    expect(greedyToken([31, Number.POSITIVE_INFINITY, Number.NaN], FULL_SAMPLING).id).toBe(1);
    expect(greedyToken([31, 45, 40], { ...FULL_SAMPLING, repetitionPenalty: 2 }, [1]).id).toBe(2);
    expect(greedyToken([Number.NaN], FULL_SAMPLING).id).toBe(-1);
  });

  it("refuses settings out of range by name", () => {
    expect(() => checkSampler({ ...FULL_SAMPLING, temperature: 0 })).toThrow(/temperature/);
    expect(() => checkSampler({ ...FULL_SAMPLING, topP: 1.5 })).toThrow(/topP/);
    expect(() => checkSampler({ ...FULL_SAMPLING, topK: 1.5 })).toThrow(/topK/);
    expect(() => checkSampler(FULL_SAMPLING)).not.toThrow();
  });
});
