/** Closing the tab while a file is made. */
import { afterEach, expect, it, vi } from "vitest";
import { askBeforeLeaving } from "../../../src/app/frame/window.ts";
import { jobKind, startJob } from "../../../src/app/stores/jobs.ts";
import { useRun } from "../../../src/app/stores/run/run.ts";

afterEach(() => vi.unstubAllGlobals());

it("is asked about during a run and while a file is written, and not otherwise", async () => {
  const page = new EventTarget();
  vi.stubGlobal("window", page);
  askBeforeLeaving();
  const asks = (): boolean => !page.dispatchEvent(new Event("beforeunload", { cancelable: true }));
  // Tests of other files may have left a run.
  useRun.setState({ state: "idle" });
  expect(asks()).toBe(false);
  for (const writes of [true, false]) {
    let end = (): void => undefined;
    const work = startJob(jobKind<null>("work", writes), null, () => {
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    expect(asks()).toBe(writes);
    end();
    await work;
    expect(asks()).toBe(false);
  }
  useRun.setState({ state: "paused" });
  expect(asks()).toBe(true);
  useRun.setState({ state: "finished" });
  expect(asks()).toBe(false);
});
