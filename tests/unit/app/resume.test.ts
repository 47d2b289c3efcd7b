/** What a stored run needs before it continues, compared with what the page has open. */
import { beforeEach, describe, expect, it } from "vitest";
import { resumeAndShow, resumeNeeds } from "../../../src/app/clients/run/resume.ts";
import { useRun } from "../../../src/app/stores/run/run.ts";
import { type SessionState, useSession } from "../../../src/app/stores/session.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";
import { badInput } from "../../../src/engine/errors.ts";
import type { CachedModel } from "../../../src/engine/loading/model-cache.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import type { ModelInfo } from "../../../src/protocol/trainer.ts";
import { openFakeLab } from "./fake-lab.ts";

let started = 0;

openFakeLab({
  trainer: {
    async resumeRun(id) {
      started++;
      return { manifest: { id, title: id, config: presetConfig("demo") } as RunManifest, ...STARTED };
    },
  },
});

const STARTED = { resumedAt: 1, trainRows: 1, heldOutRows: 1 };
const run = {
  model: { name: "Sa2VA-1B", hash: "true" },
  data: { name: "photographs", rows: 2 },
} as unknown as RunManifest;
const open: SessionState = {
  ...useSession.getState(),
  rows: ["a", "b"].map((id) => ({ id, imageId: id, caption: id })) as RegionSummary[],
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

  describe("whose rows only the user can open", () => {
    const others: Partial<SessionState> = {
      dataInfo: { name: "others", checks: [] as SetInfo["checks"] } as SetInfo,
      rows: open.rows,
    };
    const resume = (openRows: (name: string) => Promise<boolean>) =>
      resumeAndShow({ ...run, id: "run", title: "t", config: presetConfig("demo") }, openRows);
    /** A started run has gone through the workers by then. */
    const settle = () => new Promise((resolve) => setTimeout(resolve, 50));

    beforeEach(() => {
      started = 0;
      useRun.setState(useRun.getInitialState(), true);
      useSession.setState({ ...open, rows: [], dataInfo: null, problems: [] });
    });

    it("starts once they are read", async () => {
      const asked: string[] = [];
      await resume(async (name) => {
        asked.push(name);
        useSession.setState(open);
        return true;
      });
      expect(asked).toEqual(["photographs"]);
      expect(started).toBe(1);
    });

    it("starts nothing after Cancel, whatever is opened later", async () => {
      await resume(async () => false);
      useSession.setState(others);
      await settle();
      expect(started).toBe(0);
      expect(useSession.getState().problems).toEqual([]);
    });

    it("starts nothing after the browser refused them, and says so", async () => {
      await resume(() => Promise.reject(badInput("The browser may not read them")));
      useSession.setState(others);
      await settle();
      expect(started).toBe(0);
      expect(useSession.getState().problems).toMatchObject([{ message: "The browser may not read them", times: 1 }]);
    });

    it("is not started by rows that are opened while it waits for its own", async () => {
      let end: (opened: boolean) => void = () => undefined;
      const resumed = resume(
        () =>
          new Promise((resolve) => {
            end = resolve;
          }),
      );
      useSession.setState(others);
      await settle();
      expect(started).toBe(0);
      end(false);
      await resumed;
      expect(started).toBe(0);
    });

    it("says which rows were opened in place of its own, as an error about rows that ends with them", async () => {
      await resume(async () => {
        useSession.setState({ ...others, rows: open.rows.slice(1) });
        return true;
      });
      const message = expect.stringContaining('needs 2 rows of "photographs", and "others" with 1 was opened');
      expect(useSession.getState().problems).toMatchObject([{ message, cause: "run" }]);
      expect(started).toBe(0);
    });
  });

  it("waits for what is still loading, and says so", () => {
    const modelProgress = { loadedBytes: 0, totalBytes: 1, what: "", rate: 0 };
    expect(resumeNeeds(run, { ...open, model: null, modelProgress }).blocker).toBe("The model is still loading");
  });
});
