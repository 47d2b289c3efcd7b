/** Scores of one held-out row from the outputs of policy and partner. */
import { maskIou } from "../data/mask/rle-compare.ts";
import { encodeRle } from "../data/mask/rle-mask.ts";
import type { TrainingRow } from "../data/training-row.ts";
import type { FoundMask } from "../model/sam2/postprocess.ts";
import { likelihoodFact, type MaskLikelihood } from "../policy/caption-likelihood.ts";
import type { RolloutFacts } from "../rewards/term.ts";
import type { RewardScorer } from "../rewards/types.ts";
import type { LoopId } from "../rl/loops/abouts.ts";
import type { RowScores } from "../runs/evaluations.ts";
import { type LoopFacts, type RunReward, rowRewards, weightedMean } from "./run-reward.ts";

/** A caption of the policy. */
export interface Said {
  readonly caption: string;
  /** Hit the length limit without an end token. */
  readonly truncated: boolean;
}

/** The first item of each list is greedy, the others are sampled. */
export interface Answers {
  /** The policy's captions of the row's mask. */
  readonly said: readonly Said[];
  /** The partner's masks for them; null for an empty caption. */
  readonly found: readonly (FoundMask | null)[];
  /** The policy's masks for the true caption. */
  readonly masks: readonly FoundMask[];
  /** Probability of each sampled mask where they are all actions; null for independent samples. */
  readonly weights: readonly number[] | null;
  /** The partner's captions of the masks; null for a mask that covers no visual token. */
  readonly partnerCaptions: readonly (string | null)[];
  /** Likelihoods of the row's caption for the masks of each loop; undefined where no reward needs them. */
  readonly likelihoods: Readonly<Record<1 | 2, readonly (MaskLikelihood | null)[] | undefined>>;
}

/** Facts of the loops that can sample a row. */
export type LoopFactsById = Readonly<Partial<Record<LoopId, LoopFacts>>>;

/**
 * @param others facts of loops beside the two whose scores every evaluation has
 * @throws LabError("held") when a reward cannot be given and the run has to wait
 */
export async function rowScores(
  scorer: RewardScorer,
  own: RunReward,
  row: TrainingRow,
  answers: Answers,
  others: LoopFactsById,
  signal: AbortSignal,
): Promise<Omit<RowScores, "part">> {
  const { said, found, masks, weights, partnerCaptions } = answers;
  const { height, width } = row.rgb;
  const truth = row.summary.caption;
  const captionGreedy = said[0]?.caption ?? "";
  const overlaps = found.map((one) => (one === null ? 0 : maskIou(one.mask, row.mask).iou));
  const pairs = [captionGreedy, ...partnerCaptions].map((hypothesis) => ({
    reference: truth,
    hypothesis: hypothesis ?? "",
  }));
  const [captionScore = 0, ...toldScores] = (await scorer.score(pairs)).map((scored) => scored.reward ?? 0);
  const policyMask = (masks[0] as FoundMask).mask;
  const grounding = maskIou(policyMask, row.mask);
  return {
    rowId: row.summary.id,
    imageId: row.summary.imageId,
    caption: truth,
    captionGreedy,
    maskPrime: found[0] ? encodeRle(found[0].mask, height, width) : null,
    maskGreedy: encodeRle(policyMask, height, width),
    groundingPixels: [grounding.intersection, grounding.union],
    captionPrime: partnerCaptions[0] ?? "",
    loop1_greedy: overlaps[0] ?? 0,
    loop1_sampled: weightedMean(overlaps.slice(1), null) ?? 0,
    loop2_greedy: toldScores[0] ?? 0,
    loop2_sampled: weightedMean(toldScores.slice(1), weights) ?? 0,
    grounding_iou: grounding.iou,
    caption_meteor: captionScore,
    rewards: await rowRewards(
      scorer,
      own,
      { ...others, 1: loop1Facts(row, answers), 2: loop2Facts(row, answers) },
      signal,
    ),
  };
}

function loop1Facts(row: TrainingRow, { said, found, likelihoods }: Answers): LoopFacts {
  const { height, width } = row.rgb;
  const facts = said.map(({ caption, truncated }, n): RolloutFacts => {
    const mask = found[n] ?? null;
    return {
      loop: 1,
      reference: row.summary.caption,
      caption,
      given: row.summary.mask,
      predicted: mask === null ? null : encodeRle(mask.mask, height, width),
      // An empty mask has no inside, so its confidence is 0.
      confidence: mask?.confidence ?? 0,
      ...likelihoodFact(likelihoods[1], n),
      truncated,
    };
  });
  return { greedy: facts[0] as RolloutFacts, sampled: facts.slice(1), weights: null };
}

function loop2Facts(row: TrainingRow, { masks, partnerCaptions, weights, likelihoods }: Answers): LoopFacts {
  const { height, width } = row.rgb;
  const facts = masks.map(
    ({ mask, confidence }, n): RolloutFacts => ({
      loop: 2,
      reference: row.summary.caption,
      caption: partnerCaptions[n] ?? null,
      given: row.summary.mask,
      predicted: encodeRle(mask, height, width),
      confidence: confidence ?? 0,
      ...likelihoodFact(likelihoods[2], n),
      truncated: false,
    }),
  );
  return { greedy: facts[0] as RolloutFacts, sampled: facts.slice(1), weights };
}
