/** Decoding on the GPU against the model's own forward pass with the sampler on the CPU. */
import { describe, expect, it } from "vitest";
import { SLOT_WORDS, slotWords } from "../../src/engine/gpu/decode/lanes.ts";
import { STRANGE, samplePartWords, samplesWide } from "../../src/engine/gpu/decode/sample.ts";
import { slotBlock } from "../../src/engine/gpu/decode/slot-block.ts";
import { drawAddress } from "../../src/engine/gpu/random.ts";
import { setAdapterKind } from "../../src/engine/gpu/runtime/custom-op.ts";
import { backendDevice } from "../../src/engine/gpu/runtime/program.ts";
import { RawBuffers, Recording } from "../../src/engine/gpu/runtime/recording.ts";
import { atOnce } from "../../src/engine/gpu/runtime/work-budget.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import type { LanguageConfig, LanguageFamily } from "../../src/engine/model/language/config-language.ts";
import { decodeOnGpu } from "../../src/engine/policy/decode/decode-gpu.ts";
import { decodeBlocker } from "../../src/engine/policy/decode/decode-weights.ts";
import { disposePrefilled, type Prefilled, type PromptBatch, prefill } from "../../src/engine/policy/decode/prefill.ts";
import { FULL_SAMPLING, type SamplerSettings, sampleStep } from "../../src/engine/policy/decode/sampler.ts";
import {
  decode,
  expectLikeHost,
  type GroupShape,
  keyOf,
  packedLanguage,
  promptsOf,
  SAMPLED,
  WIDE,
} from "../support/decoding.ts";
import { checkedGpu } from "../support/gpu.ts";
import { type TinyLanguage, tinyConfig, tinyLanguage } from "../support/tiny-language.ts";
import { expectLikeTransformers } from "../support/transformers-language.ts";

checkedGpu();

const GROUP: readonly GroupShape[] = [{ prefix: 9, tails: [1, 1, 1, 1, 1] }];
const MIXED: readonly GroupShape[] = [
  { prefix: 9, tails: [3, 1, 5] },
  { prefix: 4, tails: [2, 2] },
];

describe("decoding on the GPU gives the rows of the CPU sampler", () => {
  it.each<[LanguageFamily, number]>([
    ["qwen2", 0],
    ["qwen2", 8],
    ["qwen3", 8],
    ["llama", 4],
    ["internlm2", 8],
    ["phi3", 4],
  ])("for %s with an adapter of rank %i", async (family, rank) => {
    const rows = await expectLikeHost(tinyLanguage(tinyConfig(family), rank), GROUP);
    expect(new Set(rows.map((row) => row.ids.join())).size, "rollouts differ from each other").toBe(rows.length);
  });

  it.each<LanguageFamily>(["qwen2", "qwen3", "llama", "internlm2", "phi3"])(
    "for %s with branches that are not folded in",
    async (family) => {
      const where: typeof decodeOnGpu = (...given) =>
        decodeOnGpu(given[0], given[1], given[2], given[3], given[4], given[5], 0);
      await expectLikeHost(tinyLanguage(tinyConfig(family), 8), MIXED, {}, [true, false], where);
    },
  );

  it("for prompts of different lengths with tails of their own", async () => {
    await expectLikeHost(tinyLanguage(tinyConfig("qwen2"), 8), MIXED);
  });

  it.each([6, 3, 2, 1])("with %i key heads for six, over several workgroups of keys", async (kvHeads) => {
    const long: readonly GroupShape[] = [
      { prefix: 70, tails: [3, 1, 5] },
      { prefix: 33, tails: [2, 2] },
    ];
    await expectLikeHost(tinyLanguage(tinyConfig("qwen2", { kvHeads, layers: 1 }), 0), long, {}, [true, false]);
  });

  it("for one row, for a prompt of one token, and for a tied head", async () => {
    await expectLikeHost(tinyLanguage(tinyConfig("qwen2"), 8), [{ prefix: 3, tails: [1] }]);
    await expectLikeHost(tinyLanguage(tinyConfig("qwen2"), 0), [{ prefix: 0, tails: [1, 1] }]);
    await expectLikeHost(tinyLanguage(tinyConfig("qwen2", { tiedHead: true }), 0), GROUP);
  });

  it.each<[string, LanguageConfig["rope"]["scaling"]]>([
    ["factors", { kind: "factors", limit: 12, short: [1, 1, 1, 1], long: [1.5, 2, 4, 8], amplitude: 1.1 }],
    ["a growing base", { kind: "dynamic", factor: 2, limit: 12 }],
  ])("where rotary scaling by %s sets in on the way, all tokens rotated alike", async (_, scaling) => {
    const config = tinyConfig("phi3", { rope: { theta: 1e4, scaling } });
    await expectLikeHost(tinyLanguage(config, 4), MIXED, { oneLength: true });
  });

  it("for heads wider than the hidden size divided among them, each normed, in both forms", async () => {
    const config = tinyConfig("qwen3", { headSize: 16, attentionBias: false, outputBias: false, tiedHead: true });
    await expectLikeHost(tinyLanguage(config, 8), MIXED, {}, [true, false]);
    const packed = await packedLanguage("q8", { ...config, mlpSize: 48 }, 8);
    await expectLikeHost(packed, MIXED, {}, [true, false]);
  });

  it("greedily", async () => {
    await expectLikeHost(tinyLanguage(tinyConfig("qwen2"), 8), MIXED, { greedy: true }, [true, false]);
  });

  it("greedily, with the same tokens under a guard that makes many logits equal", async () => {
    const run = (guard: number) => {
      const sampler = { ...FULL_SAMPLING, guard, repetitionPenalty: 1.2 };
      return expectLikeHost(tinyLanguage(tinyConfig("qwen2"), 8), MIXED, { greedy: true, sampler }, [true, false]);
    };
    const free = await run(1e4);
    const clipped = await run(0.01);
    expect(clipped.map((row) => row.ids)).toEqual(free.map((row) => row.ids));
    expect(clipped[0]?.logps).not.toEqual(free[0]?.logps);
    expect(free.map(({ clips }) => clips)).toEqual(free.map(() => 0));
    for (const { clips } of clipped) expect(clips).toBeGreaterThan(0);
  });

  it.each([
    ["a temperature", { temperature: 0.7 }],
    ["a guard that clips", { guard: 1.5 }],
    ["top-k", { topK: 5 }],
    ["top-p", { topP: 0.8 }],
    ["top-p among many that are equal", { guard: 0.05, topP: 0.4137 }],
    ["min-p", { minP: 0.2 }],
    ["a repetition penalty", { repetitionPenalty: 1.7 }],
    ["all together", { temperature: 1.3, topK: 20, topP: 0.9, minP: 0.02, repetitionPenalty: 1.2 }],
  ])("with %s", async (_, changes) => {
    await expectLikeHost(tinyLanguage(tinyConfig("qwen2"), 8), GROUP, { sampler: { ...FULL_SAMPLING, ...changes } });
  });

  it("in the form for GPUs, with every step of the sampler", async () => {
    const sampler = { ...FULL_SAMPLING, temperature: 1.3, topK: 20, topP: 0.9, minP: 0.02, repetitionPenalty: 1.2 };
    await expectLikeHost(tinyLanguage(tinyConfig("internlm2"), 8), GROUP, { sampler }, [false]);
  });

  it("for a vocabulary that many workgroups share, sampled in both forms and greedily", async () => {
    const config = tinyConfig("qwen2", { vocabSize: 8200, layers: 1 });
    const sampler = { ...FULL_SAMPLING, temperature: 1.3, minP: 0.02, repetitionPenalty: 1.2 };
    // The second token depends on the first draw.
    const two: readonly GroupShape[] = [{ prefix: 4, tails: [2, 1] }];
    await expectLikeHost(tinyLanguage(config, 0), two, { sampler, maxCompletionLength: 2 }, [true, false]);
    await expectLikeHost(tinyLanguage(config, 0), GROUP, { greedy: true, maxCompletionLength: 2 });
  });

  it("ends rows where they stop, and continues with the others", async () => {
    const stop = (ids: readonly number[]): boolean => (ids[ids.length - 1] as number) % 4 === 0;
    const rows = await expectLikeHost(tinyLanguage(tinyConfig("qwen2"), 8), MIXED, { stop, maxCompletionLength: 13 });
    expect(new Set(rows.map((row) => row.ids.length)).size).toBeGreaterThan(1);
  });
});

describe("a draw that many workgroups share", () => {
  const WIDTH = 5003;
  const LOGITS = Float32Array.from({ length: 4 * WIDTH }, (_, at) => {
    const [slot, i] = [Math.floor(at / WIDTH), at % WIDTH];
    // Equal ones in two chunks above the guard, at the end of the last chunk, infinities, and one NaN.
    if (slot === 0) return i === 4100 || i === 2050 ? 35 : 3 * Math.sin(i * 0.37);
    if (slot === 1) return i === WIDTH - 1 ? 12 : 2 * Math.cos(i * 0.11);
    if (slot === 2) return i === 77 ? Number.POSITIVE_INFINITY : i % 501 === 0 ? Number.NEGATIVE_INFINITY : 0;
    return i === 3000 ? Number.NaN : Math.sin(i);
  });

  /** The tokens drawn for four slots at draw `position`. */
  async function draw(sampler: SamplerSettings, greedy: boolean, software: boolean, wide: boolean, position: number) {
    const device = backendDevice();
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    const buffers = new RawBuffers(device);
    const make = (name: string, bytes: number): GPUBuffer => buffers.get(name, bytes, usage);
    const own = {
      logits: make("logits", LOGITS.byteLength),
      state: make("state", 4 * 4 * SLOT_WORDS),
      seen: make("seen", 4 * 5 * Math.ceil(WIDTH / 32)),
      parts: make("parts", 4 * samplePartWords(4, WIDTH)),
      drawn: make("drawn", 5 * 16),
    };
    const slots = [0, 1, 2, 3].map((row) => ({
      row,
      pastRow: 0,
      head: 0,
      tail: 0,
      shift: 0,
      count: 0,
      id: 0,
      ...drawAddress({ ...keyOf(row, 0), position }),
    }));
    device.queue.writeBuffer(own.logits, 0, LOGITS);
    device.queue.writeBuffer(own.state, 0, slotWords(slots));
    device.queue.writeBuffer(own.seen, 0, new Uint32Array(5 * Math.ceil(WIDTH / 32)).fill(0x10));
    const sizes = { vocabSize: WIDTH, slots: 4, rows: 4 };
    const step = sampleStep(own, sizes, sampler, greedy, software, wide);
    // Grids of two rows, as with many slots.
    const folded = step.map((one) => ({ ...one, grid: () => [Math.ceil(one.grid({ slots: 4 })[0] / 2), 2] as const }));
    const recording = new Recording(device, buffers, "uniforms", wide ? folded : step);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    recording.encode(pass, { slots: 4 });
    pass.end();
    const staging = buffers.get("read", 64, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
    encoder.copyBufferToBuffer(own.drawn, 0, staging, 0, 64);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const words = new Uint32Array(staging.getMappedRange().slice(0));
    buffers.dispose();
    return { ids: [0, 1, 2, 3].map((slot) => words[4 * slot]), last: [0, 1, 2, 3].map((slot) => words[4 * slot + 3]) };
  }

  it.each([true, false])("has the token and the counts of one workgroup (software form: %s)", async (software) => {
    const plain = { ...FULL_SAMPLING, guard: 30 };
    const changed = { ...plain, temperature: 1.7, minP: 0.3, repetitionPenalty: 1.4 };
    const drawn = new Set<number | undefined>();
    for (const [sampler, greedy] of [
      [plain, false],
      [changed, false],
      [plain, true],
    ] as const) {
      for (const position of greedy ? [0] : [0, 1, 2, 3, 4, 5]) {
        const one = await draw(sampler, greedy, software, false, position);
        expect(await draw(sampler, greedy, software, true, position)).toEqual(one);
        if (greedy) expect(one.ids.slice(0, 3)).toEqual([2050, WIDTH - 1, 77]);
        expect(one.last).toEqual([2, 0, 11, STRANGE]);
        for (const id of one.ids) drawn.add(id);
      }
    }
    expect(drawn.size).toBeGreaterThan(8);
    expect([samplesWide(151_674, 0, 1, false), samplesWide(151_674, 20, 1, false)]).toEqual([true, false]);
    expect([samplesWide(151_674, 20, 0.5, true), samplesWide(4096, 0, 1, true)]).toEqual([true, false]);
  });
});

describe("language models of transformers", () => {
  it.each(["qwen3", "qwen3-tied", "llama3"])("%s: logits, gradients and greedy ids on the GPU", async (name) => {
    await expectLikeTransformers(`tests/golden/language/${name}.safetensors`, decodeOnGpu, true);
  });
});

it("eight rows on a card take a block together, and sixteen two blocks", async () => {
  expect([16, 32, 24, 8, 4, 1].map((slots) => slotBlock(slots, false, 0).slots)).toEqual([8, 8, 8, 8, 4, 1]);
  const rows = (count: number): readonly GroupShape[] => [{ prefix: 5, tails: new Array<number>(count).fill(1) }];
  await expectLikeHost(tinyLanguage(tinyConfig("qwen2", { layers: 1 }), 8), rows(16), {}, [false]);
  const packed = await packedLanguage("q8", tinyConfig("qwen2", { mlpSize: 48, layers: 1 }), 8);
  await expectLikeHost(packed, rows(8), {}, [false, WIDE]);
});

describe("prompts", () => {
  const shapes: readonly GroupShape[] = [
    { prefix: 40, tails: [3, 1, 5, 2, 4, 3] },
    { prefix: 30, tails: [2, 2] },
  ];

  it("are held once a group, and of the rows only their tails, whatever rows share", () => {
    const { config, weights, dispose } = tinyLanguage(tinyConfig("qwen2"), 0);
    const groups = promptsOf(config.hiddenSize, shapes);
    const before = tf.memory().numBytes;
    const prompts = atOnce(prefill(weights, config, groups));
    const place = 4 * 2 * config.layers * config.kvHeads * config.headSize;
    const places = 2 * 40 + 8 * 4;
    expect(tf.memory().numBytes - before).toBe(place * places + 4 * prompts.first.size);
    disposePrefilled(prompts);
    tf.dispose(groups.flatMap(({ prefix, tails }) => [prefix, tails]));
    dispose();
  });

  it("of few groups in a pass take less on the way and give the same rows", async () => {
    const model = tinyLanguage(tinyConfig("qwen2"), 8);
    const together = await decode(model, shapes, {}, decodeOnGpu);
    expect(await decode(model, shapes, { groupsAtOnce: 1 }, decodeOnGpu)).toEqual(together);
    const groups = promptsOf(model.config.hiddenSize, [...shapes, ...shapes, ...shapes]);
    const peak = async (groupsAtOnce: number): Promise<number> => {
      const { peakBytes, result } = await tf.profile(
        () =>
          ({
            first: atOnce(prefill(model.weights, model.config, groups, { groupsAtOnce })),
          }) as never,
      );
      disposePrefilled((result as unknown as { first: Prefilled }).first);
      return peakBytes - tf.memory().numBytes;
    };
    expect((await peak(1)) / (await peak(0))).toBeLessThan(0.5);
    tf.dispose(groups.flatMap(({ prefix, tails }) => [prefix, tails]));
    model.dispose();
  });
});

describe("a row", () => {
  /** Rows of a group decoded together, and some of them alone. Disposes of the model. */
  async function expectAlone(model: TinyLanguage, rollouts: readonly number[], rows: number, form = true) {
    const shapes: readonly GroupShape[] = [{ prefix: 9, tails: new Array<number>(rows).fill(1) }];
    const options = { ...SAMPLED, ...(form ? {} : { maxCompletionLength: 2 }) };
    const where: typeof decodeOnGpu = async (...given) => {
      setAdapterKind(form);
      return await decodeOnGpu(...given).finally(() => setAdapterKind(true));
    };
    const together = await decode(model, shapes, options, where);
    const prompts = promptsOf(model.config.hiddenSize, shapes);
    const [group] = prompts as [PromptBatch];
    const tails = tf.tidy(() => tf.gather(group.tails, tf.tensor1d([...rollouts], "int32")));
    const few = { ...group, tails, tailLengths: rollouts.map(() => 1) };
    const prefilled = atOnce(prefill(model.weights, model.config, [few]));
    const address = rollouts.map((rollout) => ({ key: keyOf(0, rollout), promptIds: [] }));
    const alone = await where(model.config, model.weights, prefilled, address, options);
    expect(alone).toEqual(rollouts.map((rollout) => together[rollout]));
    disposePrefilled(prefilled);
    tf.dispose([tails, group.tails, group.prefix]);
    model.dispose();
  }

  it.each<[string, readonly number[], number]>([
    ["two of five", [2, 3], 5],
    ["one of five", [4], 5],
    ["three of nine", [0, 4, 8], 9],
    ["one of three", [1], 3],
  ])("has the same numbers alone as among others: %s", async (_, rollouts, rows) => {
    await expectAlone(tinyLanguage(tinyConfig("qwen2"), 8), rollouts, rows);
  });

  it("has them also from inputs that tiles share on a card", async () => {
    const config = tinyConfig("qwen2", { mlpSize: 48, layers: 1 });
    await expectAlone(await packedLanguage("q4", config, 8), [1], 3, false);
  });

  it("whose logits are NaN ends there and is marked", async () => {
    const model = tinyLanguage(tinyConfig("qwen2"), 0);
    const head = model.weights.get("language_model.lm_head.weight");
    const broken = tf.tidy(() => head.mul(Number.NaN));
    const weights = { ...model.weights, findMatrix: (name: string) => (name.includes("lm_head") ? broken : undefined) };
    const rows = await decode({ ...model, weights }, GROUP, {}, decodeOnGpu);
    expect(rows.map(({ ids, broken: ended }) => [ids.length, ended])).toEqual(rows.map(() => [0, true]));
    broken.dispose();
    model.dispose();
  });
});

describe("a model that the programs cannot decode", () => {
  const limit = 2 ** 27;
  it.each<[string, Partial<LanguageConfig>, number]>([
    ["sizes", { headSize: 6, heads: 8, kvHeads: 2 }, 0],
    ["rank", {}, 6],
    ["window", { window: { size: 8, firstLayer: 0 } }, 4],
    ["angles", { rope: { theta: 1e4, scaling: { kind: "dynamic", factor: 2, limit: 10 } } }, 4],
  ])("is told by its %s", (word, changes, rank) => {
    const model = tinyLanguage(tinyConfig("qwen2", changes), rank);
    expect(decodeBlocker(model.weights, model.config, 20, limit)).toContain(word);
    model.dispose();
  });

  it("is told by its matrices", () => {
    const model = tinyLanguage(tinyConfig("qwen2"), 4);
    expect(decodeBlocker(model.weights, model.config, 20, 1000)).toContain("binding");
    expect(decodeBlocker(model.weights, model.config, 20, limit)).toBeUndefined();
    model.dispose();
  });
});

describe("batches on one device that meet", () => {
  it("wait for each other, also for one that is stopped, and have the numbers they have alone", async () => {
    const model = tinyLanguage(tinyConfig("qwen2"), 8);
    const [first, second] = [await decode(model, GROUP, {}, decodeOnGpu), await decode(model, MIXED, {}, decodeOnGpu)];
    const stop = new AbortController();
    const met = [
      decode(model, GROUP, {}, decodeOnGpu),
      decode(model, MIXED, { signal: stop.signal }, decodeOnGpu),
      decode(model, MIXED, {}, decodeOnGpu),
    ] as const;
    stop.abort();
    const [one, stopped, two] = await Promise.allSettled(met);
    expect(one).toEqual({ status: "fulfilled", value: first });
    expect(stopped).toMatchObject({ status: "rejected", reason: { code: "cancelled" } });
    expect(two).toEqual({ status: "fulfilled", value: second });
    model.dispose();
  });
});
