import { describe, expect, it } from "vitest";
import { EVAL_METRICS, type EvalReport, type Interval } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { curveSvg, variantCurves } from "../../../src/plugins/sweep/curve-svg.ts";
import type { VariantResult } from "../../../src/plugins/sweep/results.ts";

const all = <T>(value: T) => Object.fromEntries(EVAL_METRICS.map((metric) => [metric, value])) as Record<never, T>;

function report(step: number, difference: Interval | null): EvalReport {
  return {
    step,
    n: 64,
    means: all(0.5),
    ci: all([0.4, 0.6] as const),
    difference: difference === null ? null : all(difference),
  } as EvalReport;
}

const run = (name: string, gain: number) => ({
  name,
  evaluations: [
    report(0, null),
    report(10, { mean: gain / 2, low: gain / 2 - 0.02, high: gain / 2 + 0.02 }),
    report(20, { mean: gain, low: gain - 0.03, high: gain + 0.03 }),
  ],
});

/** y of every point of every run's line, panel by panel. */
function heights(svg: string): number[][] {
  return [...svg.matchAll(/<polyline points="([^"]+)"/g)].map(([, points]) =>
    (points as string).split(" ").map((point) => Number(point.split(",")[1])),
  );
}

describe("the picture of evaluations", () => {
  it("has a panel a metric, a line a run, and higher points for larger gains", () => {
    const svg = curveSvg([run("one", 0.12), run("two", -0.04)]);
    const lines = heights(svg);
    expect(lines).toHaveLength(2 * EVAL_METRICS.length);
    for (const [at, line] of lines.entries()) {
      const [start, middle, end] = line as [number, number, number];
      if (at % 2 === 0) expect(start > middle && middle > end).toBe(true);
      else expect(start < middle && middle < end).toBe(true);
    }
    // All lines begin where their run began, at no difference.
    expect(new Set(lines.map(([start]) => start)).size).toBe(1);
    expect(svg.match(/stroke-opacity="0.5"/g)).toHaveLength(2 * EVAL_METRICS.length);
    expect(svg).toContain("mask to caption, METEOR");
  });

  it("shares one scale, keeps whiskers inside it and escapes names", () => {
    const svg = curveSvg([run("a < b & c", 0.4)]);
    expect(svg).toContain("a &lt; b &amp; c");
    const whiskers = [...svg.matchAll(/y1="([\d.-]+)" y2="([\d.-]+)" stroke="#0b5cad" stroke-opacity/g)];
    for (const [, low, high] of whiskers) {
      expect(Number(high)).toBeGreaterThanOrEqual(30);
      expect(Number(low)).toBeGreaterThan(Number(high));
    }
    expect(whiskers).toHaveLength(EVAL_METRICS.length);
  });

  it("tells more runs apart than it has colours, in the panel and in the legend", () => {
    const count = 9;
    const svg = curveSvg(
      Array.from({ length: count }, (_, at) => run(`run ${at}`, at / 10)),
      ["loop1_greedy"],
    );
    const styles = (tag: string): string[] =>
      [...svg.matchAll(new RegExp(`<${tag} [^>]*stroke-width="2"[^>]*>`, "g"))].map(([drawn]) =>
        [...drawn.matchAll(/ stroke(?:-dasharray)?="[^"]+"/g)].join(""),
      );
    for (const tag of ["polyline", "line"]) {
      expect(styles(tag)).toHaveLength(count);
      expect(new Set(styles(tag)).size, tag).toBe(count);
    }
    expect(styles("polyline")).toEqual(styles("line"));
  });

  it("of a run that has only begun is empty, not broken", () => {
    const svg = curveSvg([{ name: "new", evaluations: [report(0, null)] }]);
    expect(svg).not.toContain("NaN");
    expect(heights(svg)).toHaveLength(EVAL_METRICS.length);
  });

  it("of variants has means over seeds and the interval over seeds at the end, in the panels that are asked for", () => {
    const all = { mean: 0.2, low: 0.1, high: 0.3 };
    const results = [
      { variant: "both", jobs: [run("a", 0.1), run("b", 0.3)], metrics: { loop1_greedy: { all, seeds: [] } } },
    ] as unknown as VariantResult[];
    const [curve] = variantCurves(results);
    expect(curve?.evaluations.map(({ step }) => step)).toEqual([0, 10, 20]);
    expect(curve?.evaluations[0]?.difference).toBeNull();
    expect(curve?.evaluations[1]?.difference?.loop1_greedy?.mean).toBeCloseTo(0.1, 12);
    expect(curve?.evaluations[2]?.difference?.loop1_greedy).toEqual(all);
    expect(curve?.evaluations[2]?.difference?.grounding_iou?.mean).toBeCloseTo(0.2, 12);
    const svg = curveSvg(variantCurves(results), ["loop1_greedy", "grounding_iou"]);
    expect(heights(svg)).toHaveLength(2);
    expect(svg).toContain('viewBox="0 0 600 ');
  });
});
