/** Closing the tab while a file is made. */
import { afterEach, expect, it, vi } from "vitest";
import { askBeforeLeaving, askWhileMaking } from "../../../src/app/frame/leaving.ts";
import { useExports } from "../../../src/app/stores/run/exports.ts";
import { useRun } from "../../../src/app/stores/run/run.ts";

afterEach(() => vi.unstubAllGlobals());

it("is asked about during a run and while a run is exported or a video is made, and not otherwise", async () => {
  const page = new EventTarget();
  vi.stubGlobal("window", page);
  askBeforeLeaving();
  const asks = (): boolean => !page.dispatchEvent(new Event("beforeunload", { cancelable: true }));
  // Tests of other files may have left a run.
  useRun.setState({ state: "idle" });
  const work = { done: 0, total: 1, stop: () => undefined };
  expect(asks()).toBe(false);
  useExports.setState({ ongoing: [{ runId: "fox", title: "Fox", merged: false, ...work }] });
  expect(asks()).toBe(true);
  useExports.setState({ ongoing: [] });
  let end = (): void => undefined;
  const video = askWhileMaking(
    new Promise<void>((resolve) => {
      end = resolve;
    }),
  );
  expect(asks()).toBe(true);
  end();
  await video;
  expect(asks()).toBe(false);
  useRun.setState({ state: "paused" });
  expect(asks()).toBe(true);
  useRun.setState({ state: "finished" });
  expect(asks()).toBe(false);
});
