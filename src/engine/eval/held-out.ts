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
import { describeMasks, segmentPhrases } from "../policy/partner.ts";
import { type PhraseOutput, phraseOutputs } from "../policy/phrase-output.ts";
import { answerRule, captionPrompt, countCells, regionCells } from "../policy/prompts.ts";
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

/** Scores rows in order; rows whose mask covers no visual token are left out. */
export async function evaluateRows(deps: EvalDeps, indices: readonly number[]): Promise<readonly RowScores[]> {
  const scores: RowScores[] = [];
  for (const index of indices) {
    const row = await deps.rows(index);
    const features = await deps.features.get(row.summary.imageId, row.rgb);
    try {
      const score = await evaluateRow(deps, row, features, index);
      if (score !== null) scores.push(score);
    } finally {
      disposeFeatures(features);
    }
  }
  return scores;
}

async function evaluateRow(
  deps: EvalDeps,
  row: TrainingRow,
  features: ImageFeatures,
  index: number,
): Promise<RowScores | null> {
  const { model, config } = deps;
  const { height, width } = row.rgb;
  const truth = row.summary.caption;
  const cells = regionCells(model, row.mask, height, width, config.smallRegions === "force");
  if (countCells(cells) === 0) return null;

  // Loop 1: one greedy and EVAL_DRAWS sampled captions, grounded by the partner.
  const [greedy] = await captionsOf(deps, features, cells, true, index);
  const sampled = await captionsOf(deps, features, cells, false, index);
  const grounded = await segmentPhrases(model, deps.partner, features, [greedy ?? "", ...sampled], height, width);
  const overlaps = grounded.map((mask) => (mask === null ? 0 : maskIou(mask, row.mask).iou));

  // Loop 2: every candidate mask, described by the partner and weighted by its probability.
  const outputs = phraseOutputs(model, deps.policy, [{ features, phrase: truth }]);
  const [output] = outputs.all as readonly [PhraseOutput];
  const acted = await candidatePolicy(config.candidateTemperature).act(output, 1, NO_DRAWS);
  const [found] = await readMasks([{ lowRes: acted.logits, height, width }], model.config.sam2.imageSize);
  const masks = (found as FoundMask[]).map(({ mask }) => mask);
  tf.dispose([acted.logits, acted.greedy]);
  outputs.dispose();
  const told = await describeMasks(model, deps.partner, features, masks, height, width, {
    maxNewTokens: config.partnerMaxTokens,
    logitGuard: config.logitGuard,
    keepTiny: config.smallRegions === "force",
    signal: deps.signal,
  });
  const pairs = [greedy ?? "", ...told].map((hypothesis) => ({ reference: truth, hypothesis: hypothesis ?? "" }));
  const [captionScore = 0, ...toldScores] = (await deps.scorer.score(pairs)).map((scored) => scored.reward ?? 0);
  const weights = acted.weights ?? [];
  const best = weights.indexOf(Math.max(...weights));
  return {
    rowId: row.summary.id,
    caption: truth,
    captionGreedy: greedy ?? "",
    maskPrime: grounded[0] ? encodeRle(grounded[0], height, width) : null,
    maskGreedy: encodeRle(masks[best] as Uint8Array, height, width),
    captionPrime: told[best] ?? "",
    loop1_greedy: overlaps[0] ?? 0,
    loop1_sampled: overlaps.slice(1).reduce((sum, iou) => sum + iou, 0) / EVAL_DRAWS,
    loop2_sampled: toldScores.reduce((sum, score, k) => sum + score * (weights[k] as number), 0),
    loop2_greedy: toldScores[best] ?? 0,
    grounding_iou: maskIou(masks[best] as Uint8Array, row.mask).iou,
    caption_meteor: captionScore,
  };
}

async function captionsOf(
  deps: EvalDeps,
  features: ImageFeatures,
  cells: Uint8Array,
  greedy: boolean,
  index: number,
): Promise<string[]> {
  const { model, config } = deps;
  const prompt = captionPrompt(model, features.tiles, cells);
  const batch = captionBatch(model, deps.policy, features, prompt, greedy ? 1 : EVAL_DRAWS);
  const rule = answerRule(model);
  const [generated] = await generate(model, deps.policy, [batch], {
    maxNewTokens: config.maxNewTokens,
    sampler: { ...FULL_SAMPLING, guard: config.logitGuard },
    greedy,
    key: (_, rollout) => ({
      seed: EVAL_SEED,
      step: 0,
      loop: 1,
      row: index,
      rollout,
      position: 0,
      stream: EVAL_STREAM,
    }),
    stop: (ids) => rule.reached(ids),
    signal: deps.signal,
  });
  tf.dispose([batch.prefix, batch.tails]);
  return (generated?.completions ?? []).map((completion) => rule.answer(completion.ids));
}
