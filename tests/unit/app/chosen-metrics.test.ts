/** Charts of metrics that were picked by name, and their places among the usual ones. */
import { describe, expect, it } from "vitest";
import { metricChart, metricsOf, otherMetrics, withLevels } from "../../../src/app/components/charts/series.ts";
import { arrangeCharts, measuredCharts, ofRun, overviewOf } from "../../../src/app/screens/train/overview.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";

describe("metrics that can be picked", () => {
  it("are those without a chart, by name", () => {
    const usual = metricsOf(overviewOf("rl", 1));
    const logged = ["step", "loop1/reward", "grad_norm", "loss", "ema/distance", "loop2/policy_loss"];
    expect(otherMetrics(logged, usual)).toEqual(["ema/distance", "loop2/policy_loss", "loss"]);
  });

  it("get a chart with loop, unit and digits of the table", () => {
    expect(metricChart("loop2/clip_ratio/low_mean")).toMatchObject({
      title: "Clip ratio low mean",
      picked: "loop2/clip_ratio/low_mean",
      range: [0, 1],
      series: [{ metrics: ["loop2/clip_ratio/low_mean"], label: "loop 2", loop: 2, colour: 1, decimals: "compact" }],
    });
    expect(metricChart("skipped_steps").series[0]).toMatchObject({ label: "steps", loop: null, decimals: 0 });
    expect(metricChart("memory/gpu_bytes_allocated").series[0]).toMatchObject({ decimals: "bytes" });
    expect(metricChart("of its own").series[0]).toMatchObject({ label: "value", decimals: "compact" });
  });
});

describe("charts of the Train screen", () => {
  const usual = overviewOf("rl", 0);
  const ids = (charts: readonly { readonly id: string }[]): string[] => charts.map(({ id }) => id);

  it("stand in full rows, picked ones after the first", () => {
    const [above, below] = arrangeCharts(usual, []);
    expect([above.length, below.length]).toEqual([4, 5]);
    const picked = ["loss", "ema/distance"].map(metricChart);
    const [first, rest] = arrangeCharts(usual, picked);
    expect(ids(first)).toEqual([
      ...ids(usual.slice(0, 4)),
      "metric-loss",
      "metric-ema/distance",
      "masks",
      "zero-spread",
    ]);
    expect(ids(rest)).toEqual(["kl", "gradient", "memory"]);
    for (let count = 0; count < 10; count++) {
      const many = Array.from({ length: count }, (_, at) => metricChart(`loop1/${at}`));
      const [top, bottom] = arrangeCharts(usual, many);
      expect(top.length % 4).toBe(0);
      expect(new Set(ids([...top, ...bottom])).size).toBe(usual.length + count);
    }
  });

  it("leave the gain over the start out of runs that do not measure it", () => {
    const measured = (...names: string[]) => ids(measuredCharts(usual, names)).includes("over-start");
    expect([measured(), measured("loop1/reward", "loop1/reward_over_start"), measured("loop1/reward")]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("have a line for every term in the reward, and no other", () => {
    const lines = (changed: Partial<LabConfig>): readonly string[] | undefined =>
      ofRun(usual, { ...presetConfig("demo"), ...changed })
        .find(({ id }) => id === "terms")
        ?.series.map(({ label, metrics }) => `${label} ${metrics[0]?.replace("/rewards", "").replace("/mean", "")}`);
    expect(lines({})).toEqual(["IoU, loop 1 loop1/iou", "METEOR, loop 2 loop2/meteor"]);
    expect(lines({ loop1Iou: 0, loop1Box: 1, loop1Meteor: 0.5, loop1LeakCost: 0.2 })).toEqual([
      ...[
        "METEOR, loop 1 loop1/meteor",
        "Box IoU, loop 1 loop1/box",
        "Leak cost, loop 1 loop1/leak",
        "METEOR, loop 2 loop2/meteor",
      ],
    ]);
    expect(lines({ loops: "1" })).toEqual(["IoU, loop 1 loop1/iou"]);
    expect(lines({ judge: "questions" })).toEqual([
      "IoU, loop 1 loop1/iou",
      "METEOR, loop 2 loop2/meteor",
      "Judge, loop 2 loop2/judge",
    ]);
  });

  it("show where gradients are clipped", () => {
    const gradient = (norm: number) => overviewOf("rl", norm).find(({ id }) => id === "gradient");
    expect(gradient(0)?.levels).toBeUndefined();
    expect(gradient(0.5)?.levels).toEqual([{ label: "clip", value: 0.5 }]);
  });
});

describe("what moved the weights", () => {
  const config = { ...presetConfig("demo"), gradientReport: 1, loop2Weight: 0.5 };
  const lines = (changed: Partial<LabConfig>): readonly (readonly [string, number])[] => {
    const charts = ofRun([], { ...config, ...changed });
    return charts.flatMap(({ series }) =>
      series.map(({ metrics, colour }) => [(metrics[0] as string).replace("update_share/", ""), colour] as const),
    );
  };
  const names = (changed: Partial<LabConfig>): readonly string[] => lines(changed).map(([name]) => name);

  it("has a line for each term that trains, in the first colours", () => {
    const found = ["loop1/iou", "loop1/penalty", "loop2/meteor", "loop2/penalty", "earlier"];
    expect(lines({})).toEqual(found.map((name, colour) => [name, colour]));
    expect(names({ judge: "questions" })).toContain("loop2/judge");
    expect(names({ loop1RepetitionCost: 1 })).toContain("loop1/repetition");
    expect(names({ gradientReport: 0 })).toEqual([]);
  });

  it("counts METEOR where it takes the judge's weight", () => {
    expect(names({ loop2Meteor: 0, loop2Judge: 1 })).toContain("loop2/meteor");
  });

  it("leaves out a loop of weight 0, which moves nothing", () => {
    expect(names({ loop2Weight: 0 })).toEqual(["loop1/iou", "loop1/penalty", "earlier"]);
  });
});

describe("a level", () => {
  it("is taken into view where it is near, and does not flatten the curve where it is far", () => {
    const at = (value: number) => [{ label: "clip", value }];
    expect(withLevels(0.3, 0.7, at(1))).toEqual([0.3, 1]);
    expect(withLevels(0.3, 0.7, at(0.5))).toEqual([0.3, 0.7]);
    expect(withLevels(0.3, 0.7, at(5))).toEqual([0.3, 0.7]);
    expect(withLevels(2, 5, at(1))).toEqual([1, 5]);
    expect(withLevels(0.3, 0.7, [])).toEqual([0.3, 0.7]);
  });
});
