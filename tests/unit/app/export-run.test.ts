/** Exports of stored runs; the workers are stand-ins. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { exportRun } from "../../../src/app/screens/runs/export-run.ts";
import { exportStore } from "../../../src/app/stores/run/exports.ts";
import { sessionStore } from "../../../src/app/stores/session.ts";
import { LabError } from "../../../src/engine/errors.ts";
import type { Merged, ModelInfo } from "../../../src/protocol/trainer.ts";
import { openFakeLab } from "./fake-lab.ts";

const [OTTER, FOX] = [
  { id: "otter", title: "brave otter" },
  { id: "fox", title: "quick fox" },
];

/** Settles the merge that was asked for. */
let finish: (merged: Merged) => void;

openFakeLab({
  data: {
    exportRun: () => Promise.reject(new LabError("storage", "The file is gone")),
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
  exportStore.setState(exportStore.getInitialState(), true);
  sessionStore.setState({ model: { name: "base" } as ModelInfo, modelFolder: { kind: "built-in", baseUrl: "base/" } });
  vi.stubGlobal("window", { showDirectoryPicker: async () => ({}) });
});

const merging = () => exportStore.getState().merging;

describe("a merged checkpoint", () => {
  it("shows how far it is, is written alone, and can be stopped", async () => {
    const merged = exportRun(OTTER, "merged");
    await expect.poll(merging).toMatchObject({ title: "brave otter", done: 3, total: 9 });
    await expect(exportRun(FOX, "merged")).rejects.toThrow("wait for it or stop it");
    expect(exportStore.getState()).toMatchObject({ busy: ["otter"], merging: { done: 3 } });
    merging()?.stop();
    await expect(merged).rejects.toThrow("stopped");
    expect(exportStore.getState()).toEqual({ busy: [], merging: null, saved: null });
  });

  it("says what was verified", async () => {
    const merged = exportRun(OTTER, "merged");
    await expect.poll(merging).not.toBeNull();
    await expect.poll(() => merging()?.done).toBe(3);
    finish({ folder: "otter-merged", tokens: 1e-6, masks: 2e-6, missingCode: [] });
    await merged;
    expect(exportStore.getState().saved).toMatch(/^otter-merged was written and verified/);
  });
});

it("an export that fails frees its run", async () => {
  await expect(exportRun(OTTER, "zip")).rejects.toThrow("The file is gone");
  expect(exportStore.getState()).toEqual({ busy: [], merging: null, saved: null });
});
