/** Supervised runs through the trainer's own shell and the builder's: they learn, return their memory, stop, resume and repeat. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import { pocketBatch } from "../../tools/pocket/batch.ts";
import { POCKET_LOSS } from "../../tools/pocket/loss.ts";
import { SftTrainer } from "../../tools/pocket/trainer.ts";
import { useGpu } from "../support/gpu.ts";
import { checkpointFiles, expectSameFiles, openTestLab, POCKET, repeatable, type TestLab } from "../support/session.ts";
import { disposeTiny, type TinySft, tinySft, trainables } from "../support/tiny-sft.ts";

const SUPERVISED = {
  mode: "sft",
  promptsPerStep: 1,
  accumulation: 2,
  steps: 2,
  learningRate: 2e-3,
  lrSchedulerType: "constant",
} as const satisfies Partial<LabConfig>;

const MASKS = { ...SUPERVISED, accumulation: 1, steps: 1, loops: "2" } as const;

describe("supervised mode", () => {
  const store = memoryStore();
  let lab: TestLab;
  /** A run that does not stop. */
  let whole: string;
  beforeAll(async () => {
    lab = await openTestLab({ store, model: POCKET });
    const run = await lab.start(SUPERVISED);
    await run.done;
    whole = run.manifest.id;
  });

  it("lowers both tasks' losses on the rows it sees, at a steady number of tensors", async () => {
    const before = tf.memory().numTensors;
    const rows = await lab.train({ ...SUPERVISED, maxRows: 1, heldOutShare: 0, steps: 4, learningRate: 4e-3 });
    const [first, last] = [rows[0], rows.at(-1)];
    expect(last?.["sft/token_loss"]).toBeLessThan(0.8 * (first?.["sft/token_loss"] as number));
    expect(last?.["sft/loss"]).toBeLessThan(first?.["sft/loss"] as number);
    expect(last?.loss).toBe(last?.["sft/loss"]);
    expect(new Set(rows.map((row) => row["memory/num_tensors"])).size).toBe(1);
    expect(tf.memory().numTensors).toBe(before);
  });

  it("stops, resumes and ends with the weights of a run that did not stop", async () => {
    lab.watch = (event, session) => {
      if (event.type === "step" && event.step === 1) session.trainer?.control.stop();
    };
    const cut = await lab.start(SUPERVISED);
    expect(await cut.done).toBe("stopped");
    lab.watch = () => undefined;
    const resumed = await lab.resume(cut.manifest.id);
    expect(resumed.resumedAt).toBe(1);
    expect(await resumed.done).toBe("finished");
    expectSameFiles(
      await checkpointFiles(store, cut.manifest.id, SUPERVISED.steps),
      await checkpointFiles(store, whole, SUPERVISED.steps),
    );
    const numbers = async (id: string) =>
      (await lab.metrics(id)).map((row) => [row.step, repeatable(row)["sft/loss"], repeatable(row).grad_norm]);
    expect(await numbers(cut.manifest.id)).toEqual(await numbers(whole));
    // There are no rollouts, so there is nothing to show.
    expect(await (await openRun(store, whole)).readGroups(1)).toEqual([]);
  });

  it("trains captions alone or masks alone when asked to", async () => {
    const [captions] = await lab.train({ ...SUPERVISED, accumulation: 1, steps: 1, loops: "1" });
    expect(captions?.["sft/loss"]).toBe(captions?.["sft/token_loss"]);
    expect(captions?.["sft/mask_bce"]).toBeUndefined();
    expect(captions?.["grad_norm/mask decoder"] ?? 0).toBe(0);
    const [masks] = await lab.train(MASKS);
    const { "sft/loss": loss, "sft/mask_bce": bce, "sft/mask_dice": dice } = masks as Record<string, number>;
    expect(loss).toBeCloseTo(2 * (bce as number) + 0.5 * (dice as number), 4);
    expect(masks?.["sft/token_loss"]).toBeUndefined();
  });

  it("has the same gradient with recomputed activations", async () => {
    const [kept] = await lab.metrics(whole);
    const [again] = await lab.train({ ...SUPERVISED, steps: 1, gradientCheckpointing: true });
    expect(again?.["sft/loss"]).toBeCloseTo(kept?.["sft/loss"] as number, 5);
    expect((again?.grad_norm as number) / (kept?.grad_norm as number)).toBeCloseTo(1, 4);
  });

  it("takes large masks at points, and then weighs those the same", async () => {
    const [all] = await lab.train({ ...MASKS, sftPoints: 4096 });
    const [some] = await lab.train({ ...MASKS, sftPoints: 256 });
    const [whole, points] = [all?.["sft/mask_bce"] as number, some?.["sft/mask_bce"] as number];
    // Three quarters of the points lie where the mask is least certain, so their mean is larger.
    expect(points).toBeGreaterThan(whole);
    expect(Number.isFinite(some?.grad_norm)).toBe(true);
  });
});

/** Enough for one picture. */
const STEPS = 10;

describe("supervised training of the builder", () => {
  let tiny: TinySft;
  beforeAll(async () => {
    tiny = await tinySft();
  });
  afterAll(() => disposeTiny(tiny));

  it("overfits one picture: tokens and masks both, with steady memory", async () => {
    const { model, features, regions } = tiny;
    const start = trainables(
      model,
      (name) => !/vision_model|image_encoder|gaussian_matrix|mask_downscaling/.test(name),
    );
    const loss = { ...POCKET_LOSS, diceWeight: 0.5, namingWeight: 0, featureWeight: 0 };
    const schedule = { kind: "constant" } as const;
    const settings = { loss, learningRate: 1e-2, schedule, maxGradNorm: 1, emaDecay: 0.9, loraScale: 0 };
    const trainer = new SftTrainer(model, start, settings);
    const batch = pocketBatch(model, features, [regions]);
    const first = await trainer.step([{ batch, features }]);
    const tensors = tf.memory().numTensors;
    let last = first;
    for (let step = 1; step < STEPS; step++) last = await trainer.step([{ batch, features }]);
    (await useGpu()).check();
    expect(tf.memory().numTensors).toBe(tensors);
    expect(last.stepped).toBe(true);
    expect(last.parts.token).toBeLessThan(0.3 * first.parts.token);
    expect(last.parts.dice).toBeLessThan(0.75 * first.parts.dice);
    expect(last.parts.pointing).toBeLessThan(first.parts.pointing);
    trainer.dispose();
    tf.dispose(Object.values(start));
  });
});
