import { describe, expect, it } from "vitest";
import { fillMetrics, forgetMetrics, MetricStore, metricStore } from "../../../src/app/stores/run/metrics.ts";
import { sourceCsv } from "../../../src/plugins/chart-tools/source-csv.ts";

describe("MetricStore", () => {
  it("tells a missing value from a NaN", () => {
    const store = new MetricStore();
    store.append(1, { loss: 0.5 });
    store.append(2, { loss: Number.NaN, reward: 0.25 });
    expect([...store.steps]).toEqual([1, 2]);
    expect([...store.column("loss")]).toEqual([0.5, Number.NaN]);
    expect(store.isMissing("loss", 1)).toBe(false);
    expect([...store.column("reward")]).toEqual([Number.NaN, 0.25]);
    expect(store.isMissing("reward", 0)).toBe(true);
    expect(store.latest("loss")).toBeNaN();
    expect(store.latest("nothing")).toBeNull();
  });

  it("is saved as CSV, a row per step", () => {
    const store = new MetricStore();
    store.append(1, { loss: 0.5 });
    store.append(2, { loss: Number.NaN, reward: 0.25 });
    expect(sourceCsv(store)).toBe("step,loss,reward\n1,0.5,\n2,NaN,0.25\n");
  });

  it("drops what a resumed run does again", () => {
    const store = new MetricStore();
    for (let step = 1; step <= 10; step++) store.append(step, { loss: step, old: 1 });
    store.append(6, { loss: 60 });
    expect([...store.steps]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(store.column("loss")[5]).toBe(60);
    expect(store.isMissing("old", 5)).toBe(true);
    // From the moment it resumes, not from its first step on.
    store.keepTo(4);
    expect([...store.steps]).toEqual([1, 2, 3, 4]);
    store.keepTo(0);
    expect(store.length).toBe(0);
  });

  it("keeps all values past its first capacity and tells listeners once per load", () => {
    const store = new MetricStore();
    let told = 0;
    const stop = store.subscribe(() => told++);
    store.load(Array.from({ length: 1000 }, (_, index) => ({ step: index, metrics: { loss: index / 2 } })));
    expect(told).toBe(1);
    stop();
    store.append(1000, { late: 1 });
    expect(told).toBe(1);
    expect(store.column("loss")[999]).toBe(499.5);
    expect(store.isMissing("late", 999)).toBe(true);
    expect(store.column("late")[1000]).toBe(1);
  });
});

describe("the metrics of a stored run", () => {
  const folder = (to: number) => Array.from({ length: to }, (_, at) => ({ step: at + 1, loss: at + 1 }));
  const filled = (held: readonly number[], to: number): readonly number[] => {
    for (const step of held) metricStore("run").append(step, { loss: 10 * step });
    fillMetrics("run", folder(to));
    const losses = [...metricStore("run").column("loss")];
    forgetMetrics("run");
    return losses;
  };

  it("fill in front of the steps that a resumed run has taken here", () => {
    expect(filled([4, 5], 4)).toEqual([1, 2, 3, 4, 50]);
    expect(filled([4, 5], 3)).toEqual([1, 2, 3, 40, 50]);
  });

  it("fill a gap of steps that another tab has taken", () => {
    expect(filled([1, 2, 5], 4)).toEqual([1, 2, 3, 4, 50]);
  });

  it("fill nothing where no step is missing", () => {
    expect(filled([], 2)).toEqual([1, 2]);
    expect(filled([1, 2, 3], 2)).toEqual([10, 20, 30]);
  });
});
