/**
 * Held-out evaluation: fixed rows, fixed draws, so that two points of a run differ by their weights alone. Both loops'
 * rewards, sampled and greedy, and the two truths that a private language or a drifting mask decoder would hurt:
 * caption → mask IoU and mask → caption METEOR against the data set.
 */
import type { LabConfig } from "../config/table.ts";
import { maskIou } from "../data/rle-compare.ts";
import { encodeRle } from "../data/rle-mask.ts";
import type { RowSource, TrainingRow } from "../data/training-row.ts";
import { tf } from "../gpu/tf.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { type FoundMask, readMasks } from "../model/sam2/postprocess.ts";
import type { Weights } from "../model/weights.ts";
import { candidatePolicy } from "../policy/candidate-policy.ts";
import { captionBatch } from "../policy/caption-policy.ts";
import { disposeFeatures, type FeatureCache, type ImageFeatures } from "../policy/features.ts";
import { generate } from "../policy/generate.ts";
import { describePictures, findInPictures } from "../policy/partner.ts";
import { phraseOutputs } from "../policy/phrase-output.ts";
import { answerRule, captionPrompt, countCells, type RegionCells, regionCells } from "../policy/prompts.ts";
import { FULL_SAMPLING } from "../policy/sampler.ts";
import type { CaptionScorer } from "../rewards/types.ts";
import type { RowScores } from "../runs/evaluations.ts";

export interface EvalDeps {
  readonly model: Sa2vaModel;
  readonly config: LabConfig;
  readonly policy: Weights;
  readonly partner: Weights;
  readonly features: FeatureCache;
  readonly scorer: CaptionScorer;
  readonly rows: RowSource;
  readonly signal: AbortSignal;
}

/** Sampled captions per row. */
export const EVAL_DRAWS = 4;
/** Stream number of evaluation draws, apart from those of training. */
const EVAL_STREAM = 65;
/** Draws do not depend on the run's seed, so that runs can be compared with each other. */
const EVAL_SEED = 20_260_101;

/** The candidates are all played, so nothing is drawn. */
const NO_DRAWS = { normal: () => 0, uniform: () => 0.5 };

/** Rows that are scored together where the settings set no limit. */
const MOST_AT_ONCE = 8;

/** A row with what the policy and the partner work on. */
interface Asked {
  readonly index: number;
  readonly row: TrainingRow;
  readonly features: ImageFeatures;
  /** Cells of the region; at least one. */
  readonly cells: RegionCells;
}

/**
 * Scores rows in order; rows whose mask covers no visual token are left out.
 * @param onRows told how many of the rows are done whenever some more are
 */
export async function evaluateRows(
  deps: EvalDeps,
  indices: readonly number[],
  onRows?: (done: number) => void,
): Promise<readonly RowScores[]> {
  const { groupsAtOnce } = deps.config;
  const most = groupsAtOnce === 0 ? MOST_AT_ONCE : groupsAtOnce;
  const scores: RowScores[] = [];
  for (let from = 0; from < indices.length; from += most) {
    const asked: Asked[] = [];
    try {
      for (const index of indices.slice(from, from + most)) {
        const row = await deps.rows(index);
        const { height, width } = row.rgb;
        const cells = regionCells(deps.model, row.mask, height, width, deps.config.smallRegions === "force");
        if (countCells(cells) === 0) continue;
        asked.push({ index, row, cells, features: await deps.features.get(row.summary.imageId, row.rgb) });
      }
      if (asked.length > 0) scores.push(...(await scoreTogether(deps, asked)));
    } finally {
      for (const { features } of asked) disposeFeatures(features);
    }
    onRows?.(Math.min(from + most, indices.length));
  }
  return scores;
}

async function scoreTogether(deps: EvalDeps, asked: readonly Asked[]): Promise<RowScores[]> {
  const { model, config } = deps;
  const sizes = asked.map(({ row: { rgb } }) => ({ height: rgb.height, width: rgb.width }));
  const sizeOf = (at: number) => sizes[at] as (typeof sizes)[number];

  // Loop 1: one greedy and EVAL_DRAWS sampled captions, grounded by the partner.
  const greedy = await captionsOf(deps, asked, true);
  const sampled = await captionsOf(deps, asked, false);
  const phrases = asked.map((_, at) => [greedy[at]?.[0] ?? "", ...(sampled[at] as string[])]);
  const grounded = await findInPictures(
    model,
    deps.partner,
    asked.map(({ features }, at) => ({ features, phrases: phrases[at] as string[], ...sizeOf(at) })),
  );

  // Loop 2: every candidate mask, described by the partner and weighted by its probability.
  const acted = await candidatesOf(deps, asked, sizes);
  const told = await describePictures(
    model,
    deps.partner,
    asked.map(({ features }, at) => ({ features, masks: acted[at]?.masks ?? [], ...sizeOf(at) })),
    {
      maxNewTokens: config.partnerMaxTokens,
      logitGuard: config.logitGuard,
      keepTiny: config.smallRegions === "force",
      signal: deps.signal,
    },
  );
  const scores: RowScores[] = [];
  for (const [at, { row }] of asked.entries()) {
    const found = (grounded[at] as (FoundMask | null)[]).map((one) => one?.mask ?? null);
    const answers = { greedy: phrases[at]?.[0] ?? "", found, told: told[at] as (string | null)[] };
    scores.push(await rowScores(deps, row, answers, acted[at] as Candidates));
  }
  return scores;
}

interface Candidates {
  /** 0/1 at picture size. */
  readonly masks: readonly Uint8Array[];
  /** Their probabilities. */
  readonly weights: readonly number[];
}

async function candidatesOf(
  { model, config, policy }: EvalDeps,
  asked: readonly Asked[],
  sizes: readonly { readonly height: number; readonly width: number }[],
): Promise<Candidates[]> {
  const about = asked.map(({ features, row }) => ({ features, phrase: row.summary.caption }));
  const outputs = phraseOutputs(model, policy, about);
  const logits: tf.Tensor[] = [];
  try {
    const weights: (readonly number[])[] = [];
    for (const output of outputs.all) {
      const acted = await candidatePolicy(config.candidateTemperature).act(output, 1, NO_DRAWS);
      acted.greedy.dispose();
      logits.push(acted.logits);
      weights.push(acted.weights ?? []);
    }
    const sized = sizes.map((size, at) => ({ lowRes: logits[at] as tf.Tensor, ...size }));
    const found = await readMasks(sized, model.config.sam2.imageSize);
    return found.map((masks, at) => ({ masks: masks.map(({ mask }) => mask), weights: weights[at] ?? [] }));
  } finally {
    tf.dispose(logits);
    outputs.dispose();
  }
}

interface Answers {
  /** The policy's caption without sampling. */
  readonly greedy: string;
  /** What the partner finds for that caption and for the sampled ones. */
  readonly found: readonly (Uint8Array | null)[];
  /** What the partner says of every candidate. */
  readonly told: readonly (string | null)[];
}

async function rowScores(
  deps: EvalDeps,
  row: TrainingRow,
  { greedy, found, told }: Answers,
  { masks, weights }: Candidates,
): Promise<RowScores> {
  const { height, width } = row.rgb;
  const truth = row.summary.caption;
  const overlaps = found.map((mask) => (mask === null ? 0 : maskIou(mask, row.mask).iou));
  const pairs = [greedy, ...told].map((hypothesis) => ({ reference: truth, hypothesis: hypothesis ?? "" }));
  const [captionScore = 0, ...toldScores] = (await deps.scorer.score(pairs)).map((scored) => scored.reward ?? 0);
  const best = weights.indexOf(Math.max(...weights));
  const grounding = maskIou(masks[best] as Uint8Array, row.mask);
  return {
    rowId: row.summary.id,
    caption: truth,
    captionGreedy: greedy,
    maskPrime: found[0] ? encodeRle(found[0], height, width) : null,
    maskGreedy: encodeRle(masks[best] as Uint8Array, height, width),
    groundingPixels: [grounding.intersection, grounding.union],
    captionPrime: told[best] ?? "",
    loop1_greedy: overlaps[0] ?? 0,
    loop1_sampled: overlaps.slice(1).reduce((sum, iou) => sum + iou, 0) / EVAL_DRAWS,
    loop2_sampled: toldScores.reduce((sum, score, k) => sum + score * (weights[k] as number), 0),
    loop2_greedy: toldScores[best] ?? 0,
    grounding_iou: grounding.iou,
    caption_meteor: captionScore,
  };
}

/** Captions of the policy for each row, one greedy or EVAL_DRAWS sampled ones. */
async function captionsOf(deps: EvalDeps, asked: readonly Asked[], greedy: boolean): Promise<string[][]> {
  const { model, config } = deps;
  const batches = asked.map(({ features, cells }) => {
    const prompt = captionPrompt(model, features.tiles, cells);
    return captionBatch(model, deps.policy, features, prompt, greedy ? 1 : EVAL_DRAWS);
  });
  const rule = answerRule(model);
  const generated = await generate(model, deps.policy, batches, {
    maxNewTokens: config.maxNewTokens,
    sampler: { ...FULL_SAMPLING, guard: config.logitGuard },
    greedy,
    key: (group, rollout) => ({
      seed: EVAL_SEED,
      step: 0,
      loop: 1,
      row: (asked[group] as Asked).index,
      rollout,
      position: 0,
      stream: EVAL_STREAM,
    }),
    stop: (ids) => rule.reached(ids),
    signal: deps.signal,
  }).finally(() => tf.dispose(batches.flatMap(({ prefix, tails }) => [prefix, tails])));
  return generated.map(({ completions }) => completions.map((completion) => rule.answer(completion.ids)));
}
