import { describe, expect, it } from "vitest";
import { limits } from "../../../src/app/components/charts/plot.ts";
import {
  alongAxis,
  axisText,
  describeSeries,
  lowerBound,
  nonFinitePlaces,
  smooth,
  tickText,
} from "../../../src/app/components/charts/series.ts";
import { MetricStore } from "../../../src/app/stores/run/metrics.ts";
import { compact, fixed, formatBytes, formatSeconds, NONE, percent, signed } from "../../../src/app/styles/format.ts";
import { joinSources } from "../../../src/plugins/compare/join-sources.ts";

describe("smoothing", () => {
  it("starts at the first value and corrects the bias of a start at 0", () => {
    const [first, second] = smooth([4, 8], 0.5);
    expect(first).toBeCloseTo(4, 12);
    // m = 0.5·2 + 0.5·8 = 5, divided by 1 - 0.25.
    expect(second).toBeCloseTo(5 / 0.75, 12);
  });

  it("leaves values alone at weight 0 and constant series at every weight", () => {
    expect([...smooth([1, 5, 2], 0)]).toEqual([1, 5, 2]);
    expect([...smooth([0.1, Number.NaN, 0.1], 0.99)]).toEqual([0.1, Number.NaN, 0.1]);
  });

  it("skips values that are not finite without letting them into the mean", () => {
    const dirty = smooth([1, Number.NaN, 3, Infinity, 5], 0.6);
    const clean = smooth([1, 3, 5], 0.6);
    expect([dirty[0], dirty[2], dirty[4]]).toEqual([...clean]);
    expect(dirty[1]).toBeNaN();
    expect(dirty[3]).toBe(Infinity);
  });

  it("never takes a weight of 1, which would stand still", () => {
    expect(smooth([0, 10], 1)[1]).toBeGreaterThan(0);
  });

  it("tells a gap from a value that is NaN", () => {
    expect(nonFinitePlaces([1, Number.NaN, Number.NaN, Infinity], (at) => at === 1)).toEqual([2, 3]);
  });
});

describe("limits of an axis", () => {
  const share = { logarithmic: false, levels: [], range: [0, 0.1] } as const;

  it("are the chart's range where values differ by rounding only, and the values' own otherwise", () => {
    expect(limits(-2.4e-8, 5.9e-8, share)).toEqual([0, 0.1]);
    expect(limits(0.1, 0.1, share)).toEqual([0, 0.1]);
    const [low, high] = limits(0, 0.001, share);
    expect([low, high]).toEqual([0, expect.closeTo(0.00108, 12)]);
    expect(limits(0.25, 0.25, share)).toEqual([0.225, 0.25]);
    // A constant rate is drawn near its value, not on an axis that reaches below 0.
    expect(limits(0.001, 0.001, { ...share, range: undefined })).toEqual([0.0009, 0.0011]);
    expect(limits(-2e-8, 2e-8, { ...share, range: undefined })[1]).toBeLessThan(1e-7);
  });
});

describe("steps on an axis", () => {
  it("finds the first step from a value on", () => {
    expect([0, 2, 3, 9].map((x) => lowerBound([2, 4, 8], x))).toEqual([0, 0, 1, 3]);
  });
});

describe("the axis of a curve", () => {
  const store = new MetricStore();
  store.append(1, { step_time: 2, epoch: 0.5, loss: 3 });
  store.append(3, { step_time: 4, epoch: 1, loss: 2 });

  it("is the steps, the sum of their times, or the rows that were drawn", () => {
    expect(Array.from(alongAxis(store, "step", 10).xs)).toEqual([1, 3]);
    expect(Array.from(alongAxis(store, "time", 10).xs)).toEqual([2, 6]);
    expect(Array.from(alongAxis(store, "samples", 10).xs)).toEqual([5, 10]);
    const times = [0.5, 20, 60, 90, 3600].map((seconds) => axisText("time", seconds));
    expect(times).toEqual(["0.5 s", "20 s", "1 min", "1 min 30 s", "1 h"]);
    expect([axisText("samples", 12), axisText("step", 1.5)]).toEqual(["12", ""]);
  });

  it("labels ticks with all their digits, so that none stands where another number belongs", () => {
    const ticks = [0, 0.0125, -0.0025, 12.5, 1250, 12_500, 2_500_000, 0.1 + 0.2, 0.00012, 2.5e-5, null];
    const labels = ["0", "0.0125", "−0.0025", "12.5", "1250", "12.5K", "2.5M", "0.3", "0.00012", "2.5e−5", ""];
    expect(ticks.map((value) => tickText(value, false))).toEqual(labels);
    const bytes = [0, 950, 8_250_000, 1_250_000_000].map((value) => tickText(value, true));
    expect(bytes).toEqual(["0 B", "950 B", "8.25 MB", "1.25 GB"]);
  });

  it("has no points where the run does not say them", () => {
    const none = alongAxis(store, "samples", 0);
    expect([none.steps.length, none.xs.length, none.column("loss").length]).toEqual([0, 0, 0]);
  });

  it("puts runs of other speeds side by side, each step where it was done", () => {
    const slow = new MetricStore();
    slow.append(1, { step_time: 5, loss: 9 });
    const joined = joinSources([
      { id: "a", source: alongAxis(store, "time", 0) },
      { id: "b", source: alongAxis(slow, "time", 0) },
    ]);
    expect([Array.from(joined.xs), Array.from(joined.steps)]).toEqual([
      [2, 5, 6],
      [1, 1, 3],
    ]);
    expect(Array.from(joined.column("b loss"))).toEqual([Number.NaN, 9, Number.NaN]);
  });
});

describe("numbers", () => {
  it("shows missing as a dash and keeps what is not finite", () => {
    expect([fixed(null, 2), fixed(undefined, 2), fixed(Number.NaN, 2), fixed(-Infinity, 2)]).toEqual([
      NONE,
      NONE,
      "NaN",
      "−∞",
    ]);
  });

  it("has fixed decimals, a true minus and no minus zero", () => {
    expect([fixed(0.5, 3), fixed(-1.25, 1), fixed(-0.0001, 2)]).toEqual(["0.500", "−1.3", "0.00"]);
    expect([signed(0.62, 2), signed(-1.6, 1), signed(0.001, 2)]).toEqual(["+0.62", "−1.6", "±0.00"]);
  });

  it("shortens what is far from 1", () => {
    expect([compact(2e-5), compact(0), compact(0.25), compact(123.4), compact(1.5e9)]).toEqual([
      "2.0e−5",
      "0",
      "0.250",
      "123",
      "1.5e9",
    ]);
  });

  it("names amounts, shares and times", () => {
    expect([formatBytes(999), formatBytes(1500), formatBytes(2.1e9), formatBytes(null)]).toEqual([
      "999 B",
      "1.5 kB",
      "2.1 GB",
      NONE,
    ]);
    expect([percent(0.124), percent(null)]).toEqual(["12 %", NONE]);
    expect([formatSeconds(0.421), formatSeconds(12.34), formatSeconds(125), formatSeconds(4030)]).toEqual([
      "421 ms",
      "12.3 s",
      "2 min 05 s",
      "1 h 07 min",
    ]);
  });
});

describe("summary of a curve", () => {
  it("says where it goes and how far it ranges, without what is not finite", () => {
    expect(describeSeries("reward", [1, 2, 3], [0.25, Number.NaN, 0.5])).toBe(
      "reward rises to 0.500 from 0.250 between steps 1 and 3, range 0.250 to 0.500",
    );
  });

  it("has words for nothing and for one point", () => {
    expect(describeSeries("kl", [1], [Number.NaN])).toBe("kl has no values");
    expect(describeSeries("kl", [7], [2])).toBe("kl is 2.00 at step 7");
  });
});
