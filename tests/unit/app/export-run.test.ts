/** Exports of stored runs; the workers are stand-ins. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { exportRun, exportsIn } from "../../../src/app/screens/runs/export-run.ts";
import { stopJob, useJobs } from "../../../src/app/stores/jobs.ts";
import { useSession } from "../../../src/app/stores/session.ts";
import { LabError } from "../../../src/engine/errors.ts";
import type { Merged, ModelInfo } from "../../../src/protocol/trainer.ts";
import { openFakeLab } from "./fake-lab.ts";

const [OTTER, FOX] = [
  { id: "otter", title: "brave otter", bytes: 5000 },
  { id: "fox", title: "quick fox", bytes: 10 },
];

/** Settles the merge that was asked for. */
let finish: (merged: Merged) => void;

openFakeLab({
  data: {
    exportRun: (id, _format, _wordnet, onBytes, signal) =>
      new Promise((_resolve, reject) => {
        onBytes(1200);
        if (id === "fox") reject(new LabError("storage", "The file is gone"));
        signal.addEventListener("abort", () => reject(new LabError("cancelled", "stopped")));
      }),
  },
  trainer: {
    merge: (_run, _base, _target, onProgress, signal) =>
      new Promise((resolve, reject) => {
        finish = resolve;
        onProgress(3, 9);
        signal.addEventListener("abort", () => reject(new LabError("cancelled", "stopped")));
      }),
  },
});

beforeEach(() => {
  useJobs.setState({}, true);
  useSession.setState({ model: { name: "base" } as ModelInfo, modelFolder: { kind: "built-in", baseUrl: "base/" } });
  vi.stubGlobal("window", { showDirectoryPicker: async () => ({}) });
});

const ongoing = () => exportsIn(useJobs.getState()).filter(({ state }) => state === "running");
const saved = () => exportsIn(useJobs.getState()).flatMap(({ result }) => result ?? []);
const stop = (): void => {
  for (const { kind } of ongoing()) stopJob(kind);
};

describe("a merged checkpoint", () => {
  it("shows how far it is, is written alone, and can be stopped", async () => {
    const merged = exportRun(OTTER, "merged");
    await expect.poll(ongoing).toMatchObject([{ progress: { title: "brave otter", merged: true, done: 3, total: 9 } }]);
    await expect(exportRun(FOX, "merged")).rejects.toThrow("wait for it or stop it");
    expect(ongoing()).toMatchObject([{ progress: { title: "brave otter", done: 3 } }]);
    stop();
    await expect(merged).rejects.toThrow("stopped");
    expect([...ongoing(), ...saved()]).toEqual([]);
  });

  it("says what was verified", async () => {
    const merged = exportRun(OTTER, "merged");
    await expect.poll(() => ongoing()[0]?.progress.done).toBe(3);
    finish({ folder: "otter-merged", tokens: 1e-6, masks: 2e-6, missingCode: [] });
    await merged;
    expect(saved().join()).toMatch(/^otter-merged was written and verified/);
  });
});

describe("a zip", () => {
  it("shows how far it is, and can be stopped", async () => {
    const zipped = exportRun(OTTER, "zip");
    await expect
      .poll(ongoing)
      .toMatchObject([{ progress: { title: "brave otter", merged: false, done: 1200, total: 5000 } }]);
    stop();
    await expect(zipped).rejects.toThrow("stopped");
    expect([...ongoing(), ...saved()]).toEqual([]);
  });

  it("that fails frees its run", async () => {
    await expect(exportRun(FOX, "zip")).rejects.toThrow("The file is gone");
    expect([...ongoing(), ...saved()]).toEqual([]);
  });
});
