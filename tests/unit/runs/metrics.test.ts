import { expect, test } from "vitest";
import { describeMetric, METRICS, withAliases } from "../../../src/engine/runs/metrics/metric-table.ts";

test("every row is found under its own name and no name has two rows", () => {
  for (const row of METRICS) {
    const concrete = row.name.replace("loopK", "loop2").replace(/<[a-z]+>/, "mlp1");
    expect(describeMetric(concrete)?.pattern, concrete).toBe(row.name);
    expect(row.meaning, row.name).not.toMatch(/\.$/);
  }
  expect(new Set(METRICS.map((row) => row.name)).size).toBe(METRICS.length);
});

test("patterns match loops, terms and blocks with slashes at the end only", () => {
  expect(describeMetric("loop1/rewards/iou/mean")).toMatchObject({ loop: 1, pattern: "loopK/rewards/<term>/mean" });
  expect(describeMetric("grad_norm/language_model/layers.0")?.pattern).toBe("grad_norm/<block>");
  expect(describeMetric("loop2/kl")).toMatchObject({ loop: 2, alias: "loop2/kl_div", name: "loop2/kl" });
  expect(describeMetric("loss")?.loop).toBeNull();
  for (const name of ["loop9/kl", "loopK/kl", "xloss", "loop1/rewards/iou", "judge/nothing"]) {
    expect(describeMetric(name), name).toBeUndefined();
  }
});

test("exports repeat values under the notes' names", () => {
  expect(Object.entries(withAliases({ step: 1, loss: 2, "loop1/reward": Number.NaN }))).toEqual([
    ["step", 1],
    ["loss", 2],
    ["loop1/reward", Number.NaN],
    ["total_loss", 2],
    ["loop1/reward_mean", Number.NaN],
  ]);
});
