/**
 * Loop 1: mask → caption (policy) → mask′ (partner); reward IoU(mask, mask′).
 */

import { inBatches } from "../../../bytes/collections.ts";
import type { LabConfig } from "../../../config/table.ts";
import { encodeRle, maskIou, type Rle } from "../../../data/mask/rle.ts";
import type { TrainingRow } from "../../../data/training-row.ts";
import { rowSize, stripFrames } from "../../../data/training-row.ts";
import { tf } from "../../../gpu/tf.ts";
import type { Sa2vaModel } from "../../../model/sa2va.ts";
import { selectMask } from "../../../model/sam2/mask-decoder.ts";
import type { FoundMask } from "../../../model/sam2/postprocess.ts";
import { judgedPicture, likelihoodFact, type MaskLikelihood } from "../../../policy/caption-likelihood.ts";
import type { ImageFeatures } from "../../../policy/features.ts";
import { findInPictures, segmentPictures } from "../../../policy/partner.ts";
import { type CaptionPrompt, captionPrompt, rowCells } from "../../../policy/prompts.ts";
import { rewardPlan } from "../../../rewards/composer/plan.ts";
import type { RolloutFacts } from "../../../rewards/term.ts";
import type { Group, LoopRollouts } from "../../step/group.ts";
import type { EvaluateLoop } from "../../step/held-out.ts";
import { maskMetrics } from "../../step/metrics/rollout-metrics.ts";
import { type Step, wantedLikelihoods, withFeatures } from "../../step/step.ts";
import { type Loop, REGION_ROWS } from "../loop.ts";
import {
  type AnswerText,
  answerText,
  drawnTexts,
  heldOutTexts,
  type SampledTexts,
  sampleTexts,
  TEXT_LENGTH,
  textFields,
  textRollouts,
} from "../texts.ts";

export const maskCaption: Loop = {
  ...REGION_ROWS,
  rollout,
  longest: TEXT_LENGTH,
  evaluate,
  async look({ model, config, partner }, row, features, { caption, predictedMask }) {
    const prompt = promptOf(model, config, row, features);
    if (predictedMask === null || row.view !== undefined) return { prompt, mask: null };
    const { masks, iou, objectScore } = segmentPictures(model, partner, [{ features, phrases: [caption] }]);
    const { mask, index } = selectMask(masks, iou);
    tf.dispose([masks, iou, objectScore, index]);
    return { prompt, mask };
  },
};

function promptOf(
  model: Sa2vaModel,
  { smallRegions }: LabConfig,
  row: TrainingRow,
  features: ImageFeatures,
): CaptionPrompt {
  return captionPrompt(model, features, rowCells(model, row, smallRegions === "force", features.grid));
}

/** One group per row: G captions of the row's mask, each scored by the partner's mask for it. */
async function rollout(step: Step, rows: readonly TrainingRow[]): Promise<LoopRollouts> {
  const { model, config } = step;
  await step.phase("features", 1);
  return withFeatures(step, rows, async (features) => {
    await step.phase("generate", 1);
    const prompts = rows.map((row, group) => promptOf(model, config, row, features[group] as ImageFeatures));
    const sampled = await sampleTexts(step, 1, rows, prompts, features);
    await step.phase("partner", 1, () => drawnTexts(step, 1, sampled));
    const found = await findAll(step, sampled, features);
    const predicted = found.map((own, group) => own.map((one) => encoded(rows[group] as TrainingRow, one)));
    const likelihoods = await wantedLikelihoods(
      step,
      1,
      sampled.map(({ row }, group) =>
        judgedPicture(row, features[group] as ImageFeatures, masksOf(found[group] ?? [])),
      ),
    );
    await step.phase("reward", 1, () =>
      drawnTexts(step, 1, sampled, (group, n) => ({ predictedMask: predicted[group]?.[n] ?? null })),
    );
    const scored = await Promise.all(
      sampled.map((item, group) => score(step, item, found[group] ?? [], predicted[group] ?? [], likelihoods[group])),
    );
    return textRollouts(step, 1, sampled, scored);
  });
}

/** The partner's masks for the captions; null for an empty one. */
async function findAll(
  { model, config, partner }: Step,
  sampled: readonly SampledTexts[],
  features: readonly ImageFeatures[],
): Promise<(FoundMask | null)[][]> {
  const pictures = sampled.map(({ row, texts }, group) => {
    return { features: features[group] as ImageFeatures, phrases: texts, ...rowSize(row) };
  });
  const found: (FoundMask | null)[][] = [];
  for (const some of inBatches(pictures, config.groupsAtOnce)) {
    found.push(...(await findInPictures(model, partner, some)));
  }
  return found;
}

async function score(
  step: Step,
  item: SampledTexts,
  found: readonly (FoundMask | null)[],
  predicted: readonly (Rle | null)[],
  likelihoods: Likelihoods,
): Promise<Pick<Group, "rollouts" | "metrics">> {
  const { row, completions, texts } = item;
  const facts = completions.map((completion, n) => {
    const text = answerText(step.model, completion, texts[n] as string);
    return factsOf(row, text, found[n] ?? null, predicted[n] ?? null, likelihoodFact(likelihoods, n));
  });
  const scored = await step.scorer.scoreGroup(facts, rewardPlan(step.config), step.signal);
  const rollouts = scored.map(({ reward, terms }, n) => {
    return { ...textFields(step, item, n), predictedMask: facts[n]?.predicted ?? null, reward, terms };
  });
  return { rollouts, metrics: maskMetrics(masksOf(found), row.mask) };
}

type Likelihoods = readonly (MaskLikelihood | null)[] | undefined;

function encoded({ rgb }: TrainingRow, found: FoundMask | null): Rle | null {
  return found === null ? null : encodeRle(found.mask, rgb.height, rgb.width);
}

const masksOf = (found: readonly (FoundMask | null)[]): (Uint8Array | null)[] => found.map((one) => one?.mask ?? null);

function factsOf(
  row: TrainingRow,
  text: AnswerText,
  found: FoundMask | null,
  predicted: Rle | null,
  likelihood: ReturnType<typeof likelihoodFact>,
): RolloutFacts {
  const { summary } = row;
  return {
    loop: 1,
    reference: summary.caption,
    given: summary.mask,
    predicted,
    ...stripFrames(row),
    // An empty mask has no pixels inside, so its confidence is 0.
    confidence: found?.confidence ?? 0,
    ...text,
    ...likelihood,
  };
}

/** Captions of held-out rows, grounded by the partner. Scores are IoU and METEOR of the greedy caption. */
async function evaluate(...[step, rows]: Parameters<EvaluateLoop>): ReturnType<EvaluateLoop> {
  const { model, partner, scorer } = step;
  const prompts = rows.map(({ features, cells }) => captionPrompt(model, features, cells));
  const texts = await heldOutTexts(step, 1, rows, prompts);
  // The true caption comes last: the partner's mask for it is compared with the policy's.
  const answered = await findInPictures(
    model,
    partner,
    rows.map(({ features, row }, at) => {
      const phrases = (texts[at] as AnswerText[]).map(({ caption }) => caption);
      return { features, phrases: [...phrases, row.summary.caption], ...rowSize(row) };
    }),
  );
  const grounded = answered.map((own) => own.slice(0, -1));
  const pictures = rows.map(({ row, features }, at) => judgedPicture(row, features, masksOf(grounded[at] ?? [])));
  const likelihoods = await wantedLikelihoods(step, 1, pictures);
  const captionGreedy = rows.map((_, at) => texts[at]?.[0]?.caption ?? "");
  const meteor = await scorer.score(
    rows.map(({ row }, at) => ({ reference: row.summary.caption, hypothesis: captionGreedy[at] as string })),
  );
  return rows.map(({ row }, at) => {
    const found = grounded[at] as (FoundMask | null)[];
    const own = answered[at]?.at(-1)?.mask ?? null;
    const { height, width } = rowSize(row);
    const [greedy, ...sampled] = (texts[at] as AnswerText[]).map((text, n) =>
      factsOf(row, text, found[n] ?? null, encoded(row, found[n] ?? null), likelihoodFact(likelihoods[at], n)),
    );
    return {
      greedy: greedy as RolloutFacts,
      sampled,
      probabilities: null,
      scores: found.map((one) => (one === null ? 0 : maskIou(one.mask, row.mask).iou)),
      record: {
        captionGreedy: captionGreedy[at] as string,
        maskPrime: greedy?.predicted ?? null,
        caption_meteor: meteor[at]?.reward ?? 0,
        partnerMask: own === null ? null : encodeRle(own, height, width),
        partnerIou: own === null ? 0 : maskIou(own, row.mask).iou,
      },
    };
  });
}
