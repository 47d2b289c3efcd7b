/** Groups of the run of this page: what its events leave in memory, and which steps it has. */
import { beforeEach, describe, expect, it } from "vitest";
import { applyEvent, groupsAt, liveSteps, MAX_GROUPS, useRun, withGroup } from "../../../src/app/stores/run/run.ts";
import type { RunState } from "../../../src/engine/rl/run/events.ts";
import type { GroupRecord, LoopId } from "../../../src/engine/runs/rollouts/records.ts";

const PER_STEP = 6;

function group(step: number, at: number, rowId = "first"): GroupRecord {
  const loop: LoopId = at < PER_STEP / 2 ? 1 : 2;
  const number = at % (PER_STEP / 2);
  return { step, loop, group: number, rowId, rewardMean: 0, rewardStd: 0, zeroSpread: false, rollouts: [] };
}

beforeEach(() => useRun.setState(useRun.getInitialState(), true));

const arrive = (added: GroupRecord): void => applyEvent({ type: "group", group: added }, 0);
const say = (state: RunState, step: number): void => applyEvent({ type: "state", state, step }, 0);
/** A step whose groups arrive; `count` of them. */
function play(step: number, count = PER_STEP, rowId = "first"): void {
  for (let at = 0; at < count; at++) arrive(group(step, at, rowId));
}
/** How many groups of each step are in memory, in their order. */
function held(): (readonly [number, number])[] {
  const { groups } = useRun.getState();
  const steps = [...new Set(groups.map(({ step }) => step))];
  return steps.map((step) => [step, groups.filter((one) => one.step === step).length] as const);
}

it("unfinished groups are kept apart until those of their loop are scored, or with their step dropped", () => {
  const draw = (at: number, finished = false): void => {
    const drawn = group(1, at);
    applyEvent({ type: "drawn", group: finished ? drawn : { ...drawn, unfinished: true } }, 0);
  };
  const count = () => [useRun.getState().drawn.length, useRun.getState().groups.length];
  say("running", 0);
  for (const at of [0, 1, 2, 1, 3]) draw(at);
  expect(count()).toEqual([4, 0]);
  // Dynamic sampling dropped the third group of loop 1.
  for (const at of [0, 1]) draw(at, true);
  expect(count()).toEqual([1, 2]);
  draw(3, true);
  expect(count()).toEqual([0, 3]);
  applyEvent({ type: "drawn", group: { ...group(2, 0), unfinished: true } }, 0);
  say("finished", 1);
  expect(count()).toEqual([0, 3]);
});

describe("groups in memory", () => {
  it("are whole steps, the newest as far as it is sampled", () => {
    for (let step = 1; step <= 80; step++) play(step);
    play(81, 2);
    const steps = held();
    expect(useRun.getState().groups.length).toBeLessThanOrEqual(MAX_GROUPS);
    expect(steps.at(-1)).toEqual([81, 2]);
    expect(steps[0]?.[0]).toBe(81 - Math.floor((MAX_GROUPS - 2) / PER_STEP));
    expect(steps.slice(0, -1).every(([, count]) => count === PER_STEP)).toBe(true);
  });

  it("keep a step that alone has more than are kept", () => {
    const step = Array.from({ length: 5 }, (_, at) => group(2, at));
    const kept = [group(1, 0), ...step].reduce<GroupRecord[]>((groups, one) => withGroup(groups, one, 3), []);
    expect(kept).toEqual(step);
    expect(withGroup(kept, group(3, 0), 3)).toEqual([group(3, 0)]);
  });

  it("are each there once after a lost device set the run back", () => {
    for (const step of [1, 2, 3, 4]) play(step);
    play(5, 3);
    say("starting", 4);
    say("running", 2);
    // Step 3 was complete; what came of it is shown until it comes again, and nothing of later ones.
    expect(held().map(([step]) => step)).toEqual([1, 2, 3]);
    play(3, 1, "again");
    expect(held()).toEqual([
      [1, PER_STEP],
      [2, PER_STEP],
      [3, PER_STEP],
    ]);
    play(3, PER_STEP, "again");
    const third = useRun.getState().groups.filter(({ step }) => step === 3);
    expect(third.map(({ loop, group: at }) => `${loop}-${at}`)).toEqual(["1-0", "1-1", "1-2", "2-0", "2-1", "2-2"]);
    expect(third.every(({ rowId }) => rowId === "again")).toBe(true);
  });

  it("give way to those of an earlier step, though no state was told", () => {
    for (const step of [1, 2, 3]) play(step);
    arrive(group(2, 0, "again"));
    expect(held().map(([step]) => step)).toEqual([1, 2]);
  });

  it.each(["finished", "failed"] as const)("of a step that the end of a run drops are dropped: %s", (state) => {
    play(1);
    play(2, 4);
    say("paused", 1);
    expect(held()).toEqual([
      [1, PER_STEP],
      [2, 4],
    ]);
    say(state, 1);
    expect(held()).toEqual([[1, PER_STEP]]);
  });

  it("stay the same list where nothing goes, so that nothing is redrawn", () => {
    play(1);
    const { groups } = useRun.getState();
    expect(groupsAt(groups, "running", 1)).toBe(groups);
    expect(groupsAt(groups, "finished", 1)).toBe(groups);
  });
});

describe("steps of the run of this page", () => {
  it("are those completed and those in memory, without what a lost device has taken back", () => {
    // The folder was read at step 7; the run is back at 4 and plays 5.
    expect(liveSteps([1, 2, 3, 4, 5, 6, 7], [3, 4], [group(4, 0), group(5, 0)], 4)).toEqual([1, 2, 3, 4]);
  });
});
