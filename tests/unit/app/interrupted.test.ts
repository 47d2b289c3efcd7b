/** What the page still shows of a run that was deleted, or offers of one that went on. */
import { beforeEach, expect, it, vi } from "vitest";
import {
  deleteRun,
  findInterrupted,
  followDeletions,
  forgetInterrupted,
} from "../../../src/app/clients/run/interrupted.ts";
import { resumeRun } from "../../../src/app/clients/run/start-run.ts";
import { navigate, useRoute } from "../../../src/app/stores/route.ts";
import { useRun } from "../../../src/app/stores/run/run.ts";
import { useSession } from "../../../src/app/stores/session.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { RunDigest } from "../../../src/engine/runs/library/digest.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import { openFakeLab } from "./fake-lab.ts";

const manifest = { id: "fox", title: "brave fox", config: presetConfig("demo") } as RunManifest;

/** Runs in the store. */
let stored: readonly RunDigest[] = [];

const digest = (id: string, state: RunManifest["state"], created: string): RunDigest =>
  ({ manifest: { ...manifest, id, state, created }, steps: 4 }) as RunDigest;
const offered = (): string | undefined => useSession.getState().interrupted?.manifest.id;

openFakeLab({
  data: {
    deleteRun: () => undefined,
    runs: () => ({ runs: stored, damaged: [], usage: 0, quota: 1, features: { bytes: 0, pictures: 0 } }),
    runsElsewhere: () => [],
  },
  trainer: { resumeRun: async () => ({ manifest, resumedAt: 1, trainRows: 1, heldOutRows: 0 }) },
});

beforeEach(() => {
  useRun.setState(useRun.getInitialState(), true);
  useSession.setState({ interrupted: { manifest } as RunDigest });
});

it("a deleted run is neither offered nor open, in the strip or by the address", async () => {
  useRun.setState({ runId: "fox", manifest, state: "finished", step: 4 });
  navigate({ screen: "runs", run: "fox", step: 2 });
  await deleteRun("fox");
  expect(useSession.getState().interrupted).toBeNull();
  expect(useRun.getState()).toMatchObject({ runId: null, manifest: null, state: "idle", step: 0 });
  expect(useRoute.getState()).toMatchObject({ screen: "runs", run: null, step: null });
});

it("a run that another tab deletes is neither shown nor listed", async () => {
  followDeletions();
  navigate({ screen: "train", run: "fox", step: 2 });
  const tab = new BroadcastChannel("sa2va-lab/deleted-run");
  tab.postMessage("fox");
  await vi.waitFor(() => expect(useRoute.getState()).toMatchObject({ screen: "train", run: null, step: null }));
  tab.close();
  const { problems } = useSession.getState();
  expect(problems.map(({ message }) => message)).toEqual([`Run "fox" was deleted in another tab`]);
});

it("another run's deletion changes none of it", async () => {
  useRun.setState({ runId: "fox", manifest, state: "running" });
  navigate({ screen: "train", run: "owl" });
  await deleteRun("ibex");
  expect(useSession.getState().interrupted).not.toBeNull();
  expect(useRun.getState().runId).toBe("fox");
  expect(useRoute.getState().run).toBe("owl");
});

it("a run that continues is not offered again when it ends, wherever it was resumed", async () => {
  await resumeRun(manifest);
  expect(useSession.getState().interrupted).toBeNull();
});

it("the newest run in progress is offered until it has ended elsewhere or the offer is dismissed", async () => {
  stored = [digest("elk", "running", "2026-01-01"), digest("yak", "running", "2026-01-02")];
  await findInterrupted();
  expect(offered()).toBe("yak");
  stored = [digest("elk", "running", "2026-01-01"), digest("yak", "finished", "2026-01-02")];
  await findInterrupted();
  expect(offered()).toBe("elk");
  expect(useSession.getState().newest?.id).toBe("yak");
  stored = stored.slice(0, 1);
  await deleteRun("yak");
  // The one before it is the newest then.
  await vi.waitFor(() => expect(useSession.getState().newest?.id).toBe("elk"));
  forgetInterrupted();
  await findInterrupted();
  expect(offered()).toBeUndefined();
});

it("Home and Train show the newest run with a step, also while the page that trained it still holds it", async () => {
  const shown = () => useSession.getState().newest?.id;
  const begun = { ...digest("eel", "finished", "2026-01-09"), steps: 0 };
  stored = [digest("cat", "running", "2026-01-01"), digest("dog", "finished", "2026-01-02"), begun];
  await findInterrupted();
  expect([offered(), shown()]).toEqual(["cat", "dog"]);
  stored = [digest("cat", "running", "2026-01-03")];
  vi.stubGlobal("navigator", { locks: { query: async () => ({ held: [{ name: "sa2va-lab/run/cat" }] }) } });
  await findInterrupted();
  vi.unstubAllGlobals();
  expect([offered(), shown()]).toEqual([undefined, "cat"]);
  stored = [];
  await findInterrupted();
  expect(useSession.getState().newest).toBeNull();
});
