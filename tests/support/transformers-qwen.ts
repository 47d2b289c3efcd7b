/** What transformers and PEFT computed with a tiny Qwen-VL (tests/oracle/make_qwen_vl.py), beside what the engine does. */
import { dirname } from "node:path";
import { expect } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { toPeftName } from "../../src/engine/formats/peft-names.ts";
import { openSafetensors } from "../../src/engine/formats/safetensors.ts";
import { tokenScores } from "../../src/engine/gpu/kernels/logprob.ts";
import { STREAM } from "../../src/engine/gpu/random.ts";
import { atOnce } from "../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { parseSa2vaConfig, type Sa2vaConfig } from "../../src/engine/model/config.ts";
import { visionFamily } from "../../src/engine/model/families/registry.ts";
import { promptPlaces } from "../../src/engine/model/language/config-language.ts";
import { languageForward, languageLogits } from "../../src/engine/model/language/language.ts";
import { languageLinears, languageShapes } from "../../src/engine/model/language/language-families.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { weightsView } from "../../src/engine/model/weights/weights.ts";
import type { decodeOnHost } from "../../src/engine/policy/decode/decode-host.ts";
import { disposePrefilled, prefill } from "../../src/engine/policy/decode/prefill.ts";
import { FULL_SAMPLING } from "../../src/engine/policy/decode/sampler.ts";
import { embedPrompt } from "../../src/engine/policy/embedding.ts";
import type { Prompt } from "../../src/engine/text/prompt.ts";
import { picturePatches, resizedPicture } from "../../src/plugins/qwen-vl/tower.ts";

/** Largest errors of a file, each over the largest element of its array. */
export interface QwenErrors {
  readonly config: Sa2vaConfig;
  readonly errors: Readonly<Record<string, number>>;
}

/**
 * Compares sizes, patches, tower, places, last state, logits, greedy ids, and logits and gradients with an adapter.
 * Every tensor of the file has to be one that the engine asks for.
 * @param decode what completes the prompt
 */
export async function compareWithTransformers(path: string, decode: typeof decodeOnHost): Promise<QwenErrors> {
  const folder = await nodeFolder(dirname(path));
  const source = folder.get(path.slice(dirname(path).length + 1));
  const file = await openSafetensors(source as NonNullable<typeof source>);
  const { metadata } = file;
  const config = parseSa2vaConfig({
    architectures: ["Sa2VAChatModelQwen"],
    model_type: "sa2va_chat",
    template: "qwen_chat",
    ...(JSON.parse(metadata.config as string) as object),
  });
  const model = { config } as Sa2vaModel;
  const { language } = config;
  const family = visionFamily(config);
  const errors: Record<string, number> = {};
  const check = async (name: string, found: ArrayLike<number>): Promise<void> => {
    const expected = await file.read(name);
    expect(found.length, name).toBe(expected.length);
    const most = expected.reduce((top, value) => Math.max(top, Math.abs(value)), 0);
    let worst = 0;
    for (let at = 0; at < expected.length; at++) {
      worst = Math.max(worst, Math.abs((found[at] as number) - (expected[at] as number)));
    }
    errors[name] = worst / most;
  };
  const owned: Tensor[] = [];
  const load = async (prefix: string, rename: (name: string) => string): Promise<Map<string, Tensor>> => {
    const made = new Map<string, Tensor>();
    for (const name of file.names.filter((one) => one.startsWith(prefix))) {
      const tensor = tf.tensor(await file.read(name), [...file.info(name).shape]);
      owned.push(tensor);
      made.set(rename(name.slice(prefix.length)), tensor);
    }
    return made;
  };
  const frozen = await load("weight.", (name) => name);
  const shapes = new Map([...family.shapes(config), ...languageShapes(language)].map(([name, shape]) => [name, shape]));
  expect([...frozen.keys()].sort()).toEqual([...shapes.keys()].sort());
  for (const [name, tensor] of frozen) expect(tensor.shape, name).toEqual(shapes.get(name));
  const factors = languageLinears(language).flatMap(({ path: own }) => [
    `${own}.lora_A.weight`,
    `${own}.lora_B.weight`,
  ]);
  const ofPeft = new Map(factors.map((name) => [toPeftName(name), name]));
  const lora = await load("lora.", (name) => ofPeft.get(name) ?? name);
  expect([...lora.keys()].sort()).toEqual(factors.sort());

  const [height, width] = file.info("picture").shape as [number, number];
  const rgb = { height, width, data: Uint8Array.from(await file.read("picture")) };
  const [tile] = family.cut(config, rgb, { maxTiles: 1, tiling: config }).tiles;
  const { grid } = family.cut(config, rgb, { maxTiles: 1, tiling: config });
  expect([grid.rows, grid.cols]).toEqual(JSON.parse(metadata.grid as string));
  const { patchSize } = config.vision;
  const patch = 3 * patchSize ** 2;
  const normal = config.segAfterNorm
    ? { mean: [0.48145466, 0.4578275, 0.40821073], std: [0.26862954, 0.26130258, 0.27577711] }
    : { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] };
  const patches = picturePatches(resizedPicture(rgb, patchSize, false), patchSize, normal.mean, normal.std);
  // transformers repeats each channel for both frames.
  const picked: number[] = [];
  for (let row = 0; row * patch < patches.length; row += 37) {
    for (let channel = 0; channel < 3; channel++) {
      const own = patches.subarray(row * patch + (channel * patch) / 3, row * patch + ((channel + 1) * patch) / 3);
      picked.push(...own, ...own);
    }
  }
  await check("patches", picked);

  const weights = weightsView(frozen, {}, 0);
  const vision = atOnce(family.encode(weights, config, tile as NonNullable<typeof tile>));
  const projected = family.project(weights, config, vision);
  owned.push(vision, projected);
  const planes = (projected.shape[2] as number) / language.hiddenSize;
  const parts = tf.split(projected, planes, 2);
  owned.push(...parts);
  for (const [at, part] of parts.entries()) await check(at === 0 ? "visual" : `deepstack.${at - 1}`, await part.data());

  const ids = Array.from(await file.read("ids"));
  const first = Number(metadata.prompt);
  const start = Number(metadata.image_start);
  const tokens = grid.rows * grid.cols;
  const prompt: Prompt = {
    ids: ids.slice(0, first),
    imageSpan: { start, end: start + tokens },
    grid,
    regionSpans: [],
    full: "",
    text: "",
  };
  const places = promptPlaces(language, prompt, ids.length) ?? [];
  await check(
    "positions",
    places.flatMap((place) => (typeof place === "number" ? [place, place, place] : [...place])),
  );
  const again = start + tokens + 3;
  const frameSpans = [prompt.imageSpan, { start: again, end: again + tokens }];
  const [count] = file.info("several").shape as [number];
  const clip = promptPlaces(language, { ...prompt, frameSpans }, count) ?? [];
  await check(
    "several",
    clip.flatMap((place) => (typeof place === "number" ? [place, place, place] : [...place])),
  );
  const last = places.at(-1) as number;
  expect(last + 1 - ids.length).toBe(Number(metadata.delta));

  const forward = (
    trained: Readonly<Record<string, Tensor>>,
    norm: boolean,
    scale = Number(metadata.scale),
  ): Tensor => {
    const own = weightsView(frozen, trained, scale);
    const x = embedPrompt(model, own, prompt, ids, family.project(own, config, vision), []);
    return languageForward(own, language, x, { positions: [places], norm }).hidden;
  };
  const logitsOf = (trained: Readonly<Record<string, Tensor>>): Tensor =>
    languageLogits(weights, forward(trained, true).reshape([ids.length, -1]));
  const scored = async (name: string, trained: Readonly<Record<string, Tensor>>): Promise<void> => {
    const some = tf.tidy(() => tf.slice(logitsOf(trained), [ids.length - 12, 0], [12, language.vocabSize]));
    await check(name, await some.data());
    some.dispose();
  };
  const state = tf.tidy(() => forward({}, config.segAfterNorm));
  await check("hidden", await state.data());
  state.dispose();
  await scored("logits", {});
  await scored("lora_logits", Object.fromEntries(lora));

  const names = [...lora.keys()];
  const grads = tf.grads((...given: Tensor[]) => {
    const rows = logitsOf(Object.fromEntries(names.map((name, at) => [name, given[at] as Tensor])));
    const answer = ids.slice(first);
    const chosen = tf.slice(rows, [first - 1, 0], [answer.length, language.vocabSize]);
    return tokenScores(chosen, tf.tensor1d(answer, "int32"), 1, Number.POSITIVE_INFINITY).logp.mean().neg().asScalar();
  })([...lora.values()]);
  owned.push(...grads);
  for (const [at, name] of names.entries()) await check(`grad.${toPeftName(name)}`, await (grads[at] as Tensor).data());

  const greedy = Array.from(await file.read("greedy"));
  const [prefix, tails] = tf.tidy(() => {
    const whole = embedPrompt(model, weights, prompt, prompt.ids, projected, []);
    return [tf.slice(whole, [0, 0, 0], [1, first - 1, -1]), tf.slice(whole, [0, first - 1, 0], [1, 1, -1])];
  }) as [Tensor, Tensor];
  owned.push(prefix, tails);
  const positions = [places.slice(0, first)];
  const prompts = atOnce(prefill(weights, language, [{ prefix, tails, tailLengths: [1], positions }]));
  const key = () => ({ seed: 1, step: 0, loop: 0, row: 0, rollout: 0, position: 0, stream: STREAM.token });
  const options = { maxCompletionLength: greedy.length, sampler: FULL_SAMPLING, greedy: true, key, stop: () => false };
  const [row] = await decode(language, weights, prompts, [{ key: key(), promptIds: [] }], options);
  expect(row?.ids).toEqual(greedy);
  disposePrefilled(prompts);
  tf.dispose(owned);
  return { config, errors };
}
