/** The page's sweep, cancelled or refused while a job starts; the trainer is a stand-in. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { cancelSweep, startSweep } from "../../../src/app/clients/run/sweep.ts";
import { useRun } from "../../../src/app/stores/run/run.ts";
import { useSession } from "../../../src/app/stores/session.ts";
import { draftSweep, useSweep } from "../../../src/app/stores/sweep.ts";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";
import { badInput } from "../../../src/engine/errors.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import type { ModelInfo, Started } from "../../../src/protocol/trainer.ts";
import { openFakeLab } from "./fake-lab.ts";

const SWEEP = "title: t\nseeds: [1, 2]\nsettings: { steps: 2 }\n";

/** What the trainer was told, in order. */
let asked: string[] = [];
/** Called before a run starts. */
let starting: () => Promise<void>;
let running = false;

const trainer = openFakeLab({
  data: { sweepJob: async () => ({ at: "new" }) },
  trainer: {
    async startRun(config, _rows, title): Promise<Started> {
      asked.push(title);
      await starting();
      running = true;
      const manifest = { id: title, title, config } as RunManifest;
      return { manifest, resumedAt: 0, trainRows: 1, heldOutRows: 0 };
    },
    async control(action) {
      asked.push(action);
      if (!running) return;
      running = false;
      trainer.event({ type: "state", state: "finished", step: 0 });
    },
  },
});

beforeEach(() => {
  [asked, running] = [[], false];
  useRun.setState(useRun.getInitialState(), true);
  useSession.setState({
    rows: [{ id: "row", imageId: "", index: 0, caption: "a car" } as RegionSummary],
    dataInfo: { name: "rows", checks: [] as SetInfo["checks"] } as SetInfo,
    model: { name: "model", hash: "hash" } as ModelInfo,
  });
  draftSweep("t.yaml", SWEEP);
});

const jobs = (): readonly string[] => Object.values(useSweep.getState().jobs);

describe("a sweep", () => {
  it("that is cancelled while a job starts stops the job's run and starts no other", async () => {
    let start: () => void = () => undefined;
    starting = () => new Promise((resolve) => (start = resolve));
    const sweep = startSweep();
    await expect.poll(() => asked).toHaveLength(1);
    await cancelSweep();
    start();
    await expect.poll(() => asked).toEqual(["t run-s1", "stop", "stop"]);
    await sweep;
    expect(jobs()).toEqual(["stopped"]);
    expect(useSweep.getState()).toMatchObject({ active: false, sweep: { runs: { "run-s1": "t run-s1" } } });
  });

  it("whose job is refused trains nothing afterwards and says so", async () => {
    starting = () => Promise.reject(badInput("A model is loading"));
    await expect(startSweep()).rejects.toThrow("A model is loading");
    expect(asked).toEqual(["t run-s1"]);
    expect(jobs()).toEqual(["stopped"]);
    expect(useSweep.getState().active).toBe(false);
  });

  it("that another tab runs is neither started nor replaced here", async () => {
    const before = useSweep.getState().sweep;
    const request = async (_name: string, _options: unknown, held: (lock: null) => undefined) => held(null);
    vi.stubGlobal("navigator", { locks: { request } });
    try {
      draftSweep("other.yaml", SWEEP);
      await expect(startSweep()).rejects.toThrow("A sweep is in progress in another tab");
      expect(asked).toEqual([]);
      expect(useSweep.getState()).toMatchObject({ active: false, sweep: before });
    } finally {
      vi.unstubAllGlobals();
    }
  });
});
