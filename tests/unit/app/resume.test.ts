/** What a stored run needs before it continues, compared with what the page has open. */
import { describe, expect, it } from "vitest";
import { followAwaited, resumeAndShow, resumeNeeds } from "../../../src/app/clients/run/resume.ts";
import { type SessionState, settleProblems, useSession } from "../../../src/app/stores/session.ts";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";
import type { CachedModel } from "../../../src/engine/loading/model-cache.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import type { ModelInfo } from "../../../src/protocol/trainer.ts";

const run = {
  model: { name: "Sa2VA-1B", hash: "true" },
  data: { name: "photographs", rows: 2 },
} as unknown as RunManifest;
const open: SessionState = {
  ...useSession.getState(),
  rows: [{ id: "a" }, { id: "b" }] as RegionSummary[],
  dataInfo: { name: "photographs", checks: [] as SetInfo["checks"] } as SetInfo,
  model: { name: "Sa2VA-1B", hash: "true" } as ModelInfo,
};
const other: Partial<SessionState> = { model: { name: "pocket", hash: "other" } as ModelInfo };
const kept = { id: "k", name: "Sa2VA-1B", hash: "true", bytes: 2.4e9, finished: true } as CachedModel;

describe("a stored run", () => {
  it("resumes where its model and rows are open", () => {
    expect(resumeNeeds(run, open)).toEqual({ label: "Resume", opens: [], blocker: null, asksRows: false });
  });

  it("loads the stored conversion of its weights", () => {
    const needs = resumeNeeds(run, { ...open, ...other, storedModels: [{ ...kept, hash: "older" }, kept] });
    expect(needs).toMatchObject({ label: "Load Sa2VA-1B (2.40 GB) and resume", blocker: null, asksRows: false });
    expect(needs.opens).toHaveLength(1);
  });

  it("names the model's folder where no conversion is stored whole", () => {
    for (const storedModels of [[], [{ ...kept, finished: false }], [{ ...kept, hash: "older" }]]) {
      expect(resumeNeeds(run, { ...open, ...other, storedModels }).blocker).toMatch(/was trained on Sa2VA-1B; open/);
    }
  });

  it("asks for the one folder of rows that it lacks", () => {
    for (const rows of [[], open.rows.slice(1)]) {
      const needs = resumeNeeds(run, { ...open, rows });
      expect(needs).toEqual({
        label: "Open photographs and resume",
        opens: [],
        blocker: null,
        asksRows: true,
      });
    }
  });

  it("opens rows and models that come with the page", () => {
    const demo = { model: { name: "pocket vague-model", hash: "v" }, data: { name: "pocket shards", rows: 9 } };
    const needs = resumeNeeds(demo as RunManifest, open);
    expect(needs).toMatchObject({ blocker: null, asksRows: false });
    expect(needs.label).toBe("Load the pocket vague-model, open pocket shards and resume");
    expect(needs.opens).toHaveLength(2);
  });

  it("says which rows were opened in place of its own, as an error about rows that ends with them", async () => {
    const before = useSession.getState();
    followAwaited();
    useSession.setState({ ...open, rows: [] });
    const asked: string[] = [];
    await resumeAndShow({ ...run, title: "t" }, async (name) => void asked.push(name));
    expect(asked).toEqual(["photographs"]);
    useSession.setState({ dataInfo: { ...open.dataInfo, name: "others" } as SetInfo, rows: open.rows.slice(1) });
    const message = expect.stringContaining('needs 2 rows of "photographs", and "others" with 1 was opened');
    expect(useSession.getState().problems).toMatchObject([{ message, cause: "run" }]);
    settleProblems("run");
    useSession.setState(before);
  });

  it("waits for what is still loading, and says so", () => {
    const modelProgress = { loadedBytes: 0, totalBytes: 1, what: "", rate: 0 };
    expect(resumeNeeds(run, { ...open, model: null, modelProgress }).blocker).toBe("The model is still loading");
  });
});
