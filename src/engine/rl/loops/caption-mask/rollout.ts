/**
 * Loop 2: caption → mask (policy) → caption′ (partner); reward METEOR(caption, caption′), with a
 * judge 0.25 METEOR and 0.75 its verdict.
 */

import { inBatches } from "../../../bytes/collections.ts";
import { needsReference } from "../../../config/derived.ts";
import { ONE_PICTURE, viewed } from "../../../data/film-strip.ts";
import { encodeRle, maskIou, type Rle } from "../../../data/mask/rle.ts";
import { rowSize, stripFrames, type TrainingRow } from "../../../data/training-row.ts";
import { normal, uniform } from "../../../gpu/random.ts";
import { keepPace } from "../../../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../gpu/tf.ts";
import { nearestMask } from "../../../model/preprocess/region-grid.ts";
import { type FoundMask, readMasks } from "../../../model/sam2/postprocess.ts";
import type { Weights } from "../../../model/weights/weights.ts";
import { judgedPicture, likelihoodFact, type MaskLikelihood } from "../../../policy/caption-likelihood.ts";
import type { ImageFeatures } from "../../../policy/features.ts";
import { maskPolicyOf } from "../../../policy/mask/mask-policies.ts";
import {
  type MaskActions,
  type MaskAnchor,
  type MaskDraws,
  type MaskLossFacts,
  maskAnchor,
  wantsAnchor,
} from "../../../policy/mask/mask-policy.ts";
import { type DescribedPicture, describePictures } from "../../../policy/partner.ts";
import {
  type PhraseAbout,
  type PhraseOutput,
  type PhraseOutputs,
  pacedPhraseOutputs,
  phraseOutputs,
} from "../../../policy/phrase-output.ts";
import { segmentPrompt } from "../../../policy/prompts.ts";
import { meanScores } from "../../../rewards/composer/compose-group.ts";
import { rewardPlan } from "../../../rewards/composer/plan.ts";
import type { RolloutFacts } from "../../../rewards/term.ts";
import type { ScoredRollout } from "../../../rewards/types.ts";
import { EVAL_DRAWS } from "../../../runs/evaluations/evaluation-metrics.ts";
import { coin, trainedRollouts } from "../../objective/group-advantages.ts";
import { readLogProbs } from "../../step/backward.ts";
import type { ActionLogps, AuxiliaryLoss, DrawnGroup, Group, LoopRollouts } from "../../step/group.ts";
import { type EvalRow, type EvaluateLoop, evalKey } from "../../step/held-out.ts";
import { dataCaptionObservations, maskMetrics, pairMetrics } from "../../step/metrics/rollout-metrics.ts";
import {
  captionerOf,
  groupNumber,
  maskDraws,
  type Step,
  tokenKey,
  wantedLikelihoods,
  withFeatures,
} from "../../step/step.ts";
import { type Loop, REGION_ROWS } from "../loop.ts";

// Loop 2 on held-out rows: the partner describes the greedy mask and the masks that the run's mask policy samples.
// Scores are METEOR, the IoU of the greedy mask, and the partner's caption of the true mask.

const evaluate: EvaluateLoop = async (step, rows) => {
  const { model, config, partner, scorer, signal } = step;
  const sampledMasks = await sampleMasks(step, rows, EVAL_DRAWS, (at) => evalMaskDraws(rows[at]?.index ?? 0));
  for (const { actions } of sampledMasks) actions.dispose();
  const found = sampledMasks.map(({ greedy, masks }): FoundMask[] => [greedy, ...masks]);
  const pixels = found.map((own) => own.map(({ mask }) => mask));
  // The true mask comes last: the partner's caption of it is compared with the policy's.
  const captions = await describePictures(
    model,
    partner,
    rows.map(({ row, features }, at) => ({ features, masks: [...(pixels[at] ?? []), row.mask], ...rowSize(row) })),
    {
      maxCompletionLength: config.partnerMaxTokens,
      logitGuard: config.logitGuard,
      keepTiny: config.smallRegions === "force",
      signal,
    },
  );
  const pictures = rows.map(({ row, features }, at) => judgedPicture(row, features, pixels[at] ?? []));
  const likelihoods = await wantedLikelihoods(step, 2, pictures);
  return Promise.all(
    sampledMasks.map(async ({ actions: { probabilities }, greedy: { mask } }, at) => {
      const { row } = rows[at] as EvalRow;
      const { height, width } = rowSize(row);
      const texts = captions[at] as (string | null)[];
      const pairs = texts.map((text) => ({ reference: row.summary.caption, hypothesis: text ?? "" }));
      const meteor = (await scorer.score(pairs)).map(({ reward }) => reward ?? 0);
      const facts = (found[at] ?? []).map((one, n) => {
        const predicted = encodeRle(one.mask, height, width);
        const form = n === 0 ? {} : formOf((sampledMasks[at] as ActedMasks).actions, n - 1);
        return factsOf(row, predicted, one, texts[n] ?? null, { ...likelihoodFact(likelihoods[at], n), ...form });
      });
      const [greedy, ...sampled] = facts as [RolloutFacts, ...RolloutFacts[]];
      const { iou, intersection, union } = maskIou(mask, row.mask);
      const record = {
        maskGreedy: encodeRle(mask, height, width),
        groundingPixels: [intersection, union] as const,
        captionPrime: texts[0] ?? "",
        grounding_iou: iou,
        partnerCaption: texts.at(-1) ?? "",
        partnerMeteor: meteor.at(-1) ?? 0,
      };
      return { greedy, sampled, probabilities, scores: meteor.slice(0, -1), record };
    }),
  );
};

function evalMaskDraws(row: number): MaskDraws {
  return {
    normal: (rollout, position) => normal(evalKey(2, row, rollout, position)),
    uniform: (rollout, position) => uniform(evalKey(2, row, rollout, position)),
    token: (rollout) => evalKey(2, row, rollout, 0),
  };
}

export const captionMask: Loop = {
  ...REGION_ROWS,
  rollout,
  evaluate,
  async look(step, row, features, { group, index, predictedMask }) {
    if (predictedMask === null || row.view !== undefined) return { mask: null };
    const outputs = await pacedPhraseOutputs(step.model, step.policy, [asked({ row, features })]);
    try {
      const { config } = step;
      const [output] = outputs.all as [PhraseOutput];
      const actions = await maskPolicyOf(config)(output, config.numGenerations, maskDraws(step, 2, group));
      const [, height, width] = actions.logits.shape as [number, number, number];
      const mask = tf.slice(actions.logits, [index, 0, 0], [1, height, width]);
      tf.dispose([actions.logits, actions.greedy]);
      actions.dispose();
      return { mask };
    } finally {
      outputs.dispose();
    }
  },
  longest: (groups) => groups.reduce((most, { actions }) => Math.max(most, actions), 1),
  trainsLanguage: ({ loop2Reach }) => loop2Reach === "all",
};

/** A row with the policy's masks for its caption. */
interface SampledMasks extends Pictured, ActedMasks {
  readonly group: number;
  /** `masks` and `greedy` as records keep them. */
  readonly predicted: readonly Rle[];
  readonly greedyMask: Rle;
}

const pixelsOf = ({ masks }: ActedMasks): Uint8Array[] => masks.map(({ mask }) => mask);

function sampledOf(picture: Pictured & Pick<SampledMasks, "group">, acted: ActedMasks): SampledMasks {
  const { height, width } = rowSize(picture.row);
  const encoded = ({ mask }: FoundMask): Rle => encodeRle(mask, height, width);
  return { ...picture, ...acted, predicted: acted.masks.map(encoded), greedyMask: encoded(acted.greedy) };
}

/** One group per row: a few masks for the row's caption, each scored by the partner's caption of that mask. */
async function rollout(step: Step, rows: readonly TrainingRow[]): Promise<LoopRollouts> {
  const { config } = step;
  const sampledMasks: SampledMasks[] = [];
  const starts: StartAnswer[] = [];
  await step.phase("features", 2);
  return withFeatures<LoopRollouts>(step, rows, async (features) => {
    const pictures = rows.map((row, group) => ({ row, group, features: features[group] as ImageFeatures }));
    await step.phase("generate", 2);
    for (const some of inBatches(pictures, config.groupsAtOnce)) {
      const draws = (at: number) => maskDraws(step, 2, some[at]?.group ?? 0);
      const fresh = await sampleMasks(step, some, config.numGenerations, draws);
      sampledMasks.push(...fresh.map((acted, at) => sampledOf(some[at] as (typeof some)[number], acted)));
    }
    await step.phase("partner", 2, () => sampledMasks.map((item) => drawnOf(step, item)));
    const captions = await partnerCaptions(
      step,
      sampledMasks.map((item) => ({ features: item.features, masks: pixelsOf(item), ...rowSize(item.row) })),
    );
    const pictured = sampledMasks.map((item) => judgedPicture(item.row, item.features, pixelsOf(item)));
    const likelihoods = await wantedLikelihoods(step, 2, pictured);
    await step.phase("reward", 2, () => sampledMasks.map((item, group) => drawnOf(step, item, captions[group]?.[0])));
    const scores = await Promise.all(
      sampledMasks.map((item, group) => score(step, item, captions[group] as Captions, likelihoods[group])),
    );
    for (const some of inBatches(sampledMasks, config.groupsAtOnce)) await askStart(step, some, starts);
    const groups = sampledMasks.map((item, group) =>
      groupOf(step, item, captions[group]?.[0] ?? [], scores[group] ?? [], starts[group] as StartAnswer),
    );
    return {
      groups,
      logProbs: (weights, places, own) => {
        const items = places.map((place) => sampledMasks[place] as SampledMasks);
        return scoreMasks(step, weights, own, items, (at) => {
          const place = places[at] as number;
          const rollouts = trainedRollouts(groups[place] as Group, step.config, step.number);
          return { ...(starts[place] as StartAnswer), rewards: rollouts.map(({ reward }) => reward) };
        });
      },
    };
  }).catch((thrown: unknown) => {
    for (const item of sampledMasks) item.actions.dispose();
    for (const start of starts) start.anchor?.dispose();
    throw thrown;
  });
}

/** [draw][mask] */
type Captions = readonly (readonly (string | null)[])[];

/** Rewards of the partner's captions. All groups of a step are scored together, because a judge is slow. */
async function score(
  step: Step,
  item: SampledMasks,
  captions: Captions,
  likelihoods: readonly (MaskLikelihood | null)[] | undefined,
): Promise<readonly ScoredRollout[]> {
  const { row, masks, predicted } = item;
  const draws = captions.map((own) => {
    const facts = masks.map((found, n) =>
      factsOf(row, predicted[n] ?? null, found, own[n] ?? null, {
        ...likelihoodFact(likelihoods, n),
        ...formOf(item.actions, n),
      }),
    );
    return step.scorer.scoreGroup(facts, rewardPlan(step.config), step.signal);
  });
  return meanScores(await Promise.all(draws), captions);
}

/** The sampled masks before their rewards. @param captions [G] of the partner; missing ones are null */
function drawnOf(step: Step, item: SampledMasks, captions: readonly (string | null)[] = []): DrawnGroup {
  const { row, features, predicted, greedyMask } = item;
  const { id: rowId, imageId, caption, mask: givenMask } = row.summary;
  const prompt = segmentPrompt(step.model, features, caption);
  return {
    loop: 2,
    group: groupNumber(step, item.group),
    row,
    promptIds: prompt.ids,
    ...(item.actions.answers === undefined ? { answerIds: prompt.forcedIds.slice(prompt.ids.length) } : {}),
    rollouts: predicted.map((predictedMask, n) => ({
      rowId,
      imageId,
      prompt: prompt.text,
      completion: item.actions.answers?.[n]?.text ?? prompt.answer,
      caption,
      referenceCaption: caption,
      captionPrime: captions[n] ?? null,
      givenMask,
      predictedMask,
      greedyMask,
      ...(item.actions.probabilities === null && item.actions.unsampled !== true ? {} : { chosen: true as const }),
      reward: null,
      terms: [],
      truncated: item.actions.answers?.[n]?.truncated ?? false,
    })),
  };
}

function groupOf(
  step: Step,
  item: SampledMasks,
  captions: readonly (string | null)[],
  scored: readonly ScoredRollout[],
  start: StartAnswer,
): Group {
  const { model } = step;
  const { row, features, actions: sampledMasks } = item;
  const drawn = drawnOf(step, item, captions);
  const { group } = drawn;
  const masks = pixelsOf(item);
  const caption = row.summary.caption;
  const { cut } = segmentPrompt(model, features, caption);
  const { probabilities } = sampledMasks;
  const trained = trainedRollouts({ rollouts: scored, loop: 2, group }, step.config, step.number);
  const rewards = trained.map(({ reward }) => reward);
  return {
    ...drawn,
    actions: sampledMasks.actions,
    labels: sampledMasks.labels,
    mask: sampledMasks.active ?? new Float32Array(masks.length * sampledMasks.actions).fill(1),
    samplingLogps: sampledMasks.logps,
    probabilities,
    rollouts: drawn.rollouts.map((rollout, n) => {
      const { reward, terms } = scored[n] as ScoredRollout;
      return { ...rollout, reward, terms };
    }),
    startLogps: start.startLogps,
    policyGradient: sampledMasks.loss === undefined,
    logProbs: (other, own) => {
      const [scores] = scoreMasks(step, other, [own], [item], () => ({ ...start, rewards }));
      return scores as ActionLogps;
    },
    dispose: () => {
      sampledMasks.dispose();
      start.anchor?.dispose();
    },
    metrics: {
      ...dataCaptionObservations(model, caption, cut),
      ...maskMetrics(masks, row.mask),
      ...pairMetrics(masks, captions),
    },
  };
}

/** Log-probabilities and entropies of the groups' actions under other weights, in one batch; differentiable. */
function scoreMasks(
  step: Step,
  weights: Weights,
  features: readonly ImageFeatures[],
  items: readonly SampledMasks[],
  known: (at: number) => Pick<StartAnswer, "anchor"> & { readonly rewards: readonly (number | null)[] },
): ActionLogps[] {
  const { model, config } = step;
  const about = items.map((item, at) => asked({ ...item, features: features[at] as ImageFeatures }));
  const outputs = phraseOutputs(model, weights, about);
  decodeFor(
    outputs,
    items,
    items.some((_, at) => known(at).anchor !== null),
  );
  return items.map((item, at) => {
    const { actions } = item;
    const output = outputs.all[at] as PhraseOutput;
    const { anchor, rewards } = known(at);
    const auxiliary = (): AuxiliaryLoss[] => [
      ...(anchor === null
        ? []
        : [
            {
              name: "mask_anchor",
              weight: config.maskAnchorWeight,
              value: anchor.loss(output),
              zeroAtStart: config.maskAnchor === "start",
            },
          ]),
      ...(actions.loss === undefined
        ? []
        : [actions.loss(output, lossFacts(step, { ...item, features: features[at] as ImageFeatures }, rewards))]),
    ];
    return { ...actions.logProbs(output), auxiliary };
  });
}

function lossFacts(
  step: Step,
  { row, group, features, greedy }: SampledMasks,
  rewards: readonly (number | null)[],
): MaskLossFacts {
  const { model, config } = step;
  const sign = coin({ loop: 2, group: groupNumber(step, group) }, config, step.number);
  return { model, row, features, greedy, rewards, captioner: captionerOf(step), logitGuard: config.logitGuard, sign };
}

// The partner's captions of the masks of loop 2: the likeliest one of each, or a few sampled ones.

/** @returns [picture][draw][mask]; null for a mask that covers no visual token */
async function partnerCaptions(
  step: Step,
  pictures: readonly DescribedPicture[],
): Promise<readonly (readonly (readonly (string | null)[])[])[]> {
  const { model, config, partner, signal } = step;
  const { partnerTemperature: temperature } = config;
  const draws = temperature === 0 ? 1 : config.partnerSamples;
  const repeated = pictures.map((picture) => ({
    ...picture,
    masks: Array.from({ length: draws }, () => picture.masks).flat(),
  }));
  const captions = await describePictures(model, partner, repeated, {
    maxCompletionLength: config.partnerMaxTokens,
    logitGuard: config.logitGuard,
    keepTiny: config.smallRegions === "force",
    groupsAtOnce: config.groupsAtOnce,
    signal,
    ...(temperature === 0
      ? {}
      : { sampling: { temperature, key: (picture: number, at: number) => tokenKey(step, 2, picture, at) } }),
  });
  return pictures.map(({ masks }, picture) =>
    Array.from({ length: draws }, (_, draw) =>
      (captions[picture] as (string | null)[]).slice(draw * masks.length, (draw + 1) * masks.length),
    ),
  );
}

// Answers of the run's starting weights for the mask decoder's anchor and for the reference.

/** Decode the masks before the tidy, so that they outlive it. */
function decodeFor(outputs: PhraseOutputs, items: readonly (Pictured & ActedMasks)[], anchored: boolean): void {
  if (anchored || items.some(({ actions }) => actions.readsMasks || actions.loss !== undefined)) {
    outputs.all[0]?.decoded();
  }
}

interface StartAnswer {
  readonly anchor: MaskAnchor | null;
  readonly startLogps: Float32Array | null;
}

/** Adds to `answers` the answers of the run's starting weights for anchor and reference, computed in one pass. */
async function askStart(step: Step, items: readonly (Pictured & ActedMasks)[], answers: StartAnswer[]): Promise<void> {
  const { model, config } = step;
  const anchored = wantsAnchor(config);
  const referred = needsReference(config) && config.reference === "start" && !config.syncRefModel;
  if (!anchored && !referred) {
    answers.push(...items.map(() => ({ anchor: null, startLogps: null })));
    return;
  }
  const outputs = await pacedPhraseOutputs(model, step.start, items.map(asked), step.signal);
  try {
    decodeFor(outputs, items, anchored);
    const startLogps = referred
      ? await readLogProbs(() => items.map(({ actions }, at) => actions.logProbs(outputs.all[at] as PhraseOutput)))
      : [];
    for (const [at, { row }] of items.entries()) {
      const { height, width, view = ONE_PICTURE } = rowSize(row);
      const part = viewed(row.mask, view);
      const target = (rows: number, side: number) =>
        Float32Array.from(nearestMask(part, (height / view.total) * view.frames.length, width, rows, side));
      const anchor = anchored ? await maskAnchor(config, outputs.all[at] as PhraseOutput, target) : null;
      answers.push({ anchor, startLogps: startLogps[at] ?? null });
    }
  } finally {
    outputs.dispose();
  }
}

// Masks that the mask policy samples for captions of rows, as training and evaluations use them.

/** A row with its picture on the GPU. */
interface Pictured {
  readonly row: TrainingRow;
  readonly features: ImageFeatures;
}

/** Masks of one row at image size. */
interface ActedMasks {
  /** The caller disposes it. */
  readonly actions: MaskActions;
  readonly masks: readonly FoundMask[];
  /** The mask without sampling. */
  readonly greedy: FoundMask;
}

function asked({ features, row }: Pictured): PhraseAbout {
  return { features, phrase: row.summary.caption, others: row.others ?? [] };
}

/**
 * Samples the masks of a few rows in one batch. @param drawsOf random draws of the row at a place of the list
 * @throws LabError("cancelled") when the signal is aborted
 */
async function sampleMasks(
  { model, config, policy, signal }: Step,
  pictures: readonly Pictured[],
  count: number,
  drawsOf: (at: number) => MaskDraws,
): Promise<ActedMasks[]> {
  const outputs = await pacedPhraseOutputs(model, policy, pictures.map(asked), signal);
  const fresh: MaskActions[] = [];
  const maps: Tensor[] = [];
  try {
    for (const at of pictures.keys()) {
      await keepPace(signal);
      const actions = await maskPolicyOf(config)(outputs.all[at] as PhraseOutput, count, drawsOf(at));
      fresh.push(actions);
      maps.push(actions.logits, actions.greedy);
    }
    const sized = pictures.flatMap(({ row }, at) =>
      maps.slice(2 * at, 2 * at + 2).map((lowRes) => ({ lowRes, ...rowSize(row) })),
    );
    const found = await readMasks(sized, model.config.sam2.imageSize);
    return fresh.map((actions, at) => {
      const [masks, [greedy]] = found.slice(2 * at) as [FoundMask[], [FoundMask]];
      return { actions, masks, greedy };
    });
  } catch (thrown) {
    for (const actions of fresh) actions.dispose();
    throw thrown;
  } finally {
    tf.dispose(maps);
    outputs.dispose();
  }
}

/** @param text the partner's caption of the mask; null where it covers no visual token */
function factsOf(
  row: TrainingRow,
  predicted: RolloutFacts["predicted"],
  { confidence }: Pick<FoundMask, "confidence">,
  text: string | null,
  measured: { readonly likelihood?: MaskLikelihood | null } & Partial<Pick<RolloutFacts, "segments" | "truncated">>,
): RolloutFacts {
  const { summary } = row;
  return {
    loop: 2,
    reference: summary.caption,
    caption: text,
    given: summary.mask,
    predicted,
    ...stripFrames(row),
    // An empty mask has no pixels inside, so its confidence is 0.
    confidence: confidence ?? 0,
    truncated: false,
    ...measured,
  };
}

/** The form of a sampled answer; empty where the answer is given. */
function formOf({ answers }: MaskActions, rollout: number): Partial<Pick<RolloutFacts, "segments" | "truncated">> {
  const own = answers?.[rollout];
  return own === undefined ? {} : { segments: own.segments, truncated: own.truncated };
}
