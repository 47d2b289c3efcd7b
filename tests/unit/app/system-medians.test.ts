import { describe, expect, it } from "vitest";
import { phaseRows } from "../../../src/app/screens/system/medians.ts";
import { applyEvent, beginRun, useRun } from "../../../src/app/stores/run/run.ts";
import { formatSeconds } from "../../../src/app/styles/format.ts";
import { median } from "../../../src/app/styles/median.ts";
import type { PhaseCost } from "../../../src/engine/runs/phase-lines.ts";
import { manifest } from "../runs/sample-run.ts";

const cost = (dispatches: number, gpuSeconds: number | null = 0.5): PhaseCost => ({
  seconds: 1,
  gpuSeconds,
  dispatches,
  submits: 2,
  readBacks: 1,
  readBytes: 4,
  writtenBytes: 8,
  buffers: 0,
  bufferBytes: 0,
  programs: 0,
  peakBytes: 0,
});

describe("what phases cost", () => {
  it("is the last step's and the median of the steps that entered the phase", () => {
    const rows = phaseRows([
      { step: 1, phases: { generate: cost(10), checkpoint: cost(7) } },
      { step: 2, phases: { generate: cost(40) } },
      { step: 3, phases: { generate: cost(30), loss: cost(5) } },
    ]);
    expect(rows?.phases.get("generate")?.dispatches).toEqual({ last: 30, median: 30 });
    expect(rows?.phases.get("checkpoint")?.dispatches).toEqual({ last: null, median: 7 });
    expect(rows?.phases.get("loss")?.submits).toEqual({ last: 2, median: 2 });
    expect(rows?.total.dispatches).toEqual({ last: 35, median: 35 });
    expect(rows?.total.seconds).toEqual({ last: 2, median: 2 });
    expect(phaseRows([])).toBeNull();
  });

  it("has no time on the GPU where that was not measured, for the phase and for the step", () => {
    const rows = phaseRows([{ step: 1, phases: { generate: cost(1), loss: cost(1, null) } }]);
    expect(rows?.phases.get("generate")?.gpuSeconds).toEqual({ last: 0.5, median: 0.5 });
    expect(rows?.phases.get("loss")?.gpuSeconds).toEqual({ last: null, median: null });
    expect(rows?.total.gpuSeconds).toEqual({ last: null, median: null });
  });

  it("is kept in the order of steps when a run is set back", () => {
    beginRun(manifest(), 0, 0);
    for (const step of [1, 2, 3, 2]) {
      applyEvent({ type: "step", step, metrics: {}, phaseTimes: {}, costs: { loss: cost(step) } }, 0);
    }
    expect(useRun.getState().costs.map(({ step }) => step)).toEqual([1, 2]);
    beginRun(manifest(), 1, 0);
    expect(useRun.getState().costs.map(({ step }) => step)).toEqual([1]);
    beginRun({ ...manifest(), id: "other" }, 0, 0);
    expect(useRun.getState().costs).toEqual([]);
  });

  it("has the median of even counts in the middle, and durations in their own unit", () => {
    expect([median([]), median([3]), median([4, 1]), median([9, 1, 5])]).toEqual([null, 3, 2.5, 5]);
    expect([null, 0, 4.2e-4, 0.0042, 0.42, 1.5, 75].map(formatSeconds)).toEqual([
      "–",
      "0",
      "0.42 ms",
      "4.2 ms",
      "420 ms",
      "1.50 s",
      "1 min 15 s",
    ]);
  });
});
