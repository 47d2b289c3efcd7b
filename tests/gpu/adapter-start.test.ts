import { beforeAll, describe, expect, it } from "vitest";
import { openNodeRows } from "../../scripts/lib/node/node-rows.ts";
import { memoryFolder } from "../../src/engine/bytes/source.ts";
import { decodeRle, type Rle } from "../../src/engine/data/mask/rle.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { weightsView } from "../../src/engine/model/weights/weights.ts";
import { captionLikelihoods } from "../../src/engine/policy/caption-likelihood.ts";
import { disposeFeatures, encodeImage } from "../../src/engine/policy/features.ts";
import { startParameters } from "../../src/engine/rl/run/start/run-facts.ts";
import { readTrained } from "../../src/engine/runs/checkpoint/trained.ts";
import type { RolloutRecord, StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { cheapConfig, checkpointFiles, openTestLab, repeatable, type TestLab } from "../support/session.ts";

let lab: TestLab;

/** Without the byte count: tensors that no pass reads are uploaded at different times. */
const numbers = (row: StepMetrics): StepMetrics =>
  Object.fromEntries(Object.entries(repeatable(row)).filter(([name]) => !name.startsWith("memory/gpu_bytes")));

/** Checkpoint of a run of one step, as a folder: the adapter of these tests. */
let files: Record<string, Uint8Array<ArrayBuffer>>;
let trainedBy: string;

beforeAll(async () => {
  lab = await openTestLab();
  const run = await lab.start({ steps: 1, saveSteps: 1, learningRate: 0.05 });
  await run.done;
  trainedBy = run.manifest.id;
  files = Object.fromEntries(await checkpointFiles(lab.store, trainedBy, 1)) as typeof files;
});

describe("a run that starts from an adapter", () => {
  it("has its weights, keeps its files, and resumes to the same numbers", async () => {
    const start = await lab.session.openAdapter(memoryFolder(files), "first");
    expect(start).toMatchObject({ rank: 4, scale: 2 });

    const model = lab.session.model as NonNullable<typeof lab.session.model>;
    const before = memorySnapshot().tensors;
    const set = await startParameters(model, cheapConfig(), start);
    const trained = await readTrained(lab.store, trainedBy, 1, "policy");
    for (const [name, { read }] of trained.tensors) expect(await set[name]?.data(), name).toEqual(await read());
    tf.dispose(Object.values(set));
    expect(memorySnapshot().tensors).toBe(before);

    const whole = await lab.start({ steps: 3, saveSteps: 1, saveTotalLimit: 3 });
    await whole.done;
    expect(whole.manifest.startAdapter).toEqual({ name: "first", hash: start.hash });
    const expected = (await lab.metrics(whole.manifest.id)).map(numbers);
    expect(expected).toHaveLength(3);

    // As on a later visit: no adapter is open, and the run's own copy is used.
    lab.session.closeAdapter();
    await lab.store.remove(`${whole.manifest.id}/checkpoints/step-000003`);
    await lab.store.remove(`${whole.manifest.id}/checkpoints/step-000002`);
    const again = await lab.resume(whole.manifest.id);
    expect(again.resumedAt).toBe(1);
    await again.done;
    expect((await lab.metrics(whole.manifest.id)).map(numbers)).toEqual(expected);

    await lab.store.write(`${whole.manifest.id}/start/modules.safetensors`, files["modules.safetensors"] as Uint8Array);
    const other = { ...files, "modules.safetensors": new Uint8Array(8) };
    await expect(lab.session.openAdapter(memoryFolder(other), "broken")).rejects.toThrow(/modules.safetensors/);
    expect(lab.session.adapter).toBeUndefined();
  });

  it("is refused when rank or scale are others", async () => {
    await lab.session.openAdapter(memoryFolder(files), "mine");
    await expect(lab.start({ loraR: 8, loraAlpha: 16 })).rejects.toThrow(/"mine" has rank 4.*set LoRA rank r to 4/);
    await expect(lab.start({ loraAlpha: 4 })).rejects.toThrow(/scaled by 2.*set LoRA alpha to 8/);
    lab.session.closeAdapter();
  });
});

describe("a run that asks another checkpoint for likelihoods", () => {
  const settings = {
    loops: "2",
    loop2Weight: 1,
    loop2Meteor: 0,
    loop2Judge: 0,
    loop2Likelihood: 1,
    likelihoodJudge: "adapter",
    steps: 2,
    saveSteps: 1,
    saveTotalLimit: 2,
  } as const;
  const rolloutsOf = async (id: string) =>
    (await (await openRun(lab.store, id)).readGroups(1)).flatMap(({ rollouts }) => rollouts);
  const likelihood = ({ terms }: Pick<RolloutRecord, "terms">): number =>
    terms.find(({ name }) => name === "likelihood")?.value as number;

  it("has its probabilities, keeps its files, and resumes to the same numbers", async () => {
    await expect(lab.start(settings)).rejects.toThrow(/from another checkpoint, but none is open/);
    const captioner = await lab.session.openAdapter(memoryFolder(files), "other", "captioner");
    const before = memorySnapshot().tensors;
    const run = await lab.start(settings);
    await run.done;
    expect(memorySnapshot().tensors).toBe(before);
    expect(run.manifest.captioner).toEqual({ name: "other", hash: captioner.hash });
    expect(run.manifest.startAdapter).toBeUndefined();
    const own = await lab.start({ ...settings, likelihoodJudge: "start", steps: 1 });
    await own.done;
    const [asked, start] = [await rolloutsOf(run.manifest.id), await rolloutsOf(own.manifest.id)];
    expect(asked.map(({ predictedMask }) => predictedMask)).toEqual(start.map(({ predictedMask }) => predictedMask));
    expect(
      asked.some((rollout, at) => Math.abs(likelihood(rollout) - likelihood(start[at] as RolloutRecord)) > 1e-3),
    ).toBe(true);

    const model = lab.session.model as NonNullable<typeof lab.session.model>;
    const { set: rows, rows: read } = await openNodeRows();
    const [first] = asked as [RolloutRecord];
    const { rgb } = await read(rows.summaries.findIndex(({ id }) => id === first.rowId));
    const config = cheapConfig(settings);
    const features = await encodeImage(model, rgb, config.maxTiles);
    const parameters = await startParameters(model, config, captioner);
    const masks = asked.map(({ predictedMask }) => decodeRle(predictedMask as Rle));
    const picture = { features, masks, height: rgb.height, width: rgb.width, caption: first.caption, others: [] };
    const expected = await captionLikelihoods(model, weightsView(model.frozen, parameters, captioner.scale), picture, {
      logitGuard: config.logitGuard,
      keepTiny: false,
    });
    for (const [at, rollout] of asked.entries())
      expect(likelihood(rollout)).toBeCloseTo(expected[at]?.likelihood ?? 0, 4);
    tf.dispose(Object.values(parameters));
    disposeFeatures(features);

    const numbersOf = async () => (await lab.metrics(run.manifest.id)).map(numbers);
    const whole = await numbersOf();
    lab.session.closeAdapter("captioner");
    await lab.store.remove(`${run.manifest.id}/checkpoints/step-000002`);
    const again = await lab.resume(run.manifest.id);
    expect(again.resumedAt).toBe(1);
    await again.done;
    expect(await numbersOf()).toEqual(whole);
  });
});
