import { describe, expect, it } from "vitest";
import { moved, ordered } from "../../../src/app/components/charts/chart-grid.tsx";
import { joinSources } from "../../../src/app/components/charts/joined-source.ts";
import { alongAxis, axisText } from "../../../src/app/components/charts/plot/axis.ts";
import { bandOver, innerLimits, rollingBand, windowOf } from "../../../src/app/components/charts/plot/bands.ts";
import { chartSvg, type SvgChart } from "../../../src/app/components/charts/plot/chart-svg.ts";
import { limits } from "../../../src/app/components/charts/plot/plot.ts";
import { ticksOf } from "../../../src/app/components/charts/plot/plot-svg.ts";
import { nonFinitePlaces, smooth } from "../../../src/app/components/charts/plot/smoothing.ts";
import { describeSeries } from "../../../src/app/components/charts/plot/summary.ts";
import { lowerBound, thinIndices } from "../../../src/app/components/charts/plot/thin.ts";
import { MetricStore } from "../../../src/app/stores/run/metrics.ts";
import { compact, fixed, formatBytes, formatSeconds, NONE, percent, signed } from "../../../src/app/styles/format.ts";

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
    expect(limits(-2e-8, 2e-8, { ...share, range: undefined })[1]).toBeLessThan(1e-7);
  });
});

describe("thinning", () => {
  const long = Float64Array.from({ length: 10_000 }, (_, at) => Math.sin(at / 300));

  it("draws every point when there is room", () => {
    expect(thinIndices([[1, 2, 3]], 0, 3, 100)).toBeNull();
  });

  it("keeps a spike of a single point, both ends and the order", () => {
    const spiked = long.slice();
    spiked[4321] = 50;
    spiked[77] = -50;
    const kept = thinIndices([spiked], 0, spiked.length, 200);
    expect(kept).not.toBeNull();
    const indices = [...(kept ?? [])];
    expect(indices).toContain(4321);
    expect(indices).toContain(77);
    expect(indices[0]).toBe(0);
    expect(indices.at(-1)).toBe(9999);
    expect(indices).toEqual([...new Set(indices)].sort((a, b) => a - b));
    expect(indices.length).toBeLessThanOrEqual(2 * 200 + 2);
  });

  it("keeps the extremes of every series that shares the steps", () => {
    const other = long.slice();
    other[5555] = 9;
    expect([...(thinIndices([long, other], 0, long.length, 100) ?? [])]).toContain(5555);
  });

  it("leaves a trace of a gap", () => {
    const gap = long.slice();
    gap.fill(Number.NaN, 3000, 3500);
    const kept = [...(thinIndices([gap], 0, gap.length, 200) ?? [])];
    expect(kept.some((at) => at >= 3000 && at < 3500)).toBe(true);
  });

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

describe("bands and outliers", () => {
  it("are the extremes of the values behind a smoothed one", () => {
    expect([windowOf(0), windowOf(0.5), windowOf(0.9)]).toEqual([1, 2, 10]);
    const values = [3, 1, Number.NaN, 4, 1, 5, 9, 2, 6];
    const { low, high } = rollingBand(values, 3);
    // The slow way: the last three finite values at each place.
    const last = values.map((value, at) => {
      const finite = values.slice(0, at + 1).filter((one) => Number.isFinite(one));
      return Number.isFinite(value) ? finite.slice(-3) : [Number.NaN];
    });
    expect([...low]).toEqual(last.map((three) => Math.min(...three)));
    expect([...high]).toEqual(last.map((three) => Math.max(...three)));
  });

  it("span runs, straight between the points of each and not beyond its ends", () => {
    const { low, high } = bandOver(
      [0, 1, 2, 4],
      [
        [0, Number.NaN, Number.NaN, 8],
        [Number.NaN, 5, 1, Number.NaN],
      ],
    );
    expect([[...low], [...high]]).toEqual([
      [0, 2, 1, 8],
      [0, 5, 4, 8],
    ]);
  });

  it("leave a spike out of the limits, but no step of an ordinary curve", () => {
    const ordinary = Array.from({ length: 40 }, (_, at) => 1 + at / 40);
    expect(innerLimits(ordinary)).toEqual([1, 1 + 39 / 40]);
    const [low, high] = innerLimits([...ordinary, 900, Number.NaN]) ?? [];
    expect(low).toBe(1);
    expect(high).toBeLessThan(10);
    expect(innerLimits([0, 0, 0, 0, 0, 0, 0, 0, 0, 1])).toEqual([0, 1]);
    expect(innerLimits([Number.NaN])).toBeNull();
  });
});

describe("the order of charts", () => {
  const charts = ["a", "b", "c"].map((id) => ({ id, title: id, series: [] }));
  it("is that of the address, new charts last", () => {
    expect(ordered(charts, null).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(ordered(charts, ["c", "a"]).map(({ id }) => id)).toEqual(["c", "a", "b"]);
  });

  it("moves one within the list", () => {
    expect([moved(["a", "b", "c"], "b", -1), moved(["a", "b", "c"], "b", 1), moved(["a", "b"], "b", 1)]).toEqual([
      ["b", "a", "c"],
      ["a", "c", "b"],
      ["a", "b"],
    ]);
  });
});

describe("a chart as SVG", () => {
  const line = { colour: "#0050D0", dash: [], width: 2, right: false, named: true };
  const chart: SvgChart = {
    title: "Loss <1>",
    xName: "Steps",
    xs: [0, 5, 10],
    x: { min: 0, max: 10, ticks: [{ at: 5, text: "5" }] },
    y: { min: 0, max: 1, ticks: [{ at: 0, text: "0" }] },
    right: null,
    lines: [
      { ...line, label: "a & b", values: [0, 1, 0.5] },
      { ...line, label: "gap", values: [0, null, 1] },
      { ...line, label: "sparse", values: [0, undefined, 1] },
    ],
    bands: [{ colour: "#0050D0", right: false, low: [0, 0, 0], high: [1, 1, 1] }],
  };

  it("draws every point at its place, breaks a line at a value that is NaN, and only there", () => {
    const paths = [...chartSvg(chart).matchAll(/<path d="([^"]*)" stroke=/g)].map((found) => found[1]);
    // The plot is 562 pixels wide from 58 and 258 high from 58.
    expect(paths).toEqual(["M58.0 316.0L339.0 58.0L620.0 187.0", "M58.0 316.0M620.0 58.0", "M58.0 316.0L620.0 58.0"]);
  });

  it("has labels on a logarithmic scale, however little of it is drawn", () => {
    const places = (min: number, max: number) => ticksOf(min, max, true, null, String).map(({ at }) => at);
    expect(places(0.5, 2000)).toEqual([1, 10, 100, 1000]);
    expect(places(0.0013, 0.0068)).toEqual([0.002, 0.005]);
    expect(places(0.8, 3)).toEqual([1, 2]);
    expect(places(2.1, 4.9)).toEqual([3, 4]);
    expect(places(0.95, 1.05)).toEqual([1]);
  });

  it("escapes words and names axis, lines and band", () => {
    const text = chartSvg(chart);
    expect(text).toMatch(/<title>Loss &lt;1&gt;<\/title>/);
    for (const found of [">a &amp; b<", ">Steps<", 'fill-opacity="0.16"']) expect(text).toContain(found);
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
    expect([signed(0.62, 2), signed(-1.6, 1), signed(0.001, 2)]).toEqual(["+0.62", "−1.6", "0.00"]);
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
