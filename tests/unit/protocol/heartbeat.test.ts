/** When silence of the other side is reported, with a clock that the test moves. */
import { expect, test } from "vitest";
import { ASK_EVERY, heartbeat, SILENT_AFTER } from "../../../src/protocol/heartbeat.ts";

/** A watch over a side that answers by hand. */
function watched() {
  let [now, tick, ended] = [0, () => undefined as unknown, false];
  let questions: { answer: () => void; end: () => void }[] = [];
  const reports: (number | null)[] = [];
  const stop = heartbeat(
    () =>
      new Promise((resolve, reject) => {
        questions.push({ answer: resolve, end: () => reject(new Error("ended")) });
      }),
    (seconds) => reports.push(seconds),
    {
      now: () => now,
      every: (milliseconds, run) => {
        expect(milliseconds).toBe(ASK_EVERY);
        tick = run;
        return () => {
          ended = true;
        };
      },
    },
  );
  const settle = async (how: "answer" | "end"): Promise<void> => {
    const open = questions;
    questions = [];
    for (const question of open) question[how]();
    await Promise.resolve();
    await Promise.resolve();
  };
  return {
    reports,
    stop,
    ended: () => ended,
    asked: () => questions.length,
    settle,
    /** Seconds pass, with a tick at each, unless the page slept. */
    pass(seconds: number, asleep = false) {
      if (asleep) now += seconds * 1000;
      for (let second = 0; second < (asleep ? 1 : seconds); second++) {
        if (!asleep) now += 1000;
        tick();
      }
    },
  };
}

test("a side that answers, even after nine seconds of work, is never reported", async () => {
  const watch = watched();
  for (let round = 0; round < 20; round++) {
    watch.pass(1);
    expect(watch.asked()).toBe(1);
    watch.pass(9);
    await watch.settle("answer");
  }
  expect(watch.reports).toEqual([]);
});

test("silence is reported from ten seconds on, every five seconds, until an answer", async () => {
  const watch = watched();
  watch.pass(1);
  await watch.settle("answer");
  watch.pass(1);
  watch.pass(SILENT_AFTER / 1000 - 1);
  expect(watch.reports).toEqual([]);
  watch.pass(1);
  expect(watch.reports).toEqual([10]);
  watch.pass(12);
  expect(watch.reports).toEqual([10, 15, 20]);
  // Only one question waits.
  expect(watch.asked()).toBe(1);
  await watch.settle("answer");
  expect(watch.reports).toEqual([10, 15, 20, null]);
  watch.pass(10);
  expect(watch.reports).toHaveLength(4);
});

test("a side that has not answered yet is still loading its script", () => {
  const watch = watched();
  watch.pass(60);
  expect(watch.reports).toEqual([]);
});

test("the time in which the page slept is not silence", async () => {
  const watch = watched();
  watch.pass(1);
  await watch.settle("answer");
  watch.pass(1);
  watch.pass(3600, true);
  watch.pass(7);
  expect(watch.reports).toEqual([]);
  watch.pass(1);
  expect(watch.reports).toEqual([10]);
});

test("a connection that ended is not reported, and the watch can be stopped", async () => {
  const watch = watched();
  watch.pass(1);
  await watch.settle("answer");
  watch.pass(1);
  await watch.settle("end");
  watch.stop();
  expect(watch.ended()).toBe(true);
  expect(watch.reports).toEqual([]);
});
