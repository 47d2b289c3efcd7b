/** The plan's forecast against the bytes that the engine then holds, on small models at several ranks. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { watchBuffers } from "../../bench/tool/held-buffers.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { PackedMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import { gpuCounts } from "../../src/engine/gpu/runtime/counters.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { setPlannedBytes, trimPool } from "../../src/engine/gpu/runtime/pool.ts";
import { gradientsOf } from "../../src/engine/gpu/runtime/tape.ts";
import { gpuFinished } from "../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { initLora } from "../../src/engine/model/adapter/lora.ts";
import { openSa2va, type Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { ALL_F32 } from "../../src/engine/model/weights/storage-choice.ts";
import { recomputing, weightsView } from "../../src/engine/model/weights/weights.ts";
import { forecast, stepArrays } from "../../src/engine/plan/fit.ts";
import { captionBytes, featureBytes, maskBytes } from "../../src/engine/plan/transient.ts";
import { type CaptionLogps, captionLogps } from "../../src/engine/policy/caption-policy.ts";
import { FULL_SAMPLING } from "../../src/engine/policy/decode/sampler.ts";
import { encodeImage } from "../../src/engine/policy/features.ts";
import { segmentPictures } from "../../src/engine/policy/partner.ts";
import { captionPrompt, segmentPrompt } from "../../src/engine/policy/prompts.ts";
import { disposeState, gradientSum, updateState } from "../../src/engine/rl/optim/training-state.ts";
import { startState } from "../../src/engine/rl/run/start/run-facts.ts";
import { reachedLimits, rowLengths } from "../../src/engine/session/plan.ts";
import { forAny } from "../support/any.ts";
import { logpsOf } from "../support/caption-logps.ts";
import { useGpu } from "../support/gpu.ts";
import { cheapConfig, openTestLab, POCKET, type TestLab } from "../support/session.ts";
import { TINY } from "../support/tiny-group.ts";
import { writeTinyQwen } from "../support/tiny-qwen.ts";

let engine: EngineDevice;
beforeAll(async () => {
  engine = await useGpu();
});

type Holder = Sa2vaModel | Readonly<Record<string, Tensor>>;

/** Bytes behind tensors, each buffer once: unchanged copies share a buffer. */
function bytesOf(holders: readonly Holder[]): number {
  const buffers = new Map<object, number>();
  let packed = 0;
  for (const holder of holders) {
    const weights =
      "frozen" in holder
        ? [...(holder as Sa2vaModel).frozen.values(), ...(holder as Sa2vaModel).base.values()]
        : Object.values(holder as Readonly<Record<string, Tensor>>);
    for (const weight of weights) {
      if (weight instanceof PackedMatrix) packed += weight.bytes;
      else buffers.set(weight.dataId, 4 * weight.size);
    }
  }
  return packed + [...buffers.values()].reduce((sum, bytes) => sum + bytes, 0);
}

const SIZES = {
  numGenerations: fc.integer({ min: 2, max: 8 }),
  promptsPerStep: fc.integer({ min: 1, max: 2 }),
  maxCompletionLength: fc.integer({ min: 3, max: 10 }),
  partnerMaxTokens: fc.integer({ min: 3, max: 10 }),
  maxTiles: fc.constantFrom(1, 3, 12),
  gradientCheckpointing: fc.boolean(),
  loraR: fc.constantFrom(4, 8, 32),
};
const TOGETHER = { groupsAtOnce: fc.constantFrom(0, 1), microRollouts: fc.constantFrom(0, 0, 1) };

type Drawn = Partial<LabConfig> & Pick<LabConfig, "loraR">;

/** Pictures of models on Qwen-VL grow with the tiles: those of twelve take most of a minute. */
function small(drawn: Drawn): Drawn {
  return { ...drawn, maxTiles: Math.min(3, drawn.maxTiles ?? 1) };
}

/** Runs on pictures, or on clips; of one at a time, because the model of one counts in the peaks of another. */
function plannedRuns(clips: boolean) {
  let lab: TestLab;
  beforeAll(async () => {
    lab = await openTestLab({ features: null, ...(clips && { shards: [join(root, "public", "pocket", "clips")] }) });
  });
  afterAll(() => lab.session.dispose());

  /** The plan's peak as a share of the most bytes that a run allocates. */
  async function ratioOf(settings: Partial<LabConfig>): Promise<number> {
    const after = lab.events.length;
    lab.captions.clear();
    lab.pictures.length = 0;
    const run = await lab.start(settings);
    await run.done;
    const costs = lab.events.slice(after).flatMap((event) => (event.type === "step" ? [event.costs] : []));
    const most = Math.max(...costs.flatMap((step) => Object.values(step).map(({ peakBytes }) => peakBytes ?? 0)));
    const model = lab.session.model as Sa2vaModel;
    const config = cheapConfig(settings);
    const reached = reachedLimits(model.config, lab.pictures, config.maxTiles);
    const shape = { clips, ...rowLengths(model, [...lab.captions]) };
    return forecast(reached, config, ALL_F32, null, true, shape).peak / most;
  }

  /** Whether the plan of drawn settings is within 10 % of the most bytes that two steps allocate, moments included. */
  async function areClose(runs: number, drawn: fc.Arbitrary<Drawn>): Promise<void> {
    await forAny(runs, drawn, async (settings) => {
      const ratio = await ratioOf({ ...settings, loraAlpha: settings.loraR, steps: 2 });
      expect(ratio).toBeGreaterThan(0.9);
      expect(ratio).toBeLessThan(1.1);
    });
  }

  /** Opens a model: from its folder, or a tiny one of a family on Qwen-VL. */
  async function open(name: string, path: string | null): Promise<void> {
    const folder = path ?? mkdtempSync(join(tmpdir(), "lab-forecast-"));
    if (path === null) writeTinyQwen(folder, name as "qwen3" | "qwen2.5");
    await lab.session.openModel(await nodeFolder(folder), name);
    if (path === null) rmSync(folder, { recursive: true });
  }

  return { ratioOf, areClose, open };
}

describe("the forecast of a run", () => {
  const { ratioOf, areClose, open } = plannedRuns(false);
  const DRAWN = fc.record({ ...SIZES, ...TOGETHER });
  const TAUGHT = fc.record({
    ...SIZES,
    mode: fc.constant("sft" as const),
    accumulation: fc.integer({ min: 1, max: 2 }),
    loops: fc.constantFrom("both", "1", "2"),
  });
  const SOFT = fc.record({
    ...SIZES,
    groupsAtOnce: fc.constantFrom(0, 1),
    maskPolicy: fc.constant("pathwise" as const),
    likelihoodJudge: fc.constant("start" as const),
    loops: fc.constantFrom("both", "2"),
  });

  // A mask that is shown softly is shown by copied tokens, which models on Qwen-VL do not have.
  it.each([
    ["pocket", POCKET, SOFT],
    ["Qwen2", TINY, TAUGHT],
    ["InternLM2", "tests/golden/sa2va-tiny-internlm2", SOFT],
    ["Phi-3", "tests/golden/sa2va-tiny-phi3", TAUGHT],
    ["another head, Qwen2", "tests/golden/sa2va-tiny-variant", SOFT],
    ["qwen3", null, TAUGHT],
    ["qwen2.5", null, TAUGHT],
  ] as const)("is within a tenth of the most bytes that two steps allocate, moments included: %s", async (...of) => {
    const [name, path, other] = of;
    await open(name, path);
    for (const drawn of [DRAWN, other] as fc.Arbitrary<Drawn>[])
      await areClose(1, path === null ? drawn.map(small) : drawn);
  });

  it.each([
    { maskPolicy: "proposals", proposalPoints: 8 },
    { maskPolicy: "pathwise", likelihoodJudge: "start" },
  ] as const)("counts the clicks that are decoded together, and the caption behind a soft mask: %j", async (policy) => {
    await open("pocket", POCKET);
    const ratio = await ratioOf({ ...policy, loops: "2", numGenerations: 4, steps: 2 });
    expect(ratio).toBeGreaterThan(0.9);
    expect(ratio).toBeLessThan(1.1);
  });
});

describe("the forecast of a run on clips", () => {
  const { areClose, open } = plannedRuns(true);
  const CLIPS = fc.record({
    ...{ ...SIZES, ...TOGETHER },
    numGenerations: fc.constantFrom(2, 3),
    promptsPerStep: fc.constant(1),
    clipScope: fc.constantFrom("loop", "sum"),
    regionPrompt: fc.constantFrom("auto", "outline"),
    maskPolicy: fc.constantFrom("candidates", "field", "proposals"),
  });

  it.each([
    ["Qwen2", TINY, 4],
    ["InternLM2", "tests/golden/sa2va-tiny-internlm2", 3],
    ["qwen3", null, 2],
  ] as const)("is within a tenth of the most bytes that two steps allocate: %s", async (name, path, clipFrames) => {
    await open(name, path);
    await areClose(
      1,
      CLIPS.map((settings) => ({ ...(path === null ? small(settings) : settings), clipFrames })),
    );
  });
});

describe("the arrays of a step", () => {
  it("are as large as the plan says, whose binding an adapter may refuse", async () => {
    const lab = await openTestLab({ features: null });
    const makers = [
      ["The MLP's", /addMlp/],
      ["SAM2's finest maps", /samTogether/],
      ["The mask decoder's", /upscale/],
      ["Masks of", /samSizeLogits/],
    ] as const;
    for (const [path, settings] of [
      // What is described is longer than the prompts; then the prompts are.
      [TINY, { numGenerations: 6, promptsPerStep: 2, maxTiles: 12 }],
      ["tests/golden/sa2va-tiny-phi3", { numGenerations: 8, promptsPerStep: 2, maxTiles: 12 }],
    ] as const) {
      await lab.session.openModel(await nodeFolder(path), "m");
      const report = watchBuffers(engine.device);
      const run = await lab.start({ ...settings, steps: 1 });
      await run.done;
      const { config } = lab.session.model as Sa2vaModel;
      const said = stepArrays(config, cheapConfig(settings));
      const { largest } = report();
      for (const [what, made] of makers) {
        const most = Math.max(0, ...[...largest].flatMap(([maker, bytes]) => (made.test(maker) ? [bytes] : [])));
        const planned = said.find((array) => array.what.startsWith(what))?.bytes ?? 0;
        const words = `${path}: ${what} ${most} of ${planned}`;
        // A region may be smaller than the plan assumes, and a question has more tokens in a tiny vocabulary.
        const [least, limit] = what === "The MLP's" ? [0.5, 1.2] : [0.99, 1.01];
        expect(most / planned, words).toBeGreaterThan(least);
        expect(most / planned, words).toBeLessThan(limit);
      }
    }
  });
});

describe("the forecast", () => {
  it.each([POCKET, TINY])("of weights and trainable state is within 5 % of what %s holds", async (path) => {
    const empty = tf.memory().numBytes;
    const model = await openSa2va(await nodeFolder(path), "m");
    for (const rank of [2, 64]) {
      const config = cheapConfig({ loraR: rank, loraAlpha: rank });
      const said = forecast(model.config, config, ALL_F32);
      const weights = said.weights.frozenBytes + said.weights.publishedBytes;
      expect(bytesOf([model]) / weights).toBeGreaterThan(0.95);
      expect(bytesOf([model]) / weights).toBeLessThan(1.05);
      const state = await startState(model, config);
      const gradients = Object.fromEntries(
        state.names.map((name) => [name, tf.onesLike(state.params[name] as Tensor)]),
      );
      const sum = gradientSum(state);
      sum.add(gradients);
      await updateState(state, { sum, loops: [], dot: 0 }, config, async () => undefined);
      const moments = (["first", "second"] as const).map((which) =>
        Object.fromEntries(state.adam.held()[which].entries()),
      );
      const held = bytesOf([model, state.params, state.ema, state.start, ...moments]);
      expect(held / said.held, `rank ${rank}`).toBeGreaterThan(0.95);
      expect(held / said.held, `rank ${rank}`).toBeLessThan(1.05);
      disposeState(state);
    }
    model.dispose();
    expect(tf.memory().numBytes).toBe(empty);
  });

  it("of the towers counts one tile, however many a picture has: they take their memory one after the other", async () => {
    const model = await openSa2va(await nodeFolder(TINY), "m");
    const tileSize = 32 * model.config.vision.patchSize;
    const large = { ...model, tiling: { ...model.tiling, tileSize } };
    const data = new Uint8Array(384 * 96 * 3).fill(90);
    const beyond: number[] = [];
    for (const tiles of [1, 4]) {
      const start = tf.memory().numBytes;
      const profile = await tf.profile(async () => {
        const { vision, sam } = await encodeImage(large, { width: 384, height: 96, data }, tiles);
        return [vision, sam.f16, sam.f8, sam.f4];
      });
      beyond.push(
        profile.peakBytes - start - (profile.result as Tensor[]).reduce((sum, { size }) => sum + 4 * size, 0),
      );
      tf.dispose(profile.result as Tensor[]);
    }
    const [one, several] = beyond as [number, number];
    expect(several / one).toBeLessThan(1.1);
    const towers = (maxTiles: number): number =>
      forecast(model.config, cheapConfig({ maxTiles }), ALL_F32).transient.towers;
    expect(towers(4)).toBe(towers(1));
    model.dispose();
  });

  it.each([
    [TINY, 1, 4, 8],
    [TINY, 4, 8, 16],
    [POCKET, 1, 4, 16],
  ] as const)(
    "of activations of %s is within a tenth of the buffers that a tape makes (%i tiles, %i rows, %i tokens)",
    async (path, tiles, rows, newTokens) => {
      const model = await openSa2va(await nodeFolder(path), "m");
      const set: Record<string, Tensor> = { ...Object.fromEntries(model.base) };
      for (const { name, shape, values } of initLora(model.config.language, 8, () => 0.3)) {
        set[name] = tf.tensor(
          values.map((value) => value + 0.01),
          [...shape],
        );
      }
      const data = Uint8Array.from({ length: 192 * 96 * 3 }, (_, at) => (at * 37 + Math.floor(at / 97) * 11) % 256);
      const before = tf.memory().numBytes;
      const features = await encodeImage(model, { width: 192, height: 96, data }, tiles);
      expect(tf.memory().numBytes - before).toBe(featureBytes(model.config, features.tiles));
      const prompt = captionPrompt(model, features, new Uint8Array(model.config.tokenGridSide ** 2).fill(1));
      const completions = Array.from({ length: rows }, (_, row) => ({
        ids: Array.from({ length: newTokens }, (_token, at) => 5 + row + at),
        logps: [],
        entropies: [],
        ended: true,
      }));
      const shape = { tiles: features.tiles, promptTokens: prompt.ids.length, newTokens };
      const phrase = "a red square";
      const asked = { ...shape, promptTokens: segmentPrompt(model, features, phrase).forcedIds.length };
      setPlannedBytes(2 ** 32);
      for (const recompute of [false, true]) {
        const plain = weightsView(model.frozen, set, 2);
        const weights = recompute ? recomputing(plain, set) : plain;
        const options = { rank: 8, recompute, blocks: true };
        for (const [what, said, loss] of [
          [
            "captions",
            captionBytes(model.config, shape, rows, options),
            () => logpsOf(model, weights, { features, prompt, completions }, FULL_SAMPLING).logps.sum(),
          ],
          [
            "two groups",
            captionBytes(model.config, shape, rows, options, 2),
            () => {
              const group = { features, prompt, completions };
              const [one, two] = captionLogps(model, weights, [group, group], FULL_SAMPLING);
              return (one as CaptionLogps).logps.add((two as CaptionLogps).logps).sum();
            },
          ],
          [
            "mask",
            maskBytes(model.config, { ...asked, frames: 1 }, options),
            () =>
              segmentPictures(model, weights, [{ features, phrases: [phrase] }])
                .masks.square()
                .mean(),
          ],
        ] as const) {
          let made = 0;
          // The first time uploads what is lazily kept on the host. Gradients take buffers that are free again.
          for (const _time of ["first", "counted"]) {
            await gpuFinished();
            trimPool();
            const before = gpuCounts().bufferBytes;
            const { value, grads } = gradientsOf(() => loss().asScalar(), Object.values(set));
            const reached = grads.filter((grad) => grad !== undefined);
            made = gpuCounts().bufferBytes - before;
            tf.dispose([value, ...reached]);
          }
          const words = `${recompute ? "recomputed" : "kept"}, ${what}: ${said} of ${made}`;
          expect(said / made, words).toBeGreaterThan(0.9);
          expect(said / made, words).toBeLessThan(1.1);
        }
      }
      setPlannedBytes();
      tf.dispose([...Object.values(set), features.vision, features.sam.f16, features.sam.f8, features.sam.f4]);
      model.dispose();
    },
  );
});
