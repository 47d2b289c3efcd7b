/** Frozen features on disk serve a run only if everything their bits depend on is the same. */
import { expect, it } from "vitest";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import { hostFeatures } from "../../../src/engine/policy/feature-store.ts";
import type { Lab, Run } from "../../../src/engine/rl/run/lab.ts";
import { runFeatures } from "../../../src/engine/rl/run/trainer.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { emptyTable, type TuningTable } from "../../../src/engine/tuning/table.ts";

const OF = { vendor: "v", architecture: "a", description: "d", browser: "b", kernels: "k" };
const ENTRY = { bucket: "a", form: "b", reference: "c", seconds: 1, ratio: 1, stock: null, rate: 1 };
const CONFIG = { ...presetConfig("demo"), featureDisk: 1 };
const LAB = {
  device: { report: { vendor: "v", architecture: "a", description: "d" } },
  hash: "h",
  model: { storage: { language: "f32" }, tiling: { maxTiles: 1 } },
};

it("features are not shared between tables of forms that differ", async () => {
  const lab = { ...LAB, featureFiles: memoryStore() } as unknown as Lab;
  const open = async (table: TuningTable | undefined, doneSteps = 0) => {
    const run = { config: CONFIG, table, doneSteps } as unknown as Run;
    const cache = await runFeatures(lab, run, ({ message }) => expect.fail(message));
    return cache ?? expect.fail("no cache");
  };
  const one = { shape: [2], values: Float32Array.of(1, 2) };
  await (await open(undefined)).write(
    "picture",
    hostFeatures({ tiles: 1, grid: { rows: 1, cols: 1 } }, [one, one, one, one], "f32"),
  );
  const table = { ...emptyTable(OF), entries: [ENTRY] };
  expect(await (await open(table)).read("picture")).toBeUndefined();
  expect(await (await open({ ...table, entries: [] }, 3)).read("picture")).toMatchObject({ tiles: 1 });
  // How long a form took changes nothing.
  await (await open(table)).write(
    "picture",
    hostFeatures({ tiles: 1, grid: { rows: 1, cols: 1 } }, [one, one, one, one], "f32"),
  );
  expect(await (await open({ ...table, entries: [{ ...ENTRY, seconds: 2 }] })).read("picture")).toBeDefined();
});
