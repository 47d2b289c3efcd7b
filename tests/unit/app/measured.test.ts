/** What a dry run measured applies to the settings, rows and model that it was measured with. */
import { afterAll, beforeEach, expect, it } from "vitest";
import { DRY_RUN, jobOf, startJob, useJobs } from "../../../src/app/stores/jobs.ts";
import { costsLike, dryRunSubject } from "../../../src/app/stores/measured.ts";
import { useRun } from "../../../src/app/stores/run/run.ts";
import { changeConfig, useSession } from "../../../src/app/stores/session.ts";
import { useTry } from "../../../src/app/stores/try-out.ts";
import { SETTING_KEYS } from "../../../src/engine/config/parse.ts";
import type { Setting } from "../../../src/engine/config/setting.ts";
import { SETTINGS } from "../../../src/engine/config/table.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import { stepCostsSame } from "../../../src/engine/session/dry-run.ts";
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
  useSession.setState(useSession.getInitialState(), true);
  useTry.setState(useTry.getInitialState(), true);
  useRun.setState(useRun.getInitialState(), true);
  useJobs.setState({}, true);
});
beforeEach(() => startJob(DRY_RUN, null, async () => ({ dryRun: result, of: dryRunSubject() })));

it("stays with another length, interval or judge, which it leaves out", () => {
  changeConfig({ steps: 7, saveSteps: 3, evalSteps: 9, judge: "questions", outOfMemory: "smaller" });
  expect(jobOf(DRY_RUN)?.result?.dryRun).toBe(result);
});

it.each<[string, () => void]>([
  ["settings", () => changeConfig({ numGenerations: 3 })],
  ["rows", () => useSession.setState({ dataInfo: { name: "others" } as SetInfo })],
  ["a model", () => useSession.setState({ model: { name: "other" } as ModelInfo })],
  ["an adapter", () => useTry.setState({ adapter: { name: "other" } as AdapterInfo })],
  ["a run, which measures anew", () => useRun.setState({ runId: "later" })],
])("goes with other %s", (_, change) => {
  change();
  expect(jobOf(DRY_RUN)).toBeNull();
});

it("what a run measured holds for a step of the same cost, on its model and rows", () => {
  const { config } = useSession.getInitialState();
  // The settings say "same", a run how the towers were held.
  expect(config.towerStorage).toBe("same");
  const run = {
    config: { ...config, weightStorage: "q8", towerStorage: "q8", userRewardHash: "sealed" },
    model: { hash: "m" },
    data: { name: "rows", rows: 0 },
  } as RunManifest;
  const model = { hash: "m", storage: { language: "q8", towers: "q8" } } as ModelInfo;
  const session = { ...useSession.getInitialState(), model, dataInfo: { name: "rows" } as SetInfo };
  const under = (change: Partial<typeof config>): boolean =>
    costsLike(run, { ...session, config: { ...config, ...change } });
  expect(under({})).toBe(true);
  expect(under({ steps: 9, learningRate: 0.1, evalSteps: 3, seed: 5 })).toBe(true);
  expect(under({ numGenerations: 3 })).toBe(false);
  expect(under({ judge: "questions" })).toBe(false);
  expect(costsLike(run, { ...session, model: { ...model, hash: "other" } })).toBe(false);
  expect(costsLike(run, { ...session, model: { ...model, storage: { language: "f32", towers: "f32" } } })).toBe(false);
  expect(costsLike(run, { ...session, dataInfo: { name: "others" } as SetInfo })).toBe(false);
});

it("a setting that the table calls free leaves the cost of a step, and no other does", () => {
  const { config } = useSession.getInitialState();
  const free = SETTING_KEYS.filter((key) => {
    const changed = { ...config, [key]: typeof config[key] === "number" ? config[key] + 1 : `${config[key]} too` };
    expect(stepCostsSame(config, changed), key).toBe((SETTINGS[key] as Setting).free === true);
    return stepCostsSame(config, changed);
  });
  expect(free).toEqual(expect.arrayContaining(["seed", "evalSteps", "hub", "learningRate", "emaDecay"]));
  expect(free).not.toContain("numGenerations");
});
