/** Golden group-relative update: log-probabilities, per-token loss and gradients of adapter and projector. */
import { isRecord } from "../../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { tokenScores } from "../../../src/engine/gpu/kernels/logprob.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { embedTokens, languageForward, languageLogits } from "../../../src/engine/model/language/language.ts";
import { type ParameterSet, type Weights, weightsView } from "../../../src/engine/model/weights/weights.ts";
import { contextRuns } from "../../../src/engine/text/prompt.ts";
import { compareArrays, missed, type Tolerance } from "../compare.ts";
import { type GoldenArrays, openArrays } from "../golden-arrays.ts";
import { parameterPath } from "../golden-language.ts";
import type { ParityRow } from "../row.ts";
import { embedCase, type LanguageGolden } from "./sa2va-llm-run.ts";

const FILE = "golden_train_grpo.safetensors";
const FORWARD: Tolerance = { relative: 2e-4 };
const GRADIENT: Tolerance = { relative: 1e-3, absolute: 2e-6 };
/** Rounding of a sum, relative to its largest term. */
const ROUNDING = 1e-6;

interface Group {
  readonly prompt: readonly number[];
  /** [G][T] padded */
  readonly completions: readonly (readonly number[])[];
  /** [G, T] */
  readonly mask: Tensor;
  readonly old: Tensor;
  readonly reference: Tensor;
  /** [G, 1] */
  readonly advantages: Tensor;
  readonly clip: number;
  readonly beta: number;
}

/** Rows of `golden_train_grpo.safetensors`; none when the folder has no such file. */
export async function* grpoRows(folder: ByteFolder, golden: LanguageGolden): AsyncGenerator<ParityRow> {
  if (folder.get(FILE) === undefined) return;
  const arrays = await openArrays(folder, FILE);
  const group = await readGroup(arrays, golden.cases.train.grpo);
  const names = arrays.names.filter((name) => name.startsWith("grad."));
  const parameters: Record<string, Tensor> = { ...golden.adapter };
  for (const name of golden.frozen.keys()) if (name.startsWith("mlp1.")) parameters[name] = golden.base.get(name);
  const paths = Object.keys(parameters);
  try {
    const reference = tf.tidy(() => groupLogProbs(golden, golden.base, group));
    yield await row("ref_logprobs", arrays, await masked(reference, group), FORWARD);
    const { logps, perToken } = tf.tidy(() => {
      const scored = groupLogProbs(golden, view(golden, parameters), group);
      return { logps: scored, perToken: perTokenLoss(scored, group) };
    });
    yield await row("logprobs", arrays, await masked(logps, group), FORWARD);
    yield await row("per_token_loss", arrays, await masked(perToken, group), FORWARD);
    const loss = (...tensors: Tensor[]): Tensor => {
      const set = Object.fromEntries(paths.map((path, at) => [path, tensors[at] as Tensor]));
      return sequenceMean(perTokenLoss(groupLogProbs(golden, view(golden, set), group), group), group);
    };
    const gradients = tf.grads(loss as (...args: Tensor[]) => Tensor)(paths.map((path) => parameters[path] as Tensor));
    for (const name of names) {
      const path = parameterPath(name.slice("grad.".length));
      const gradient = gradients[paths.indexOf(path)];
      if (gradient === undefined) yield missed(FILE, name, `there is no parameter "${path}"`);
      else yield await row(name, arrays, (await gradient.data()) as Float32Array, GRADIENT);
    }
    const total = tf.tidy(() => sequenceMean(perToken, group));
    const expected = golden.cases.train.grpo;
    if (isRecord(expected) && typeof expected.loss_sequence_mean === "number") {
      // The losses of the tokens may cancel, but their rounding does not.
      const largest = (await arrays.read("per_token_loss")).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const tolerance = { ...FORWARD, absolute: ROUNDING * largest };
      yield compareArrays(FILE, "loss_sequence_mean", [expected.loss_sequence_mean], await total.data(), tolerance);
    }
    tf.dispose([reference, logps, perToken, total, ...gradients]);
  } finally {
    tf.dispose([group.mask, group.old, group.reference, group.advantages]);
  }
}

function view(golden: LanguageGolden, parameters: ParameterSet): Weights {
  return weightsView(golden.frozen, parameters, golden.scale, golden.base.arithmetic);
}

async function readGroup(arrays: GoldenArrays, settings: unknown): Promise<Group> {
  const json = isRecord(settings) ? settings : {};
  const [rows, length] = arrays.shape("completion_ids") as [number, number];
  const flat = Array.from(await arrays.read("completion_ids"));
  const advantages = await arrays.read("advantages");
  return {
    prompt: Array.from(await arrays.read("prompt_ids")),
    completions: Array.from({ length: rows }, (_, at) => flat.slice(at * length, (at + 1) * length)),
    mask: await arrays.tensor("completion_mask"),
    old: await arrays.tensor("old_logprobs"),
    reference: await arrays.tensor("ref_logprobs"),
    advantages: tf.tensor2d(advantages, [rows, 1]),
    clip: typeof json.clip_eps === "number" ? json.clip_eps : 0.2,
    beta: typeof json.beta === "number" ? json.beta : 0.04,
  };
}

/** [G, T] log-probabilities; the prompt runs once and its cache is shared by all completions. */
function groupLogProbs(golden: LanguageGolden, weights: Weights, group: Group): Tensor {
  const { language } = golden.config;
  const width = language.hiddenSize;
  const rows = group.completions.length;
  const length = group.completions[0]?.length ?? 0;
  const [, ...regions] = contextRuns(group.prompt, golden.tokenizer.special.imageContext);
  const item = { regionTokens: regions.map(({ start, end }) => end - start) };
  // The pass is one sequence processed in two parts.
  const ropeLength = group.prompt.length + length;
  const prompt = languageForward(weights, language, embedCase(golden, weights, item, group.prompt), { ropeLength });
  const last = tf.slice(prompt.hidden, [0, group.prompt.length - 1, 0], [1, 1, width]);
  const ids = group.completions.flat();
  const embedded = embedTokens(weights, language, tf.tensor2d(ids, [rows, length], "int32"));
  const inputs = tf.slice(embedded, [0, 0, 0], [rows, length - 1, width]);
  const rest = languageForward(weights, language, inputs, { past: prompt.cache, ropeLength });
  const hidden = tf.concat([tf.tile(last, [rows, 1, 1]), rest.hidden], 1).reshape([rows * length, width]);
  const scores = tokenScores(languageLogits(weights, hidden), tf.tensor1d(ids, "int32"), 1, Number.POSITIVE_INFINITY);
  return scores.logp.reshape([rows, length]);
}

/** −min(ρA, clip(ρ)A) + β (e^d − d − 1), d = reference − policy. */
function perTokenLoss(logps: Tensor, group: Group): Tensor {
  const ratio = logps.sub(group.old).mul(group.mask).exp();
  const clipped = ratio.clipByValue(1 - group.clip, 1 + group.clip);
  const gain = tf.minimum(ratio.mul(group.advantages), clipped.mul(group.advantages));
  const gap = group.reference.sub(logps).mul(group.mask);
  return gap.exp().sub(gap).sub(1).mul(group.beta).sub(gain);
}

/** Mean over the sequences of each one's mean over its tokens. */
function sequenceMean(perToken: Tensor, group: Group): Tensor {
  return perToken.mul(group.mask).sum(1).div(group.mask.sum(1)).mean();
}

async function masked(values: Tensor, group: Group): Promise<Float32Array> {
  const kept = tf.tidy(() => values.mul(group.mask));
  const out = Float32Array.from(await kept.data());
  kept.dispose();
  return out;
}

async function row(name: string, arrays: GoldenArrays, got: Float32Array, tolerance: Tolerance): Promise<ParityRow> {
  return compareArrays(FILE, name, await arrays.read(name), got, tolerance);
}
