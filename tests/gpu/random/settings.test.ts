/** For any settings: a stopped and resumed run equals the undisturbed one, and keeps no tensor from step to step. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { readEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { forAny } from "../../support/any.ts";
import { checkpointFiles, expectSameFiles, openTestLab, repeatable } from "../../support/session.ts";

const STEPS = 3;

const oneOf = <const T>(...values: readonly T[]) => fc.constantFrom(...values);
const reward = oneOf(0, 0, 0, 0.5, 1);

const DRAWN = fc.record({
  seed: fc.nat(10_000),
  mode: oneOf("rl", "rl", "rl", "sft"),
  loops: oneOf("both", "both", "1", "2"),
  promptsPerStep: oneOf(1, 2, 3),
  accumulation: oneOf(1, 1, 2),
  microRollouts: oneOf(0, 1, 2),
  groupsAtOnce: oneOf(0, 1, 2),
  numGenerations: oneOf(2, 3, 5),
  maxCompletionLength: oneOf(1, 4, 9),
  partnerMaxTokens: oneOf(1, 5),
  temperature: oneOf(0.7, 1, 1.5),
  topK: oneOf(0, 0, 7),
  topP: oneOf(1, 1, 0.9),
  minP: oneOf(0, 0, 0.05),
  repetitionPenalty: oneOf(1, 1, 1.3),
  logitGuard: oneOf(30, 2),
  objective: oneOf("grpo", "grpo", "grpo", "notes"),
  lossType: oneOf("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"),
  importanceSamplingLevel: oneOf("token", "sequence"),
  delta: oneOf(0, 0, 2),
  beta: oneOf(0, 0.04, 1),
  klEstimator: oneOf("k3", "k2", "k1"),
  klClamp: fc.boolean(),
  reference: oneOf("start", "ema"),
  numIterations: oneOf(1, 1, 2),
  scaleRewards: oneOf("group", "batch", "none"),
  entropyCoef: oneOf(0, 0.01),
  maskTruncatedCompletions: fc.boolean(),
  maskPolicy: oneOf("candidates", "field", "embedding", "pixels", "imitation"),
  loop2Reach: oneOf("all", "masks"),
  maskAnchor: oneOf("start", "truth", "none"),
  gradientCheckpointing: fc.boolean(),
  iouShape: oneOf("plain", "squared", "tiered"),
  shuffleRewards: oneOf(false, false, true),
  loop1Meteor: reward,
  loop1Box: reward,
  loop1Confidence: reward,
  loop1LengthCost: reward,
  loop2Iou: reward,
  loop2RepetitionCost: reward,
  lrSchedulerType: oneOf("cosine", "linear-then-cosine", "constant"),
  warmupSteps: oneOf(0, 1, 2),
  weightDecay: oneOf(0, 0.1),
  maxGradNorm: oneOf(0, 1),
  emaDecay: oneOf(0.999, 0.9),
  emaRamp: fc.boolean(),
  sftPoints: oneOf(64, 12_544),
  evalSteps: oneOf(0, 0, 1, 2),
  evalRows: oneOf(2, 5),
  cut: oneOf(1, 2),
});

it("any settings", async () => {
  await forAny(1, DRAWN, async ({ cut, ...drawn }) => {
    const changes: Partial<LabConfig> = { ...drawn, steps: STEPS };
    const store = memoryStore();
    const first = await openTestLab({ store });
    const run = await first.start(changes);
    expect(await run.done, first.events.map((event) => JSON.stringify(event).slice(0, 300)).at(-1)).toBe("finished");
    first.watch = (event, session) => {
      if (event.type === "step" && event.step === cut) session.trainer?.control.stop();
    };
    const stopped = await first.start(changes);
    expect(await stopped.done).toBe("stopped");
    first.session.dispose();

    const second = await openTestLab({ store });
    const resumed = await second.resume(stopped.manifest.id);
    expect(resumed.resumedAt).toBe(cut);
    expect(await resumed.done).toBe("finished");
    expectSameFiles(
      await checkpointFiles(store, stopped.manifest.id, STEPS),
      await checkpointFiles(store, run.manifest.id, STEPS),
    );
    const [one, two] = [await second.metrics(run.manifest.id), await second.metrics(stopped.manifest.id)];
    // GPU memory depends on which of the kept tensors have been used since the session was opened.
    const numbers = (rows: typeof one): unknown[] =>
      rows.map((row) => Object.entries(repeatable(row)).filter(([name]) => !name.startsWith("memory/")));
    expect(numbers(two)).toEqual(numbers(one));
    const evaluated = (id: string): Promise<unknown> => readEvaluations(store, id);
    expect(await evaluated(stopped.manifest.id)).toEqual(await evaluated(run.manifest.id));
    for (const row of one) {
      for (const [name, value] of Object.entries(row))
        expect(Number.isNaN(value), `${name} of ${row.step}`).toBe(false);
    }
    const tensors = one.map((row) => row["memory/num_tensors"]);
    expect(tensors).toEqual(tensors.map(() => tensors[0]));
    second.session.dispose();
  });
});
