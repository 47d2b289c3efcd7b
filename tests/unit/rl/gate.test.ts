import { describe, expect, it } from "vitest";
import type { RunState } from "../../../src/engine/rl/events.ts";
import { Gate } from "../../../src/engine/rl/gate.ts";

/** A gate over a trainer that counts, with a clock that ticks once per phase. */
function machine(steps: number) {
  const states: RunState[] = [];
  const log: string[] = [];
  let clock = 0;
  const gate = new Gate({ onState: (state) => states.push(state), onPhase: (phase) => log.push(phase) }, () => clock++);
  const run = async (): Promise<string> => {
    gate.play();
    try {
      for (let step = 1; step <= steps; step++) {
        await gate.beforeStep();
        await gate.enter("generate", 1);
        await gate.enter("loss", 1);
        log.push(`step ${step}`);
        gate.endStep();
      }
      return "finished";
    } catch {
      return "stopped";
    }
  };
  return { gate, states, log, run };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("the gate of the phase machine", () => {
  it("runs through when nobody interferes", async () => {
    const { run, log, states } = machine(2);
    expect(await run()).toBe("finished");
    expect(log).toEqual(["generate", "loss", "step 1", "generate", "loss", "step 2"]);
    expect(states).toEqual(["running"]);
  });

  it("holds at the next phase when paused, and single-steps whole steps", async () => {
    const { gate, run, log, states } = machine(3);
    const done = run();
    gate.pause();
    await settle();
    expect(states.at(-1)).toBe("paused");
    const before = log.length;
    gate.step();
    await settle();
    expect(log.length).toBeGreaterThan(before);
    expect(log.filter((entry) => entry.startsWith("step"))).toEqual(["step 1"]);
    expect(states.at(-1)).toBe("paused");
    gate.step();
    await settle();
    expect(log.at(-1)).toBe("step 2");
    gate.play();
    expect(await done).toBe("finished");
  });

  it("advances by one phase at a time", async () => {
    const { gate, run, log } = machine(1);
    const done = run();
    gate.pause();
    await settle();
    const seen = log.length;
    gate.phase();
    await settle();
    expect(log.length - seen).toBe(1);
    gate.play();
    await done;
  });

  it("ends a run that is paused or running when stopped", async () => {
    for (const paused of [false, true]) {
      const { gate, run } = machine(1000);
      const done = run();
      if (paused) {
        gate.pause();
        await settle();
      }
      gate.stop();
      expect(await done).toBe("stopped");
      gate.play();
      expect(gate.state).toBe("stopping");
    }
  });

  it("times phases by its clock", async () => {
    const { gate } = machine(0);
    gate.play();
    await gate.beforeStep();
    await gate.enter("generate", 1);
    await gate.enter("loss", 2);
    expect(Object.keys(gate.endStep()).sort()).toEqual(["generate", "loss"]);
  });
});
