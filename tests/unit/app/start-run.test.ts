/** Runs that are asked for twice in a row; the trainer is a stand-in. */
import { beforeEach, describe, expect, it } from "vitest";
import { act } from "../../../src/app/clients/run/run-actions.ts";
import { resumeRun } from "../../../src/app/clients/run/start-run.ts";
import { navigate, useRoute } from "../../../src/app/stores/route.ts";
import { useRun } from "../../../src/app/stores/run/run.ts";
import { useSession } from "../../../src/app/stores/session.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";
import { LabError } from "../../../src/engine/errors.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import type { ModelInfo, Started } from "../../../src/protocol/trainer.ts";
import { openFakeLab } from "./fake-lab.ts";

const RUN = { id: "run", title: "brave otter", config: presetConfig("demo") };

/** What the trainer was asked for, in order. */
let asked: string[] = [];
let refuses = false;

const started = (title: string): Started => {
  const manifest = { id: title, title, config: RUN.config } as RunManifest;
  return { manifest, resumedAt: 0, trainRows: 1, heldOutRows: 0 };
};

openFakeLab({
  trainer: {
    async startRun(_config, _rows, title) {
      asked.push("start");
      if (refuses) throw new LabError("bad-config", "No row can be drawn");
      return started(title);
    },
    async resumeRun(id) {
      asked.push(`resume ${id}`);
      return started(id);
    },
  },
});

beforeEach(() => {
  asked = [];
  refuses = false;
  useRun.setState(useRun.getInitialState(), true);
  useSession.setState({
    rows: [{ id: "row", imageId: "", index: 0, caption: "a car" } as RegionSummary],
    dataInfo: { name: "rows", checks: [] as SetInfo["checks"] } as SetInfo,
    model: { name: "model", hash: "hash" } as ModelInfo,
    problems: [],
  });
});

describe("a run", () => {
  it("that cannot start leaves the screen as it is, and its reason is told there", async () => {
    navigate({ screen: "rewards", tab: "held-out" });
    useSession.setState({ rows: [] });
    for (const action of ["start", "step", "phase"] as const) act(action);
    await expect.poll(() => useSession.getState().problems[0]?.times).toBe(3);
    expect(useSession.getState().problems[0]?.message).toMatch(/^No rows are loaded/);
    expect(useRoute.getState()).toMatchObject({ screen: "rewards", tab: "held-out", explain: false });
  });

  it("starts once for two presses of Start, and nothing is a problem", async () => {
    act("start");
    expect(useRun.getState().state).toBe("starting");
    act("start");
    await expect.poll(() => useRun.getState().runId).not.toBeNull();
    expect(asked).toEqual(["start"]);
    expect(useSession.getState().problems).toEqual([]);
  });

  it("is not taken for the ended one before its manifest is here, and leaves that one if it cannot start", async () => {
    const ended = { ...useRun.getInitialState(), runId: "ended", state: "finished", step: 5 } as const;
    useRun.setState(ended);
    refuses = true;
    act("start");
    expect(useRun.getState()).toMatchObject({ runId: null, state: "starting", step: 0 });
    await expect.poll(() => useRun.getState().state).toBe("finished");
    expect(useRun.getState()).toMatchObject(ended);
  });

  it("that is resumed occupies the page from the press on", async () => {
    const resumed = resumeRun(RUN);
    expect(useRun.getState().state).toBe("starting");
    await expect(resumeRun(RUN)).rejects.toThrow("A run is in progress");
    await resumed;
    expect(asked).toEqual(["resume run"]);
  });
});
