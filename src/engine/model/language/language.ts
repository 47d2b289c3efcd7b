/**
 * The language model: embeddings in, normed hidden states and a key/value cache out. Training log-probabilities and
 * cached decoding both use this function (docs/spec/sa2va.md#10-splicing-visual-tokens,
 * docs/spec/sa2va.md#11-language-models).
 */

import { badInput, LabError } from "../../errors.ts";
import { swiglu } from "../../gpu/kernels/activation.ts";
import { attendsInBlocks, attention, causalMask } from "../../gpu/kernels/attention/attention.ts";
import { headScores } from "../../gpu/kernels/attention/head-scores.ts";
import { type TokenScores, tokenScores } from "../../gpu/kernels/logprob.ts";
import { rmsNorm } from "../../gpu/kernels/norm.ts";
import { pickRows, repeatRows } from "../../gpu/kernels/repeat.ts";
import { angleTable, applyRope, type Place, type RopeTable } from "../../gpu/kernels/rope.ts";
import { LOGIT_BYTES } from "../../gpu/memory-sizes.ts";
import { packedLinear } from "../../gpu/packed/linear.ts";
import { PackedMatrix } from "../../gpu/packed/matrix.ts";
import { recomputed } from "../../gpu/runtime/recompute.ts";
import { onTape } from "../../gpu/runtime/tape.ts";
import { atOnce, type Paced, tidied } from "../../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { Probe } from "../probe.ts";
import { activatedLayer, addLayer, linearLayer, matrixRows, timesMatrix } from "../weights/linear-layer.ts";
import type { Matrix, Weights } from "../weights/weights.ts";
import { inOrder, type LanguageConfig, nextTo } from "./config-language.ts";
import { blockParts, blockPath, EMBEDDING_NAMES, finalNorm, HEAD_NAMES, languageFamily } from "./language-families.ts";
import { ropeFrequencies } from "./rope-scaling.ts";

/** Rotated keys and values of one layer. */
interface LayerCache {
  /** [B, Hkv, T, d] */
  readonly k: Tensor;
  /** [B, Hkv, T, d] */
  readonly v: Tensor;
}

/** One entry per layer; owned by the caller of the forward pass. */
export type KvCache = readonly LayerCache[];

/** Frees a cache. */
export function disposeCache(cache: KvCache): void {
  for (const { k, v } of cache) tf.dispose([k, v]);
}

/** The largest storage binding that every WebGPU device supports. */
const SCORE_BYTES = 128 * 2 ** 20;

interface ForwardOptions {
  /** Keys and values of earlier tokens, not disposed here; a batch of 1 is shared by all rows of x. */
  readonly past?: KvCache;
  /**
   * Row of `past` that each row of x continues; by default the row of the same index. Rows are repeated layer by layer,
   * so that only one layer's copy is in memory.
   */
  readonly pastRows?: readonly number[];
  /** Whether to return keys and values of the new tokens only. */
  readonly freshCache?: boolean;
  /** False frees keys and values of every block after it; the result's cache is then empty. */
  readonly keepCache?: boolean;
  /** Position of the first new token in every row; by default the length of `past`. Ignored with `positions`. */
  readonly offset?: number;
  /** Positions of the new tokens, one shared row or one per row of x. */
  readonly positions?: readonly (readonly Place[])[];
  /** Added to the scores on top of causality, broadcastable to [B, 1, T, past + T] (e.g. hidden padding). */
  readonly mask?: Tensor;
  /** Whether to differentiate in `mask`; blocks must not be recomputed then. */
  readonly learnsMask?: boolean;
  /** Receives `layer{i}.q_rope`, `layer{i}.k_rope` and the residual stream `hidden.{i}` (0 = x, i = after layer i). */
  readonly probe?: Probe;
  /**
   * Sequence length for rotary scaling; by default the largest new position + 1. When a prompt is computed in parts,
   * this is the length of the whole.
   */
  readonly ropeLength?: number;
  /** Maximum bytes of the scores of one attention; longer sequences are processed in runs of queries. */
  readonly scoreBytes?: number;
  /** False returns the states before the final norm; see `normed`. */
  readonly norm?: boolean;
}

interface ForwardResult {
  /** Hidden states after the final norm unless `norm` is false, [B, T, D]. */
  readonly hidden: Tensor;
  /** Keys and values of past and new tokens, only of the new tokens, or none. */
  readonly cache: KvCache;
}

/** Rows of the embedding: ids [B, T] int32 → [B, T, D]. Not differentiated: embeddings are frozen. */
export function embedTokens(w: Weights, config: LanguageConfig, ids: Tensor): Tensor {
  return matrixRows(w.matrix(languageFamily(config).embedding), ids);
}

/** `languagePass` without a wait, as a tape needs it. */
export function languageForward(
  w: Weights,
  config: LanguageConfig,
  x: Tensor,
  options: ForwardOptions = {},
): ForwardResult {
  return atOnce(languagePass(w, config, x, options));
}

/**
 * Runs all layers, one part of the recording each. Differentiable in x, in the low-rank branches and, through `past`, in the pass that computed it; the
 * gradient of a shared past is the sum over the rows.
 * @param x embeddings [B, T, D], or [B, T, (1 + n) · D] with what each of the first n layers adds to its output
 * @throws LabError("internal") when past, positions and x do not fit together
 */
export function* languagePass(
  w: Weights,
  config: LanguageConfig,
  x: Tensor,
  options: ForwardOptions = {},
): Paced<ForwardResult> {
  const [batch, length] = x.shape as [number, number, number];
  const { past, probe } = options;
  const pastLength = past?.[0]?.k.shape[2] ?? 0;
  checkForward(config, batch, length, options);
  const cache: LayerCache[] = [];
  const outputs = yield* tidied(function* () {
    const start = options.offset ?? pastLength;
    const positions = options.positions ?? [inOrder(start, length)];
    const reached = positions.reduce(
      (most, row) => row.reduce<number>((top, at) => Math.max(top, nextTo(at)), most),
      0,
    );
    const { perPosition, amplitude } = ropeFrequencies(config.rope, config.headSize, options.ropeLength ?? reached);
    const rope = angleTable(positions, perPosition, amplitude, config.rope.axes);
    const parts = (x.shape[2] as number) / config.hiddenSize;
    const [embedded, ...additions] = (parts === 1 ? [x] : tf.split(x, parts, 2)) as [Tensor, ...Tensor[]];
    let stream = embedded;
    for (let layer = 0; layer < config.layers; layer++) {
      probe?.(`hidden.${layer}`, stream);
      const block = { w, config, layer, past: past?.[layer], rope, options };
      const { x: next, k, v } = decoderBlock(block, stream);
      if (options.keepCache === false) tf.dispose([k, v]);
      else cache.push({ k, v });
      // Nothing uses it again, except a tape.
      if (layer > 0 && probe === undefined && !onTape()) stream.dispose();
      const added = additions[layer];
      stream = added === undefined ? next : next.add(added);
      yield;
    }
    probe?.(`hidden.${config.layers}`, stream);
    const hidden = options.norm === false ? stream : normed(w, config, stream);
    return { hidden, kept: cache.flatMap(({ k, v }) => [k, v]) };
  });
  return { hidden: outputs.hidden, cache };
}

/** The final norm, as `languageForward` applies it. */
export function normed(w: Weights, config: LanguageConfig, hidden: Tensor): Tensor {
  return rmsNorm(hidden, w.get(finalNorm(config)), config.rmsNormEps);
}

interface Block {
  readonly w: Weights;
  readonly config: LanguageConfig;
  readonly layer: number;
  readonly past: LayerCache | undefined;
  readonly rope: RopeTable;
  readonly options: ForwardOptions;
}

/**
 * One decoder block. Its inner activations are stored for the backward pass, or recomputed there if the weights are set
 * to recompute.
 */
function decoderBlock(block: Block, x: Tensor): LayerCache & { readonly x: Tensor } {
  const { w, config, layer, past, options } = block;
  const recompute = w.recompute;
  if (recompute === undefined || options.probe !== undefined) return runBlock(block, x);
  const held = past === undefined ? [x] : [x, past.k, past.v];
  const { cos, sin } = block.rope;
  const [next, k, v] = recomputed({
    inputs: held,
    parameters: recompute.trained(`${blockPath(config, layer)}.`),
    constants: options.mask === undefined ? [cos, sin] : [cos, sin, options.mask],
    run(inputs, constants) {
      const [stream, pastK, pastV] = inputs as [Tensor, Tensor?, Tensor?];
      const [cosine, sine, mask] = constants as [Tensor, Tensor, Tensor?];
      const out = runBlock(
        {
          ...block,
          past: pastK === undefined || pastV === undefined ? undefined : { k: pastK, v: pastV },
          rope: { ...block.rope, cos: cosine, sin: sine },
          options: mask === undefined ? options : { ...options, mask },
        },
        stream,
      );
      return [out.x, out.k, out.v];
    },
  }) as [Tensor, Tensor, Tensor];
  return { x: next, k, v };
}

/** Frees everything made inside a block, except what the tape has kept. */
function runBlock(block: Block, x: Tensor): LayerCache & { readonly x: Tensor } {
  const { w, config, layer, past, rope, options } = block;
  const [next, k, v] = tf.tidy(() => {
    const { norms, headNorms = [], projections, output, gated, down } = blockParts(config, layer);
    const [batch, length] = x.shape as [number, number, number];
    const { probe } = options;
    const normed = rmsNorm(x, w.get(norms[0]), config.rmsNormEps);
    const projected = projectHeads(w, config, projections, normed);
    const [queryNorm, keyNorm] = headNorms;
    const normedHeads = (heads: Tensor, norm: string | undefined): Tensor =>
      norm === undefined ? heads : rmsNorm(heads, w.get(norm), config.rmsNormEps);
    const q = applyRope(normedHeads(projected.q, queryNorm), rope);
    const fresh = applyRope(normedHeads(projected.k, keyNorm), rope);
    probe?.(`layer${layer}.q_rope`, q);
    probe?.(`layer${layer}.k_rope`, fresh);
    const keys = prepend(past?.k, fresh, batch, options.pastRows);
    const values = prepend(past?.v, projected.v, batch, options.pastRows);
    const reach = config.window !== undefined && layer >= config.window.firstLayer ? config.window.size : undefined;
    const scale = 1 / Math.sqrt(config.headSize);
    const mixed = causalAttention(q, keys, values, scale, options, reach).transpose([0, 2, 1, 3]);
    const attended = addLayer(w, output, mixed.reshape([batch, length, config.heads * config.headSize]), x);
    const inner = rmsNorm(attended, w.get(norms[1]), config.rmsNormEps);
    const out = addMlp(w, gated, down, inner, attended);
    return options.freshCache === true ? [out, fresh, projected.v] : [out, keys, values];
  }) as [Tensor, Tensor, Tensor];
  return { x: next, k, v };
}

/**
 * The matrix of the output head; a model that stores none shares the embedding.
 * @throws LabError("bad-input") when the weights have neither
 */
export function headMatrix(w: Weights): Matrix {
  for (const name of [...HEAD_NAMES, ...EMBEDDING_NAMES]) {
    const head = w.findMatrix(name);
    if (head !== undefined) return head;
  }
  throw badInput(`The checkpoint has no tensor "${HEAD_NAMES.join('" or "')}"`, HEAD_NAMES[0] as string);
}

/** Logits over the vocabulary: hidden [N, D] → [N, V]. */
export function languageLogits(w: Weights, hidden: Tensor): Tensor {
  return timesMatrix(hidden, headMatrix(w));
}

/**
 * Log-probability of `ids` after each hidden state and entropy of the distribution, [N] each; for a long vocabulary
 * without storing the logits. @param hidden [N, D] @param temperature τ > 0 @param guard clip bound, Infinity for none
 */
export function languageScores(
  w: Weights,
  hidden: Tensor,
  ids: Tensor,
  temperature: number,
  guard: number,
): TokenScores {
  const head = headMatrix(w);
  if (head instanceof PackedMatrix) return packedScores(head, hidden, ids, temperature, guard);
  return headScores(hidden, head, ids, temperature, guard);
}

/**
 * Attention of the last Tq of Tk positions, split into runs of queries so that no score array exceeds the limit. A run
 * reads only the keys that causality allows.
 */
function causalAttention(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  scale: number,
  options: ForwardOptions,
  reach: number | undefined,
): Tensor {
  const { learnsMask = false } = options;
  const causal = reach === undefined ? {} : { reach };
  if (!learnsMask && attendsInBlocks(q, k, v, options.mask, causal)) {
    return attention(q, k, v, scale, options.mask, causal);
  }
  const [batch, heads, length, width] = q.shape as [number, number, number, number];
  const [, keyHeads, keyLength, valueWidth] = v.shape as [number, number, number, number];
  const rowBytes = batch * heads * keyLength * Float32Array.BYTES_PER_ELEMENT;
  const run = Math.max(1, Math.floor((options.scoreBytes ?? SCORE_BYTES) / rowBytes));
  if (run >= length) {
    const mask = visibility(length, keyLength - length, keyLength, 0, options.mask, reach);
    return attention(q, k, v, scale, mask, undefined, { learnsMask });
  }
  const parts: Tensor[] = [];
  for (let start = 0; start < length; start += run) {
    const count = Math.min(run, length - start);
    const seen = keyLength - length + start + count;
    const mask = visibility(count, seen - count, seen, start, options.mask, reach);
    const queries = tf.slice(q, [0, 0, start, 0], [batch, heads, count, width]);
    const keys = tf.slice(k, [0, 0, 0, 0], [batch, keyHeads, seen, width]);
    const values = tf.slice(v, [0, 0, 0, 0], [batch, keyHeads, seen, valueWidth]);
    parts.push(attention(queries, keys, values, scale, mask, undefined, { learnsMask }));
  }
  return tf.concat(parts, 2);
}

/**
 * Causal mask of `length` queries after `before` keys, plus the caller's mask for them; undefined if everything is
 * visible.
 */
function visibility(
  length: number,
  before: number,
  keyLength: number,
  start: number,
  extra: Tensor | undefined,
  reach: number | undefined,
): Tensor | undefined {
  const near = reach !== undefined && keyLength > reach;
  const causal = length === 1 && !near ? undefined : causalMask(length, keyLength, before, near ? reach : undefined);
  if (extra === undefined) return causal;
  const [batch, heads, rows] = extra.shape as [number, number, number, number];
  const offset = rows === 1 ? 0 : start;
  const cut = tf.slice(extra, [0, 0, offset, 0], [batch, heads, rows === 1 ? 1 : length, keyLength]);
  return causal === undefined ? cut : causal.add(cut);
}

function prepend(past: Tensor | undefined, fresh: Tensor, batch: number, rows?: readonly number[]): Tensor {
  if (past === undefined) return fresh;
  const single = past.shape[0] === 1 && batch > 1;
  const repeated = single ? repeatRows(past, batch) : rows === undefined ? past : pickRows(past, rows);
  return tf.concat([repeated, fresh], 2);
}

function checkForward(config: LanguageConfig, batch: number, length: number, options: ForwardOptions): void {
  const { past, positions } = options;
  const pastBatch = options.pastRows?.length ?? past?.[0]?.k.shape[0];
  if (past !== undefined && past.length !== config.layers) {
    throw new LabError("internal", `A cache of ${past.length} layers does not fit a model of ${config.layers} layers`);
  }
  if (pastBatch !== undefined && pastBatch !== 1 && pastBatch !== batch) {
    throw new LabError("internal", `A cache of ${pastBatch} rows cannot continue a batch of ${batch}`);
  }
  if (positions === undefined) return;
  const rowsFit = positions.length === 1 || positions.length === batch;
  if (!rowsFit || positions.some((row) => row.length !== length)) {
    throw new LabError("internal", `Positions do not fit a batch of ${batch} rows of ${length} tokens`);
  }
  // A window counts cache positions, which padding shifts relative to token positions.
  const before = past?.[0]?.k.shape[2] ?? 0;
  const longest = before + length;
  if (config.window !== undefined && longest > config.window.size && positions.some(([first]) => first !== before)) {
    throw new LabError(
      "unsupported",
      `A padded batch of ${longest} positions is longer than this model's attention window of ${config.window.size}`,
      { subject: "llm_config.sliding_window" },
    );
  }
}

// The linear layers of a transformer block in every family, by the paths of `blockParts`.

/** Queries [B, Hq, T, d], keys and values [B, Hkv, T, d] of `x` [B, T, D], before rotation. */
function projectHeads(
  w: Weights,
  config: LanguageConfig,
  projections: readonly string[],
  x: Tensor,
): { readonly q: Tensor; readonly k: Tensor; readonly v: Tensor } {
  const { heads, kvHeads, headSize } = config;
  const [batch, length] = x.shape as [number, number, number];
  const layer = (at: number): Tensor => linearLayer(w, projections[at] as string, x);
  const parts = (): Tensor[] => {
    if (languageFamily(config).grouped !== true) {
      return tf.split(layer(0), [heads * headSize, kvHeads * headSize, kvHeads * headSize], 2);
    }
    // Rows run over batch, position and key/value head, so the reshape below brings a part's heads together again.
    const rows = layer(0).reshape([batch * length * kvHeads, -1]);
    return tf.split(rows, [(heads / kvHeads) * headSize, headSize, headSize], 1);
  };
  const fused = projections.length === 1 ? parts() : undefined;
  const separate = (at: number, count: number): Tensor =>
    (fused?.[at] ?? layer(at)).reshape([batch, length, count, headSize]).transpose([0, 2, 1, 3]);
  return { q: separate(0, heads), k: separate(1, kvHeads), v: separate(2, kvHeads) };
}

/** Adds the MLP of `x` to the stream, [B, T, D] each. */
function addMlp(w: Weights, gated: readonly string[], down: string, x: Tensor, stream: Tensor): Tensor {
  const [gate, up] = gated as [string, string?];
  const rows = linearLayer(w, gate, x);
  if (up !== undefined) return addLayer(w, down, activatedLayer(w, up, x, "gate", rows), stream);
  return addLayer(w, down, swiglu(...(tf.split(rows, 2, 2) as [Tensor, Tensor])), stream);
}

// Log-probabilities of chosen tokens with a packed head, without logits of all positions at once.

/**
 * log π and entropy of `ids` under the head, equal to `tokenScores` of its logits. Long inputs are processed in runs of
 * positions whose logits are dropped and recomputed in the backward pass: a published vocabulary takes 607 kB per
 * position, so the logits of a group would exceed bindings and memory (docs/spec/sa2va.md#17-sizes).
 * @param hidden [N, D]
 * @param ids [N] int32
 * @param logitBytes maximum bytes of logits at a time
 * @returns both [N]
 */
export function packedScores(
  head: PackedMatrix,
  hidden: Tensor,
  ids: Tensor,
  temperature: number,
  guard: number,
  logitBytes: number = LOGIT_BYTES,
): TokenScores {
  const [places, width] = hidden.shape as [number, number];
  const step = Math.max(1, Math.floor(logitBytes / (4 * head.shape[0])));
  const score = (states: Tensor, chosen: Tensor): Tensor[] => {
    const scores = tokenScores(packedLinear(states, head), chosen, temperature, guard);
    return [scores.logp, scores.entropy];
  };
  const [logp, entropy] = tf.tidy(() => {
    const list = ids.toInt();
    if (places <= step) return score(hidden, list);
    const runs: Tensor[][] = [];
    for (let from = 0; from < places; from += step) {
      const count = Math.min(step, places - from);
      runs.push(
        recomputed({
          inputs: [hidden.slice([from, 0], [count, width])],
          // The head is frozen and has no low-rank branch.
          parameters: [],
          constants: [list.slice([from], [count])],
          run: ([states], [chosen]) => tf.tidy(() => score(states as Tensor, chosen as Tensor)),
        }),
      );
    }
    return [0, 1].map((at) => tf.concat(runs.map((run) => run[at] as Tensor)));
  }) as [Tensor, Tensor];
  return { logp, entropy };
}
