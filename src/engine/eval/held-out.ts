/**
 * Held-out evaluation: fixed rows and seeds, so that two points of a run differ only by their weights. Both loops as
 * the run samples them (sampling settings, mask policy) and without sampling, scored by IoU and METEOR and by the run's own
 * reward, and the two truths that a private language or a drifting mask decoder would hurt: caption → mask IoU and
 * mask → caption METEOR against the data set.
 */
import type { LabConfig } from "../config/table.ts";
import type { RowSource, TrainingRow } from "../data/training-row.ts";
import { normal, type RandomKey, uniform } from "../gpu/random.ts";
import { tf } from "../gpu/tf.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { type FoundMask, readMasks } from "../model/sam2/postprocess.ts";
import type { Weights } from "../model/weights/weights.ts";
import { type JudgedPicture, wantedLikelihoods } from "../policy/caption-likelihood.ts";
import { captionBatch } from "../policy/caption-policy.ts";
import { generate } from "../policy/decode/generate.ts";
import { FULL_SAMPLING, samplerSettings } from "../policy/decode/sampler.ts";
import { disposeFeatures, type FeatureCache, type ImageFeatures } from "../policy/features.ts";
import { maskPolicyOf } from "../policy/mask/mask-policies.ts";
import type { MaskActions, MaskDraws } from "../policy/mask/mask-policy.ts";
import { describePictures, findInPictures } from "../policy/partner.ts";
import { type PhraseOutput, phraseOutputs } from "../policy/phrase-output.ts";
import {
  answerRule,
  type CaptionPrompt,
  captionPrompt,
  countCells,
  type RegionCells,
  regionCells,
} from "../policy/prompts.ts";
import type { RewardScorer } from "../rewards/types.ts";
import { LOOP_IDS, type LoopId } from "../rl/loops/abouts.ts";
import { EVAL_DRAWS, EVAL_SEED, EVAL_STREAM } from "../runs/evaluation-draws.ts";
import type { RowPart, RowScores } from "../runs/evaluations.ts";
import type { RunRows } from "../runs/run-rows.ts";
import { type Answers, type LoopFactsById, rowScores, type Said } from "./row-scores.ts";
import { type LoopFacts, type RunReward, runReward } from "./run-reward.ts";

export interface EvalDeps {
  readonly model: Sa2vaModel;
  readonly config: LabConfig;
  readonly policy: Weights;
  readonly partner: Weights;
  /** Weights the run began with. */
  readonly start: Weights;
  readonly features: FeatureCache;
  readonly scorer: RewardScorer;
  readonly rows: RowSource;
  readonly signal: AbortSignal;
  /** Loops that train beside the two whose scores every evaluation has. */
  readonly others: Readonly<Partial<Record<LoopId, EvaluateLoop>>>;
}

/** Samples rows of the evaluation; of a row that the loop cannot sample nothing. */
export type EvaluateLoop = (deps: EvalDeps, rows: readonly EvalRow[]) => Promise<readonly (LoopFacts | undefined)[]>;

/** Rows that are scored together where the settings set no limit. */
const MOST_AT_ONCE = 8;

/** A row with what the policy and the partner work on. */
export interface EvalRow {
  readonly index: number;
  readonly part: RowPart;
  readonly row: TrainingRow;
  readonly features: ImageFeatures;
  /** Cells of the region; at least one. */
  readonly cells: RegionCells;
}

/**
 * Scores the rows of both parts, the report part first; rows whose mask covers no visual token are left out.
 * @param onRows receives the number of finished rows
 * @throws LabError("held") when a reward is not available and the run must wait
 */
export async function evaluateRows(
  deps: EvalDeps,
  { report, selection }: Pick<RunRows, "selection" | "report">,
  onRows?: (done: number) => void,
): Promise<readonly RowScores[]> {
  const { groupsAtOnce } = deps.config;
  const most = groupsAtOnce === 0 ? MOST_AT_ONCE : groupsAtOnce;
  const own = runReward(deps.config);
  const places = [
    ...report.map((index) => ({ index, part: "report" as const })),
    ...selection.map((index) => ({ index, part: "selection" as const })),
  ];
  const scores: RowScores[] = [];
  for (let from = 0; from < places.length; from += most) {
    const asked: EvalRow[] = [];
    try {
      for (const { index, part } of places.slice(from, from + most)) {
        const row = await deps.rows(index);
        const { height, width } = row.rgb;
        const cells = regionCells(deps.model, row.mask, height, width, deps.config.smallRegions === "force");
        if (countCells(cells) === 0) continue;
        asked.push({ index, part, row, cells, features: await deps.features.get(row.summary.imageId, row.rgb) });
      }
      if (asked.length > 0) scores.push(...(await scoreTogether(deps, own, asked)));
    } finally {
      for (const { features } of asked) disposeFeatures(features);
    }
    onRows?.(Math.min(from + most, places.length));
  }
  return scores;
}

async function scoreTogether(deps: EvalDeps, own: RunReward, asked: readonly EvalRow[]): Promise<RowScores[]> {
  const { model, config } = deps;
  const sizes = asked.map(({ row: { rgb } }) => ({ height: rgb.height, width: rgb.width }));
  const sizeOf = (at: number) => sizes[at] as (typeof sizes)[number];

  // Loop 1: one greedy and EVAL_DRAWS sampled captions, grounded by the partner.
  const greedy = await captionsOf(deps, asked, true);
  const sampled = await captionsOf(deps, asked, false);
  const said = asked.map((_, at) => [...(greedy[at] as Said[]), ...(sampled[at] as Said[])]);
  const grounded = await findInPictures(
    model,
    deps.partner,
    asked.map(({ features }, at) => ({
      features,
      phrases: (said[at] as Said[]).map(({ caption }) => caption),
      ...sizeOf(at),
    })),
  );

  // Loop 2: the mask without sampling and those that the run's mask policy samples, described by the partner.
  const sampledMasks = await masksOf(deps, asked, sizes);
  const partnerCaptions = await describePictures(
    model,
    deps.partner,
    asked.map(({ features }, at) => ({
      features,
      masks: (sampledMasks[at] as SampledMasks).masks.map(({ mask }) => mask),
      ...sizeOf(at),
    })),
    {
      maxNewTokens: config.partnerMaxTokens,
      logitGuard: config.logitGuard,
      keepTiny: config.smallRegions === "force",
      signal: deps.signal,
    },
  );
  const judged = (masksAt: (at: number) => readonly (FoundMask | null)[]): JudgedPicture[] =>
    asked.map(({ row, features }, at) => ({
      features,
      ...sizeOf(at),
      masks: masksAt(at).map((found) => found?.mask ?? null),
      caption: row.summary.caption,
      others: row.others ?? [],
    }));
  const likelihoods1 = await wantedLikelihoods(
    deps,
    1,
    judged((at) => grounded[at] as (FoundMask | null)[]),
  );
  const likelihoods2 = await wantedLikelihoods(
    deps,
    2,
    judged((at) => (sampledMasks[at] as SampledMasks).masks),
  );
  const others: Partial<Record<LoopId, readonly (LoopFacts | undefined)[]>> = {};
  for (const loop of LOOP_IDS) {
    const evaluate = deps.others[loop];
    if (evaluate !== undefined) others[loop] = await evaluate(deps, asked);
  }
  const factsAt = (at: number): LoopFactsById =>
    Object.fromEntries(Object.entries(others).flatMap(([loop, facts]) => (facts[at] ? [[loop, facts[at]]] : [])));
  // Together, since a judge takes its time.
  return Promise.all(
    asked.map(async ({ row, part }, at) => {
      const { masks, weights } = sampledMasks[at] as SampledMasks;
      const answers: Answers = {
        said: said[at] as Said[],
        found: grounded[at] as (FoundMask | null)[],
        masks,
        weights,
        partnerCaptions: partnerCaptions[at] as (string | null)[],
        likelihoods: { 1: likelihoods1[at], 2: likelihoods2[at] },
      };
      return { ...(await rowScores(deps.scorer, own, row, answers, factsAt(at), deps.signal)), part };
    }),
  );
}

type SampledMasks = Pick<Answers, "masks" | "weights">;

/** For each row the mask without sampling, then those that the mask policy samples for the true caption. */
async function masksOf(
  { model, config, policy }: EvalDeps,
  asked: readonly EvalRow[],
  sizes: readonly { readonly height: number; readonly width: number }[],
): Promise<SampledMasks[]> {
  const about = asked.map(({ features, row }) => ({
    features,
    phrase: row.summary.caption,
    others: row.others ?? [],
  }));
  const outputs = phraseOutputs(model, policy, about);
  const sampledMasks: MaskActions[] = [];
  try {
    for (const [at, { index }] of asked.entries()) {
      const output = outputs.all[at] as PhraseOutput;
      sampledMasks.push(await maskPolicyOf(config).act(output, EVAL_DRAWS, maskDraws(index)));
    }
    const sized = sampledMasks.flatMap(({ greedy, logits }, at) =>
      [greedy, logits].map((lowRes) => ({ lowRes, ...(sizes[at] as (typeof sizes)[number]) })),
    );
    const found = await readMasks(sized, model.config.sam2.imageSize);
    return sampledMasks.map(({ weights }, at) => ({ masks: found.slice(2 * at, 2 * at + 2).flat(), weights }));
  } finally {
    for (const actions of sampledMasks) {
      tf.dispose([actions.greedy, actions.logits]);
      actions.dispose();
    }
    outputs.dispose();
  }
}

/** Address of a row's first draw; a row has the same draws at every evaluation of every run. */
export function evalKey(loop: LoopId, row: number, rollout: number, position: number): RandomKey {
  return { seed: EVAL_SEED, step: 0, loop, row, rollout, position, stream: EVAL_STREAM };
}

function maskDraws(row: number): MaskDraws {
  return {
    normal: (rollout, position) => normal(evalKey(2, row, rollout, position)),
    uniform: (rollout, position) => uniform(evalKey(2, row, rollout, position)),
  };
}

/** Captions of the policy for each row, one greedy or EVAL_DRAWS sampled ones. */
function captionsOf(deps: EvalDeps, asked: readonly EvalRow[], greedy: boolean): Promise<Said[][]> {
  const prompts = asked.map(({ features, cells }) => captionPrompt(deps.model, features.tiles, cells));
  return textsOf(deps, 1, asked, prompts, greedy);
}

/** Texts of the policy for a prompt a row, one greedy or EVAL_DRAWS sampled ones. */
export async function textsOf(
  deps: EvalDeps,
  loop: LoopId,
  asked: readonly EvalRow[],
  prompts: readonly CaptionPrompt[],
  greedy: boolean,
): Promise<Said[][]> {
  const { model, config } = deps;
  const batches = asked.map(({ features }, at) => {
    return captionBatch(model, deps.policy, features, prompts[at] as CaptionPrompt, greedy ? 1 : EVAL_DRAWS);
  });
  const rule = answerRule(model);
  const generated = await generate(model, deps.policy, batches, {
    maxNewTokens: config.maxNewTokens,
    sampler: greedy ? { ...FULL_SAMPLING, guard: config.logitGuard } : samplerSettings(config),
    greedy,
    key: (group, rollout) => evalKey(loop, (asked[group] as EvalRow).index, rollout, 0),
    stop: (ids) => rule.reached(ids),
    signal: deps.signal,
  }).finally(() => tf.dispose(batches.flatMap(({ prefix, tails }) => [prefix, tails])));
  return generated.map(({ completions }) =>
    completions.map(({ ids, ended }) => ({ caption: rule.answer(ids), truncated: !ended })),
  );
}
