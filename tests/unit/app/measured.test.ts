/** What a dry run measured applies to the settings, rows and model that it was measured with. */
import { afterAll, beforeEach, expect, it } from "vitest";
import { dryRunSubject } from "../../../src/app/stores/measured.ts";
import { runStore } from "../../../src/app/stores/run/run.ts";
import { changeConfig, sessionStore } from "../../../src/app/stores/session.ts";
import { tryStore } from "../../../src/app/stores/try-out.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";
import type { AdapterInfo, ModelInfo } from "../../../src/protocol/trainer.ts";

const result = {
  first: { seconds: 9, programs: 72 },
  second: { seconds: 2, programs: 0 },
  held: 1,
  peak: 3,
  smaller: null,
};

// Other files share the stores.
afterAll(() => {
  sessionStore.setState(sessionStore.getInitialState(), true);
  tryStore.setState(tryStore.getInitialState(), true);
  runStore.setState(runStore.getInitialState(), true);
});
beforeEach(() => sessionStore.setState({ lastDryRun: { result, of: dryRunSubject() } }));

it("stays with another length, interval or judge, which it leaves out", () => {
  changeConfig({ steps: 7, saveSteps: 3, evalSteps: 9, judge: "questions", outOfMemory: "smaller" });
  expect(sessionStore.getState().lastDryRun?.result).toBe(result);
});

it.each<[string, () => void]>([
  ["settings", () => changeConfig({ groupSize: 3 })],
  ["rows", () => sessionStore.setState({ dataInfo: { name: "others" } as SetInfo })],
  ["a model", () => sessionStore.setState({ model: { name: "other" } as ModelInfo })],
  ["an adapter", () => tryStore.setState({ adapter: { name: "other" } as AdapterInfo })],
  ["a run, which measures anew", () => runStore.setState({ runId: "later" })],
])("goes with other %s", (_, change) => {
  change();
  expect(sessionStore.getState().lastDryRun).toBeNull();
});
