/** What transformers and PEFT computed with a tiny language model (tests/oracle/make_language.py), beside what the engine does. */
import { dirname } from "node:path";
import { expect } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openSafetensors } from "../../src/engine/formats/safetensors.ts";
import { tokenScores } from "../../src/engine/gpu/kernels/logprob.ts";
import { STREAM } from "../../src/engine/gpu/random.ts";
import { atOnce } from "../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { fieldsOf } from "../../src/engine/model/config-fields.ts";
import { type LanguageConfig, parseLanguageConfig } from "../../src/engine/model/language/config-language.ts";
import { embedTokens, languageForward, languageLogits } from "../../src/engine/model/language/language.ts";
import { languageLinears, languageShapes } from "../../src/engine/model/language/language-families.ts";
import { weightsView } from "../../src/engine/model/weights/weights.ts";
import type { decodeOnHost } from "../../src/engine/policy/decode/decode-host.ts";
import { disposePrefilled, prefill } from "../../src/engine/policy/decode/prefill.ts";
import { FULL_SAMPLING } from "../../src/engine/policy/decode/sampler.ts";

/** Largest error of an array over its largest element. */
function error(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  expect(found.length).toBe(expected.length);
  const values = Array.from(expected);
  const most = Math.max(...values.map(Math.abs));
  return Math.max(...values.map((value, at) => Math.abs((found[at] as number) - value))) / most;
}

/**
 * Compares logits and greedy ids, and, where `gradients`, the gradients of all low-rank factors of the mean negative
 * log-likelihood. Every tensor of the file has to be one the engine asks for.
 * @param decode what completes the prompt
 */
export async function expectLikeTransformers(
  path: string,
  decode: typeof decodeOnHost,
  gradients: boolean,
): Promise<LanguageConfig> {
  const folder = await nodeFolder(dirname(path));
  const source = folder.get(path.slice(dirname(path).length + 1));
  const file = await openSafetensors(source as NonNullable<typeof source>);
  const config = parseLanguageConfig(
    fieldsOf(JSON.parse(file.metadata.config as string) as Record<string, unknown>, "llm_config."),
  );
  const owned: Tensor[] = [];
  const tensor = async (name: string): Promise<Tensor> => {
    const made = tf.tensor(await file.read(name), [...file.info(name).shape]);
    owned.push(made);
    return made;
  };
  const load = async (prefix: string) => {
    const names = file.names.filter((name) => name.startsWith(prefix));
    return new Map(
      await Promise.all(names.map(async (name) => [name.slice(prefix.length), await tensor(name)] as const)),
    );
  };
  const [frozen, lora] = [await load("weight."), await load("lora.")];
  expect([...frozen.keys()].sort()).toEqual(
    languageShapes(config)
      .map(([name]) => name)
      .sort(),
  );
  for (const [name, shape] of languageShapes(config)) expect(frozen.get(name)?.shape, name).toEqual(shape);
  const factors = languageLinears(config).flatMap((linear) => [
    `${linear.path}.lora_A.weight`,
    `${linear.path}.lora_B.weight`,
  ]);
  expect([...lora.keys()].sort()).toEqual(factors.sort());
  const prompt = (await tensor("prompt")).expandDims<Tensor>(0);
  owned.push(prompt);
  const ids = Array.from(await file.read("ids"));
  const scale = Number(file.metadata.scale);
  const first = prompt.shape[1] as number;

  const logitsOf = (trained: Readonly<Record<string, Tensor>>): Tensor => {
    const weights = weightsView(frozen, trained, scale);
    const answer = embedTokens(weights, config, tf.tensor2d(ids, [1, ids.length], "int32"));
    const { hidden } = languageForward(weights, config, tf.concat([prompt, answer], 1));
    return languageLogits(weights, hidden.reshape([-1, config.hiddenSize]));
  };
  const logits = tf.tidy(() => logitsOf(Object.fromEntries(lora)));
  owned.push(logits);
  expect(error(await logits.data(), await file.read("logits")), "logits").toBeLessThan(1e-5);

  if (gradients) {
    const names = [...lora.keys()];
    const grads = tf.grads((...given: Tensor[]) => {
      const rows = logitsOf(Object.fromEntries(names.map((name, at) => [name, given[at] as Tensor])));
      const scored = tf.slice(rows, [first - 1, 0], [ids.length, config.vocabSize]);
      const { logp } = tokenScores(scored, tf.tensor1d(ids, "int32"), 1, Number.POSITIVE_INFINITY);
      return logp.mean().neg().asScalar();
    })([...lora.values()]);
    owned.push(...grads);
    for (const [at, name] of names.entries()) {
      expect(error(await (grads[at] as Tensor).data(), await file.read(`grad.${name}`)), name).toBeLessThan(5e-5);
    }
  }

  const weights = weightsView(frozen, {}, 0);
  const greedy = Array.from(await file.read("greedy"));
  const [prefix, tails] = [
    tf.slice(prompt, [0, 0, 0], [1, first - 1, -1]),
    tf.slice(prompt, [0, first - 1, 0], [1, 1, -1]),
  ];
  owned.push(prefix, tails);
  const prompts = atOnce(prefill(weights, config, [{ prefix, tails, tailLengths: [1] }]));
  const key = () => ({ seed: 1, step: 0, loop: 0, row: 0, rollout: 0, position: 0, stream: STREAM.token });
  const options = { maxCompletionLength: greedy.length, sampler: FULL_SAMPLING, greedy: true, key, stop: () => false };
  const [row] = await decode(config, weights, prompts, [{ key: key(), promptIds: [] }], options);
  expect(row?.ids).toEqual(greedy);
  disposePrefilled(prompts);
  tf.dispose(owned);
  return config;
}
