import { beforeAll, describe, expect, it } from "vitest";
import { memoryFolder } from "../../src/engine/bytes/memory.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { startParameters } from "../../src/engine/rl/run/start-run.ts";
import { readTrained } from "../../src/engine/runs/checkpoint/trained.ts";
import type { StepMetrics } from "../../src/engine/runs/records.ts";
import { cheapConfig, checkpointFiles, openTestLab, repeatable, type TestLab } from "../support/session.ts";

let lab: TestLab;

/** Without the count of bytes: tensors that no pass reads are uploaded at different times. */
const numbers = (row: StepMetrics): StepMetrics =>
  Object.fromEntries(Object.entries(repeatable(row)).filter(([name]) => !name.startsWith("memory/gpu_bytes")));

beforeAll(async () => {
  lab = await openTestLab();
});

describe("a run that starts from an adapter", () => {
  it("has its weights, keeps its files, and resumes to the same numbers", async () => {
    const first = await lab.start({ steps: 1, saveSteps: 1 });
    await first.done;
    const files = Object.fromEntries(await checkpointFiles(lab.store, first.manifest.id, 1));
    const folder = memoryFolder(files as Record<string, Uint8Array<ArrayBuffer>>);
    const start = await lab.session.openAdapter(folder, "first");
    expect(start).toMatchObject({ rank: 4, scale: 2 });

    const model = lab.session.model as NonNullable<typeof lab.session.model>;
    const before = memorySnapshot().tensors;
    const set = startParameters(model, cheapConfig(), start);
    const trained = await readTrained(lab.store, first.manifest.id, 1, "policy");
    for (const [name, { data }] of trained.tensors) expect(await set[name]?.data(), name).toEqual(data);
    tf.dispose(Object.values(set));
    expect(memorySnapshot().tensors).toBe(before);

    const whole = await lab.start({ steps: 3, saveSteps: 1, keepCheckpoints: 3 });
    await whole.done;
    expect(whole.manifest.startAdapter).toEqual({ name: "first", hash: start.hash });
    const expected = (await lab.metrics(whole.manifest.id)).map(numbers);
    expect(expected).toHaveLength(3);

    // As after a visit later on: no adapter is open, the run's own copy serves.
    lab.session.closeAdapter();
    await lab.store.remove(`${whole.manifest.id}/checkpoints/step-000003`);
    await lab.store.remove(`${whole.manifest.id}/checkpoints/step-000002`);
    const again = await lab.resume(whole.manifest.id);
    expect(again.resumedAt).toBe(1);
    await again.done;
    expect((await lab.metrics(whole.manifest.id)).map(numbers)).toEqual(expected);

    await lab.store.write(`${whole.manifest.id}/start/modules.safetensors`, files["modules.safetensors"] as Uint8Array);
    const other = { ...files, "modules.safetensors": new Uint8Array(8) } as Record<string, Uint8Array<ArrayBuffer>>;
    await expect(lab.session.openAdapter(memoryFolder(other), "broken")).rejects.toThrow(/modules.safetensors/);
    expect(lab.session.adapter).toBeUndefined();
  });

  it("is refused when rank or scale are others", async () => {
    const run = await lab.start({ steps: 1, saveSteps: 1 });
    await run.done;
    const files = Object.fromEntries(await checkpointFiles(lab.store, run.manifest.id, 1));
    await lab.session.openAdapter(memoryFolder(files as Record<string, Uint8Array<ArrayBuffer>>), "mine");
    await expect(lab.start({ loraRank: 8, loraAlpha: 16 })).rejects.toThrow(/"mine" has rank 4.*set LoRA rank r to 4/);
    await expect(lab.start({ loraAlpha: 4 })).rejects.toThrow(/scaled by 2.*set LoRA alpha to 8/);
    lab.session.closeAdapter();
  });
});
