import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkpointRoomWarning, checkpointsAtOnce } from "../../../src/engine/plan/checkpoint-room.ts";
import { forAny } from "../../support/any.ts";

const GB = 1e9;
const run = (steps: number, saveSteps: number, saveTotalLimit: number) => ({
  steps,
  saveSteps,
  saveTotalLimit,
  evalSteps: 5,
});

describe("room for checkpoints", () => {
  it("counts those kept, the best one and the one being written, but no more than the run writes", () => {
    expect(checkpointsAtOnce(run(100, 10, 2))).toBe(4);
    expect(checkpointsAtOnce(run(25, 10, 2))).toBe(3);
    expect(checkpointsAtOnce(run(5, 10, 2))).toBe(1);
    expect(checkpointsAtOnce(run(100, 0, 5))).toBe(1);
    // Which one is best is known only where held-out rows are scored.
    expect(checkpointsAtOnce({ ...run(100, 10, 2), evalSteps: 0 })).toBe(3);
  });

  it("says nothing while they fit, and where there is no limit", () => {
    expect(checkpointRoomWarning(run(100, 10, 2), 3 * GB, 12 * GB)).toBeNull();
    expect(checkpointRoomWarning(run(100, 10, 2), 3 * GB, Number.POSITIVE_INFINITY)).toBeNull();
    expect(checkpointRoomWarning(run(100, 0, 2), 3 * GB, 3 * GB)).toBeNull();
  });

  it("gives the numbers and what to change", () => {
    expect(checkpointRoomWarning(run(100, 10, 4), 3 * GB, 12 * GB)).toBe(
      "The run's checkpoints take up to 18.0 GB at once (6 of 3.00 GB: 4 kept, the best one and one being written), and the storage has 12.0 GB free; set saveTotalLimit to 2, or delete stored runs",
    );
    expect(checkpointRoomWarning({ ...run(100, 10, 4), evalSteps: 0 }, 3 * GB, 12 * GB)).toMatch(
      /\(5 of 3\.00 GB: 4 kept and one being written\).*set saveTotalLimit to 3/,
    );
    expect(checkpointRoomWarning(run(30, 10, 4), 3 * GB, 6.5 * GB)).toMatch(
      /take up to 9\.00 GB at once \(3 of 3\.00 GB, all it writes\).* set saveSteps to 15 or more/,
    );
    expect(checkpointRoomWarning(run(30, 10, 1), 3 * GB, 4 * GB)).toMatch(/; set saveSteps to 0, /);
    expect(checkpointRoomWarning(run(30, 0, 1), 3 * GB, 0.5 * GB)).toMatch(
      /\(the final one\), and the storage has 500 MB free; not even one fits/,
    );
    // A browser may hold more than it says there may be.
    expect(checkpointRoomWarning(run(30, 0, 1), 3 * GB, -GB)).toMatch(/has 0\.00 MB free/);
  });

  it("advises what then fits", async () => {
    const drawn = fc.record({
      steps: fc.integer({ min: 1, max: 500 }),
      saveSteps: fc.integer({ min: 0, max: 60 }),
      saveTotalLimit: fc.integer({ min: 1, max: 20 }),
      evalSteps: fc.integer({ min: 0, max: 1 }),
      fitting: fc.integer({ min: 1, max: 20 }),
    });
    await forAny(300, drawn, async ({ fitting, ...config }) => {
      const free = (fitting + 0.5) * GB;
      const sentence = checkpointRoomWarning(config, GB, free);
      if (sentence === null) return;
      const [, setting, value] = /set (saveTotalLimit|saveSteps) to (\d+)/.exec(sentence) ?? [];
      expect(setting, sentence).toBeDefined();
      expect(checkpointRoomWarning({ ...config, [setting as string]: Number(value) }, GB, free), sentence).toBeNull();
      if (setting === "saveTotalLimit") expect(Number(value)).toBeLessThan(config.saveTotalLimit);
    });
  });
});
