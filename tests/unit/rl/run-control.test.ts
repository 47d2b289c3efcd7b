import { describe, expect, it } from "vitest";
import { addCounts, gpuCounts } from "../../../src/engine/gpu/runtime/counters.ts";
import type { NextPhase, RunState } from "../../../src/engine/rl/run/events.ts";
import { type GpuMeter, RunControl } from "../../../src/engine/rl/run/run-control.ts";

const ZERO = addCounts(gpuCounts(), gpuCounts(), -1);
const NO_GPU: GpuMeter = { counts: () => ZERO, peak: () => 0, label: () => undefined };

/** A gate over a trainer that counts, with a clock that ticks once per phase. */
function machine(steps: number) {
  const states: RunState[] = [];
  const held: NextPhase[] = [];
  const log: string[] = [];
  let clock = 0;
  const events = {
    onState: (state: RunState, next?: NextPhase) => {
      states.push(state);
      if (next !== undefined) held.push(next);
    },
    onPhase: (phase: string) => log.push(phase),
  };
  const control = new RunControl(events, () => clock++, NO_GPU);
  const run = async (): Promise<string> => {
    control.play();
    try {
      for (let step = 1; step <= steps; step++) {
        await control.beforeStep();
        await control.enter("generate", 1);
        await control.enter("loss", 1);
        log.push(`step ${step}`);
        control.endStep();
      }
      return "finished";
    } catch {
      return "stopped";
    }
  };
  return { control, states, held, log, run };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("the control of the phase machine", () => {
  it("runs through when nobody interferes", async () => {
    const { run, log, states } = machine(2);
    expect(await run()).toBe("finished");
    expect(log).toEqual(["generate", "loss", "step 1", "generate", "loss", "step 2"]);
    expect(states).toEqual(["running"]);
  });

  it("says before which phase it holds", async () => {
    const { control, run, held } = machine(2);
    const done = run();
    control.pause();
    for (const go of [() => control.phase(), () => control.step(), () => control.phase()]) {
      await settle();
      go();
    }
    await settle();
    expect(held).toEqual([
      { phase: "generate", loop: 1, midUpdate: false },
      { phase: "loss", loop: 1, midUpdate: false },
      { phase: "sample", loop: null, midUpdate: false },
      { phase: "loss", loop: 1, midUpdate: false },
    ]);
    control.play();
    expect(await done).toBe("finished");
  });

  it("lets work be done while it holds, and holds on; not while weights are being updated", async () => {
    const { control, run, log, states } = machine(1);
    const done = run();
    expect(control.whileHeld(async () => void log.push("too early"))).toBe(false);
    control.pause();
    await settle();
    expect(control.whileHeld(async () => void log.push("saved"))).toBe(true);
    await settle();
    expect([control.state, log]).toEqual(["paused", ["saved"]]);
    expect(control.whileHeld(async () => undefined, true)).toBe(false);
    expect(control.whileHeld(async () => control.play())).toBe(true);
    expect(await done).toBe("finished");
    expect(states).toEqual(["running", "pausing", "paused", "running"]);
    const between = machine(2);
    const both = between.run();
    between.control.step();
    await settle();
    expect(between.control.whileHeld(async () => between.control.play(), true)).toBe(true);
    expect(await both).toBe("finished");
    const updating = machine(1);
    await updating.control.enter("update", null);
    updating.control.play();
    updating.control.pause();
    void updating.control.enter("log", null);
    await settle();
    expect(updating.control.state).toBe("paused");
    expect(updating.held).toEqual([{ phase: "log", loop: null, midUpdate: true }]);
    expect(updating.control.whileHeld(async () => undefined)).toBe(false);
    updating.control.play();
  });

  it("lets work between two steps be done after a held evaluation as before one", async () => {
    const { control } = machine(0);
    control.play();
    // The evaluation after a step was held, and is repeated.
    control.hold();
    const repeated = control.beforeStep("eval");
    await settle();
    control.play();
    await repeated;
    control.pause();
    const next = control.beforeStep();
    await settle();
    expect(control.state).toBe("paused");
    expect(control.whileHeld(async () => control.play(), true)).toBe(true);
    await next;
  });

  it("does what is asked during other work after it, and none of it once it continues", async () => {
    const { control, run, log } = machine(1);
    const done = run();
    control.pause();
    await settle();
    let end = (): void => undefined;
    const long = new Promise<void>((resolve) => {
      end = resolve;
    });
    expect(control.whileHeld(() => long)).toBe(true);
    await settle();
    expect(control.whileHeld(async () => void log.push("saved"))).toBe(true);
    await settle();
    expect(log).toEqual([]);
    end();
    await settle();
    expect([control.state, log]).toEqual(["paused", ["saved"]]);
    expect(control.whileHeld(async () => control.play())).toBe(true);
    expect(control.whileHeld(async () => void log.push("too late"))).toBe(true);
    expect(await done).toBe("finished");
    expect(log).not.toContain("too late");
  });

  it("holds at the next phase when paused, and single-steps whole steps", async () => {
    const { control, run, log, states } = machine(3);
    const done = run();
    control.pause();
    await settle();
    expect(states.at(-1)).toBe("paused");
    const before = log.length;
    control.step();
    await settle();
    expect(log.length).toBeGreaterThan(before);
    expect(log.filter((entry) => entry.startsWith("step"))).toEqual(["step 1"]);
    expect(states.at(-1)).toBe("paused");
    control.step();
    await settle();
    expect(log.at(-1)).toBe("step 2");
    control.play();
    expect(await done).toBe("finished");
  });

  it("takes a pause back before it holds", async () => {
    const { control, run, log, states } = machine(2);
    const done = run();
    control.pause();
    control.play();
    expect(await done).toBe("finished");
    expect(log.at(-1)).toBe("step 2");
    expect(states).toEqual(["running", "pausing", "running"]);
  });

  it("advances by one phase at a time", async () => {
    const { control, run, log } = machine(1);
    const done = run();
    control.pause();
    await settle();
    const seen = log.length;
    control.phase();
    await settle();
    expect(log.length - seen).toBe(1);
    control.play();
    await done;
  });

  it("ends a run that is paused or running when stopped", async () => {
    for (const paused of [false, true]) {
      const { control, run } = machine(1000);
      const done = run();
      if (paused) {
        control.pause();
        await settle();
      }
      control.stop();
      expect(await done).toBe("stopped");
      control.play();
      expect(control.state).toBe("stopping");
    }
  });

  it("times and counts phases by its clocks, both visits of one together", async () => {
    let [clock, made] = [0, 0];
    const labels: (string | null)[] = [];
    const meter: GpuMeter = {
      counts: () => ({ ...ZERO, dispatches: made, readBacks: 2 * made, bufferBytes: 100 * made }),
      peak: () => 1000 * made,
      label: (phase) => labels.push(phase),
    };
    const control = new RunControl({ onState: () => undefined, onPhase: () => undefined }, () => clock, meter);
    const work = (seconds: number, dispatches: number): void => {
      clock += seconds;
      made += dispatches;
    };
    control.play();
    for (const times of [1, 2]) {
      await control.beforeStep();
      work(5, 50); // before any phase: nobody's
      await control.enter("generate", 1);
      work(2, 3 * times);
      await control.enter("loss", 2);
      work(1, 7);
      await control.enter("generate", 2);
      work(4, 1);
      const { times: seconds, counts } = control.stepCosts();
      expect(seconds).toEqual({ generate: 6, loss: 1 });
      const generate = 3 * times + 1;
      expect(counts).toEqual({
        generate: {
          ...ZERO,
          dispatches: generate,
          readBacks: 2 * generate,
          bufferBytes: 100 * generate,
          // Of two visits the higher one.
          peakBytes: 1000 * made,
        },
        loss: { ...ZERO, dispatches: 7, readBacks: 14, bufferBytes: 700, peakBytes: 1000 * (made - 1) },
      });
    }
    const step = [null, "generate", "loss", "generate", null];
    expect(labels).toEqual([...step, ...step]);
  });

  it("counts nothing of what happens while it holds, or of a step that was broken off", async () => {
    let made = 0;
    const meter: GpuMeter = { counts: () => ({ ...ZERO, dispatches: made }), peak: () => 0, label: () => undefined };
    const control = new RunControl({ onState: () => undefined, onPhase: () => undefined }, () => made, meter);
    control.play();
    await control.beforeStep();
    await control.enter("generate", 1);
    made += 5;
    control.pause();
    const entered = control.enter("loss", 1);
    await settle();
    made += 1000; // somebody tries the model out meanwhile
    control.play();
    await entered;
    made += 2;
    const { times, counts } = control.stepCosts();
    expect([times, counts.generate?.dispatches, counts.loss?.dispatches]).toEqual([{ generate: 5, loss: 2 }, 5, 2]);

    await control.beforeStep();
    await control.enter("generate", 1);
    made += 7;
    control.hold();
    control.play();
    await control.beforeStep();
    await control.enter("generate", 1);
    made += 3;
    expect(control.stepCosts().counts.generate?.dispatches).toBe(3);
  });
});
