import { expect, it } from "vitest";
import { retitleRun, useRun } from "../../../src/app/stores/run/run.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";

it("the run of this page takes its new title, another run's does not change it", () => {
  const manifest = { id: "brave-otter", title: "Brave otter", state: "paused" } as RunManifest;
  useRun.setState({ runId: manifest.id, manifest });
  retitleRun("calm-heron", "Another");
  expect(useRun.getState().manifest).toBe(manifest);
  retitleRun("brave-otter", "Larger groups");
  expect(useRun.getState().manifest).toEqual({ ...manifest, title: "Larger groups" });
});
