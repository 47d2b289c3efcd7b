/**
 * Small problems for the programs of training, with answers computed on the host. Sizes are odd, so that edges of tiles
 * are covered; a program that is wrong on an adapter is usually wrong by far more than rounding.
 */

import { swiglu } from "../../engine/gpu/kernels/activation.ts";
import { attention } from "../../engine/gpu/kernels/attention/attention.ts";
import { linear } from "../../engine/gpu/kernels/linear.ts";
import { tokenScores } from "../../engine/gpu/kernels/logprob.ts";
import { layerNorm, rmsNorm } from "../../engine/gpu/kernels/norm.ts";
import type { Arithmetic } from "../../engine/gpu/packed/half.ts";
import { packedLinear } from "../../engine/gpu/packed/linear.ts";
import { packMatrix } from "../../engine/gpu/packed/matrix.ts";
import { packRows, unpackRows } from "../../engine/gpu/packed/quantise.ts";
import type { WeightStorage } from "../../engine/gpu/packed/storage.ts";
import { STREAM } from "../../engine/gpu/random.ts";
import { halfPrograms } from "../../engine/gpu/runtime/custom-op.ts";
import { atOnce } from "../../engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import type { LanguageConfig } from "../../engine/model/language/config-language.ts";
import { languageShapes } from "../../engine/model/language/language-families.ts";
import { weightsView } from "../../engine/model/weights/weights.ts";
import { decodeOnGpu, freeDecodeBuffers } from "../../engine/policy/decode/decode-gpu.ts";
import { decodeOnHost } from "../../engine/policy/decode/decode-host.ts";
import { disposePrefilled, prefill } from "../../engine/policy/decode/prefill.ts";
import { FULL_SAMPLING, type GenerateOptions } from "../../engine/policy/decode/sampler.ts";
import { GradientSum } from "../../engine/rl/optim/gradient-sum.ts";
import { ADAM_DEFAULTS, AdamState, applyAdamw, disposeSet } from "../../engine/rl/optim/optimiser.ts";
import * as host from "./host-math.ts";
import { drawn, exact, type Numbers } from "./host-math.ts";

// Compares decoding by the prepared programs with the op layer and the host's sampler: different code for the same
// tokens.

/** A decoder with a few thousand weights and sizes that are not powers of two. */
export const TINY_DECODER: LanguageConfig = {
  family: "qwen2",
  vocabSize: 53,
  hiddenSize: 48,
  layers: 2,
  heads: 6,
  kvHeads: 2,
  headSize: 8,
  mlpSize: 44,
  attentionBias: true,
  outputBias: false,
  mlpBias: false,
  rmsNormEps: 1e-6,
  rope: { theta: 10_000, scaling: { kind: "none" } },
  window: undefined,
  maxPositions: 512,
  tiedHead: false,
};
const ROWS = 3;
const PROMPT = 9;
const TOKENS = 12;

interface Decoded {
  /** Log-probabilities of all tokens, row by row. */
  readonly found: readonly number[];
  readonly expected: readonly number[];
  /** Number of tokens that differ. */
  readonly different: number;
}

/** Samples with both and frees everything, the workspace of decoding included. */
async function decodeTwice(): Promise<Decoded> {
  const numbers = (shape: readonly number[], seed: number, scale: number, centre = 0): Tensor =>
    tf.tensor(
      drawn(tf.util.sizeFromShape([...shape]), seed).map((value) => centre + scale * value),
      [...shape],
    );
  // Logits a few nats apart, so that some tokens are likely and a wrong factor shows.
  const weightOf = (name: string, shape: readonly number[], seed: number): Tensor => {
    if (/norm[^.]*\.weight$/.test(name)) return numbers(shape, seed, 0.3, 1);
    return numbers(shape, seed, name.endsWith("lm_head.weight") ? 1 : 0.5);
  };
  const frozen = new Map(
    languageShapes(TINY_DECODER).map(([name, shape], at) => [name, weightOf(name, shape, at + 1)] as const),
  );
  const weights = weightsView(frozen, {}, 0);
  const prefix = numbers([1, PROMPT, TINY_DECODER.hiddenSize], 101, 1);
  const tails = numbers([ROWS, 1, TINY_DECODER.hiddenSize], 102, 1);
  const prompts = atOnce(
    prefill(weights, TINY_DECODER, [{ prefix, tails, tailLengths: new Array<number>(ROWS).fill(1) }]),
  );
  const key = { seed: 7, step: 1, loop: 1, row: 0, position: 0, stream: STREAM.token };
  const address = Array.from({ length: ROWS }, (_, rollout) => ({ key: { ...key, rollout }, promptIds: [] }));
  const options: GenerateOptions = {
    maxCompletionLength: TOKENS,
    sampler: FULL_SAMPLING,
    greedy: false,
    key: (_, rollout) => ({ ...key, rollout }),
    stop: () => false,
  };
  try {
    const own = await decodeOnGpu(TINY_DECODER, weights, prompts, address, options);
    const other = await decodeOnHost(TINY_DECODER, weights, prompts, address, options);
    const [ids, otherIds] = [own, other].map((rows) => rows.flatMap((row) => row.ids)) as [number[], number[]];
    return {
      found: own.flatMap(({ logps }) => logps),
      expected: other.flatMap(({ logps }) => logps),
      different: ids.filter((id, at) => id !== otherIds[at]).length + Math.abs(ids.length - otherIds.length),
    };
  } finally {
    disposePrefilled(prompts);
    tf.dispose([prefix, tails, ...frozen.values()]);
    freeDecodeBuffers();
  }
}

/** The computed numbers and the expected ones. */
export interface Outcome {
  readonly found: ArrayLike<number>;
  readonly expected: ArrayLike<number>;
}

export interface Problem {
  readonly name: string;
  /** Largest difference that counts as rounding, relative to the largest expected number. */
  readonly allowed: number;
  readonly solve: () => Promise<Outcome>;
}

/** For f32 sums of a few dozen terms. */
const SINGLE = 2e-5;
/** For half precision, which has three digits. */
const HALF = 5e-3;
/** For a slope along a direction, where errors of many elements add up or cancel. */
const SLOPE = 2e-3;
/** For log-probabilities after two decoder blocks. */
const DECODED = 5e-5;

async function read(make: () => Tensor): Promise<Float32Array> {
  const tensor = tf.tidy(make);
  try {
    return (await tensor.data()) as Float32Array;
  } finally {
    tensor.dispose();
  }
}

const onGpu = (values: Float32Array, ...shape: number[]): Tensor => tf.tensor(values, shape);

const problem = (name: string, solve: Problem["solve"], allowed = SINGLE): Problem => ({ name, allowed, solve });

function products(m: number, n = 37, k = 45): Problem[] {
  const [x, w] = [drawn(m * k, 1), drawn(n * k, 2)];
  const rows = `${m === 1 ? "one row" : `${m} rows`}${k === 45 ? "" : `, sums of ${k}`}`;
  const expected = (): Numbers => host.product(exact(x), exact(w), k);
  const other = drawn(m * n, 3);
  return [
    problem(`Products, ${rows}: A Bᵀ`, async () => ({
      found: await read(() => tf.matMul(onGpu(x, m, k) as tf.Tensor2D, onGpu(w, n, k) as tf.Tensor2D, false, true)),
      expected: expected(),
    })),
    problem(`Products, ${rows}: A B`, async () => ({
      found: await read(() => {
        const turned = Float32Array.from(host.turned(exact(w), k));
        return tf.matMul(onGpu(x, m, k) as tf.Tensor2D, onGpu(turned, k, n) as tf.Tensor2D);
      }),
      expected: expected(),
    })),
    problem(`Products, ${rows}: Aᵀ B`, async () => ({
      found: await read(() => tf.matMul(onGpu(other, m, n) as tf.Tensor2D, onGpu(x, m, k) as tf.Tensor2D, true)),
      expected: host.product(host.turned(exact(other), n), host.turned(exact(x), k), m),
    })),
  ];
}

function lowRank(): Problem {
  const [m, n, k, rank] = [19, 24, 40, 4];
  const [x, w, bias, a, b] = [drawn(m * k, 1), drawn(n * k, 2), drawn(n, 3), drawn(rank * k, 4), drawn(n * rank, 5)];
  return problem("Linear layer with low-rank branch", async () => ({
    found: await read(() => {
      const branch = { a: onGpu(a, rank, k), b: onGpu(b, n, rank), scale: 1.5 };
      return linear(onGpu(x, m, k), onGpu(w, n, k), onGpu(bias, n), branch);
    }),
    expected: host.sum(
      host.sum(host.product(exact(x), exact(w), k), exact(bias)),
      host.product(host.product(exact(x), exact(a), k), exact(b), rank),
      1.5,
    ),
  }));
}

function packed(storage: WeightStorage, m: number, arithmetic: Arithmetic): Problem {
  const [n, k] = [37, 72];
  const [x, w] = [drawn(m * k, 1), drawn(n * k, 2)];
  const how = arithmetic === "f16" ? ", half-precision products" : "";
  const name = `Weights in ${storage}${how}, ${m === 1 ? "one row" : `${m} rows`}`;
  const solve = async (): Promise<Outcome> => {
    const matrix = packMatrix(w, [n, k], storage);
    try {
      const rows = packRows(storage, w, n, k);
      const stored = rows === undefined ? w : unpackRows(storage, rows, n, k);
      return {
        found: await read(() => packedLinear(onGpu(x, m, k), matrix, undefined, undefined, arithmetic)),
        expected: host.product(exact(x), exact(stored), k),
      };
    } finally {
      matrix.dispose();
    }
  };
  return problem(name, solve, arithmetic === "f16" ? HALF : SINGLE);
}

function attends(width: number, length: number, causal: boolean, heads = 4, keyHeads = 2): Problem {
  const size = length * width;
  const [q, k, v] = [drawn(heads * size, 1), drawn(keyHeads * size, 2), drawn(keyHeads * size, 3)];
  const scale = 1 / Math.sqrt(width);
  const long = length < 100 ? "" : `, ${length} keys`;
  return problem(`Attention, heads of ${width}${long}${causal ? ", causal" : ""}`, async () => ({
    found: await read(() => {
      const at = (values: Float32Array, count: number): Tensor => onGpu(values, 1, count, length, width);
      return attention(at(q, heads), at(k, keyHeads), at(v, keyHeads), scale, undefined, causal ? {} : undefined);
    }),
    expected: host.attention(exact(q), exact(k), exact(v), scale, { heads, keyHeads, length, width, causal }),
  }));
}

function pointwise(): Problem[] {
  const [rows, width] = [7, 45];
  const [x, weight, bias] = [drawn(rows * width, 1), drawn(width, 2), drawn(width, 3)];
  const up = drawn(rows * width, 4);
  return [
    problem("RMSNorm", async () => ({
      found: await read(() => rmsNorm(onGpu(x, rows, width), onGpu(weight, width), 1e-6)),
      expected: host.rmsNorm(exact(x), exact(weight), 1e-6),
    })),
    problem("LayerNorm", async () => ({
      found: await read(() => layerNorm(onGpu(x, rows, width), onGpu(weight, width), onGpu(bias, width), 1e-6)),
      expected: host.layerNorm(exact(x), exact(weight), exact(bias), 1e-6),
    })),
    problem("SwiGLU", async () => ({
      found: await read(() => swiglu(onGpu(x, rows, width), onGpu(up, rows, width))),
      expected: host.swiglu(exact(x), exact(up)),
    })),
  ];
}

function scored(rows: number, words: number): Problem {
  const logits = drawn(rows * words, 1).map((value) => 8 * value);
  const ids = Int32Array.from({ length: rows }, (_, row) => (row * 13) % words);
  const of = words < 100 ? "" : ` of ${words} words`;
  return problem(`Token log-probabilities and entropy${of}`, async () => {
    const logs = host.logSoftmax(exact(logits), words);
    const entropies = Array.from({ length: rows }, (_, row) => {
      const own = logs.slice(row * words, (row + 1) * words);
      return -own.reduce((total, log) => total + Math.exp(log) * log, 0);
    });
    return {
      found: await read(() => {
        const scores = tokenScores(onGpu(logits, rows, words), tf.tensor1d(ids, "int32"), 1, Infinity);
        return tf.concat([scores.logp, scores.entropy]);
      }),
      expected: [...Array.from(ids, (id, row) => logs[row * words + id] as number), ...entropies],
    };
  });
}

/** One update of a matrix whose gradient is the sum over two groups. */
function update(): Problem {
  const [rows, columns] = [30, 50];
  const count = rows * columns;
  const [theta, first, second] = [drawn(count, 1), drawn(count, 2), drawn(count, 3)];
  const [rate, clip, decay] = [0.01, 0.5, 0.1];
  const { beta1, beta2, eps } = ADAM_DEFAULTS;
  return problem("AdamW update", async () => {
    const params = { theta: onGpu(theta, rows, columns) };
    const state = AdamState.fresh(params);
    const sum = new GradientSum(state.layout);
    try {
      sum.add({ theta: onGpu(first, rows, columns) });
      sum.add({ theta: onGpu(second, rows, columns) });
      const next = applyAdamw(params, sum, state, rate, { ...ADAM_DEFAULTS, weightDecay: decay }, clip);
      const found = (await (next.theta as Tensor).data()) as Float32Array;
      disposeSet(next);
      const expected = Float64Array.from(theta, (value, i) => {
        const gradient = clip * ((first[i] as number) + (second[i] as number));
        const moments = [((1 - beta1) * gradient) / (1 - beta1), ((1 - beta2) * gradient ** 2) / (1 - beta2)] as const;
        return value * (1 - rate * decay) - (rate * moments[0]) / (Math.sqrt(moments[1]) + eps);
      });
      return { found, expected };
    } finally {
      sum.dispose();
      state.dispose();
      disposeSet(params);
    }
  });
}

/**
 * Slopes of log-probabilities along random directions, through a layer with a low-rank branch, a norm, attention and a
 * gate.
 */
function gradients(): Problem {
  const [length, width, heads, rank, words] = [9, 32, 4, 4, 23];
  const [x, w, a, b] = [
    drawn(length * width, 1),
    drawn(width * width, 2),
    drawn(rank * width, 3),
    drawn(width * rank, 4),
  ];
  const [weight, head] = [drawn(width, 5).map((value) => 1 + 0.1 * value), drawn(words * width, 6)];
  const ids = Int32Array.from({ length }, (_, place) => (place * 7) % words);
  const scale = Math.sqrt(heads / width);
  const inputs: readonly (readonly [Float32Array<ArrayBuffer>, number, number])[] = [
    [x, length, width],
    [a, rank, width],
    [b, width, rank],
  ];
  /** Heads are adjacent rows of the layer's result, so no axes have to be swapped. */
  const onHost = ([rows, down, upwards]: readonly Numbers[]): number => {
    const [input, lowA, lowB] = [rows, down, upwards] as [Numbers, Numbers, Numbers];
    const linearOut = host.sum(
      host.product(input, exact(w), width),
      host.product(host.product(input, lowA, width), lowB, rank),
      2,
    );
    const normed = host.rmsNorm(linearOut, exact(weight), 1e-6);
    const sizes = { heads, keyHeads: heads, length, width: width / heads, causal: true };
    const gated = host.swiglu(host.attention(normed, normed, normed, scale, sizes), normed);
    const logs = host.logSoftmax(host.product(gated, exact(head), width), words);
    return ids.reduce((total, id, place) => total + (logs[place * words + id] as number), 0);
  };
  const onDevice = (rows: Tensor, down: Tensor, upwards: Tensor): Tensor => {
    const branch = { a: down, b: upwards, scale: 2 };
    const normed = rmsNorm(linear(rows, onGpu(w, width, width), undefined, branch), onGpu(weight, width), 1e-6);
    const split = normed.reshape([1, heads, length, width / heads]);
    const out = attention(split, split, split, scale, undefined, {}).reshape([length, width]);
    const logits = linear(swiglu(out, normed), onGpu(head, words, width));
    return tokenScores(logits, tf.tensor1d(ids, "int32"), 1, Infinity).logp.sum();
  };
  return problem(
    "Gradients",
    async () => {
      const tensors = inputs.map(([values, ...shape]) => onGpu(values, ...shape)) as [Tensor, Tensor, Tensor];
      const { value, grads } = tf.engine().gradients(() => onDevice(...tensors).asScalar(), tensors);
      try {
        const at = inputs.map(([values]) => exact(values));
        const [found, expected]: [number[], number[]] = [[(await value.data())[0] as number], [onHost(at)]];
        for (const [place, [values]] of inputs.entries()) {
          const direction = exact(drawn(values.length, 11 + place));
          found.push(host.inner((await (grads[place] as Tensor).data()) as Float32Array, direction));
          const along = (moved: Numbers): number => onHost(at.map((own, i) => (i === place ? moved : own)));
          expected.push(host.slope(along, at[place] as Numbers, direction));
        }
        return { found, expected };
      } finally {
        tf.dispose([value, ...grads, ...tensors]);
      }
    },
    SLOPE,
  );
}

/** Sampled tokens and their log-probabilities; a different token counts as an error of 1. */
function decoding(): Problem {
  return problem(
    "Sampled tokens, their log-probabilities",
    async () => {
      const { found, expected, different } = await decodeTwice();
      return { found: [...found, different], expected: [...expected, 0] };
    },
    DECODED,
  );
}

/** All short checks, in the order in which a step uses the programs. */
export function problems(): Problem[] {
  const storages = ["f16", "q8", "q4"] as const;
  return [
    ...products(33),
    ...products(1),
    lowRank(),
    ...storages.flatMap((storage) => [packed(storage, 20, "f32"), packed(storage, 1, "f32")]),
    ...(halfPrograms() ? storages.map((storage) => packed(storage, 20, "f16")) : []),
    attends(16, 21, true),
    attends(72, 21, true),
    attends(72, 49, false),
    ...pointwise(),
    scored(7, 45),
    decoding(),
    gradients(),
    update(),
  ];
}

/** Lengths of Sa2VA-1B at which other programs run: sums of an MLP, keys of a tile, tokens of the vocabulary. */
export function lengthProblems(): Problem[] {
  return [...products(16, 40, 4864), attends(40, 1025, false, 1, 1), scored(3, 151_674)];
}

/** Attention at the sizes of Sa2VA-1B, with the keys of a tile and of a prompt; the host takes minutes. */
export function longProblems(): Problem[] {
  return [attends(64, 1025, false), attends(64, 3456, true)];
}
