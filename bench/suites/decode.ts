/**
 * Cached decoding of a small decoder (64 wide, 2 layers, 4 heads, SwiGLU 176, 512 tokens): our programs, which draw on
 * the GPU and read back once per few tokens, against the stock ops. Greedy stock decoding reads nothing back before the
 * end either (arg max on the GPU), the best that stock ops can do; sampling must read the logits back. Times are
 * milliseconds per token for the whole batch, without the prompt.
 */

import { STREAM } from "../../src/engine/gpu/random.ts";
import { atOnce } from "../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { LanguageConfig } from "../../src/engine/model/language/config-language.ts";
import {
  disposeCache,
  embedTokens,
  type KvCache,
  languageForward,
  languageLogits,
} from "../../src/engine/model/language/language.ts";
import { languageLinears, languageShapes } from "../../src/engine/model/language/language-families.ts";
import { type Weights, weightsView } from "../../src/engine/model/weights/weights.ts";
import { decodeOnGpu } from "../../src/engine/policy/decode/decode-gpu.ts";
import { decodeOnHost } from "../../src/engine/policy/decode/decode-host.ts";
import { disposePrefilled, type Prefilled, prefill, promptsByRow } from "../../src/engine/policy/decode/prefill.ts";
import { FULL_SAMPLING, type GenerateOptions, type RowAddress } from "../../src/engine/policy/decode/sampler.ts";
import { TINY_DECODER } from "../../src/plugins/diagnostics/checks.ts";
import { switchBaseline } from "../baselines/tensors.ts";
import type { BenchContext } from "../context.ts";
import { type BenchRow, benchRow, median } from "../row.ts";

const CONFIG: LanguageConfig = {
  ...TINY_DECODER,
  vocabSize: 512,
  hiddenSize: 64,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headSize: 16,
  mlpSize: 176,
};
const PROMPT = 40;
const TOKENS = 24;
const GROUP = 8;
const RANK = 16;
/** Runs of our decoder in one measurement. */
const REPEATS = 3;

interface Batch {
  readonly weights: Weights;
  readonly prompts: Prefilled;
  readonly address: readonly RowAddress[];
}

/** Random weights: the time does not depend on the decoded tokens. */
function randomWeights(rank: number): Weights {
  const random = (shape: readonly number[]): Tensor => tf.randomNormal([...shape], 0, 0.1, "float32", 1);
  const frozen = new Map(languageShapes(CONFIG).map(([name, shape]) => [name, random(shape)] as const));
  const adapters = rank === 0 ? [] : languageLinears(CONFIG);
  const trainable = adapters.flatMap(({ path, inSize, outSize }): [string, Tensor][] => [
    [`${path}.lora_A.weight`, random([rank, inSize])],
    [`${path}.lora_B.weight`, random([outSize, rank])],
  ]);
  return weightsView(frozen, Object.fromEntries(trainable), 2);
}

function batchOf(weights: Weights, rows: number): Batch {
  const { hiddenSize } = CONFIG;
  const prefix = tf.randomNormal([1, PROMPT, hiddenSize], 0, 1, "float32", 2);
  const tails = tf.randomNormal([rows, 1, hiddenSize], 0, 1, "float32", 3);
  const prompts = atOnce(prefill(weights, CONFIG, [{ prefix, tails, tailLengths: new Array<number>(rows).fill(1) }]));
  const key = { seed: 1, step: 1, loop: 1, row: 0, position: 0, stream: STREAM.token };
  const address = Array.from({ length: rows }, (_, rollout) => ({ key: { ...key, rollout }, promptIds: [] }));
  return { weights, prompts, address };
}

const options = (greedy: boolean): GenerateOptions => ({
  maxCompletionLength: TOKENS,
  sampler: FULL_SAMPLING,
  greedy,
  key: () => ({ seed: 1, step: 1, loop: 1, row: 0, rollout: 0, position: 0, stream: STREAM.token }),
  stop: () => false,
});

/** Greedy decoding with stock ops that reads back only the ids at the end. */
async function stockGreedy({ weights, prompts }: Batch): Promise<void> {
  const rows = prompts.head.length;
  let cache: KvCache | undefined;
  let x = prompts.first.reshape([rows, 1, -1]);
  const ids: Tensor[] = [];
  for (let position = 0; position < TOKENS; position++) {
    const past = cache ?? (promptsByRow(prompts) as KvCache);
    let fresh: KvCache = [];
    const [id, next] = tf.tidy(() => {
      const positions = [[PROMPT + position]];
      const out = languageForward(weights, CONFIG, x, { past, positions });
      const best = tf.argMax(languageLogits(weights, out.hidden.reshape([rows, -1])), 1);
      for (const { k, v } of out.cache) {
        tf.keep(k);
        tf.keep(v);
      }
      fresh = out.cache;
      return [best, embedTokens(weights, CONFIG, best.reshape([rows, 1]))];
    }) as [Tensor, Tensor];
    if (cache !== undefined) disposeCache(cache);
    cache = fresh;
    x.dispose();
    x = next;
    ids.push(id);
  }
  await tf.tidy(() => tf.stack(ids)).data();
  tf.dispose([x, ...ids]);
  if (cache !== undefined) disposeCache(cache);
}

type Decode = (batch: Batch) => Promise<unknown>;
const own =
  (greedy: boolean): Decode =>
  ({ weights, prompts, address }) =>
    decodeOnGpu(CONFIG, weights, prompts, address, options(greedy));
const stockSampled: Decode = ({ weights, prompts, address }) =>
  decodeOnHost(CONFIG, weights, prompts, address, options(false));

/** Rounds end when a rank's share of the time is used up; the first round of each is always measured. */
export async function* decodeRows(context: BenchContext): AsyncGenerator<BenchRow> {
  const ranks = [0, RANK];
  for (const [index, rank] of ranks.entries()) {
    const left = context.deadline - performance.now();
    if (left <= 0) {
      context.leftOut(`decoding${suffixOf(rank)}`, "the time was up");
      continue;
    }
    const weights = randomWeights(rank);
    const [group, single] = [batchOf(weights, GROUP), batchOf(weights, 1)];
    const runs: Readonly<Record<string, readonly [Batch, Decode, boolean]>> = {
      "own greedy": [group, own(true), true],
      "stock greedy": [group, stockGreedy, false],
      "own sampled": [group, own(false), true],
      "stock sampled": [group, stockSampled, false],
      "own single": [single, own(true), true],
      "stock single": [single, stockGreedy, false],
    };
    const times = await timesOf(runs, context, performance.now() + left / (ranks.length - index));
    yield* rowsOfTimes(times, suffixOf(rank), context);
    for (const { prompts } of [group, single]) disposePrefilled(prompts);
  }
}

const suffixOf = (rank: number): string => (rank === 0 ? "" : `, adapter of rank ${rank}`);

/** Milliseconds per token, one list per run. */
async function timesOf(
  runs: Readonly<Record<string, readonly [Batch, Decode, boolean]>>,
  { clock, rounds }: BenchContext,
  end: number,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>(Object.keys(runs).map((name) => [name, []]));
  try {
    // The first round compiles and does not count.
    for (let round = -1; round < rounds && (round < 1 || performance.now() < end); round++) {
      for (const [name, [batch, run, ours]] of Object.entries(runs)) {
        switchBaseline(ours);
        // Our runs are short, and a clock of processor time is coarse.
        const repeats = ours ? REPEATS : 1;
        const start = await clock();
        for (let i = 0; i < repeats; i++) await run(batch);
        if (round >= 0) times.get(name)?.push(((await clock()) - start) / TOKENS / repeats);
      }
    }
  } finally {
    switchBaseline(true);
  }
  return times;
}

function* rowsOfTimes(times: Map<string, number[]>, suffix: string, context: BenchContext): Generator<BenchRow> {
  const { adapter, where } = context;
  const of = (name: string): number[] => times.get(name) ?? [];
  const ratio = (a: string, b: string): number => median(of(a).map((time, i) => time / (of(b)[i] as number)));
  const row = (what: string, name: string): BenchRow =>
    benchRow(
      { suite: "decode", case: `${what}${suffix}`, adapter, where },
      { own: of(`own ${name}`), stock: of(`stock ${name}`) },
    );
  yield row(`group of ${GROUP}, greedy`, "greedy");
  yield { ...row(`group of ${GROUP}, sampled`, "sampled"), ratio_greedy: ratio("own greedy", "own sampled") };
  yield { ...row("one row, greedy", "single"), ratio_group: GROUP * ratio("own single", "own greedy") };
}
