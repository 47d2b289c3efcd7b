/** Groups of the reward bench: records of groups that were not trained on. */
import { rleFromRuns } from "../../engine/data/mask/rle.ts";
import type { RewardTerm, RolloutFacts } from "../../engine/rewards/term.ts";
import { aboutLoop, type LoopId } from "../../engine/rl/loops/abouts.ts";
import type { RowDifficulty } from "../../engine/runs/difficulty.ts";
import type { GroupRecord, Rollout, RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import { generatedText } from "../../engine/runs/rollouts/rollout-facts.ts";

/** A rollout without actions. */
export interface BenchRollout extends RolloutRecord, Lacking {}

/** The rollouts of one prompt; without rewards and advantages until they are scored. */
export interface BenchGroup extends Omit<GroupRecord, "rollouts"> {
  /** Unique in the bench. */
  readonly key: string;
  /** Groups of one loop and batch are scored together, as those of a step are; "" for groups that were sampled. */
  readonly batch: string;
  /** Picture of the row (RegionSummary.imageId); null if an imported file lacks it. */
  readonly imageId: string | null;
  /** Probability of each rollout when they are the whole action set; null for independent samples. */
  readonly probabilities: readonly number[] | null;
  readonly rollouts: readonly BenchRollout[];
  /** Bounds of the possible gain; absent for imported rollouts. */
  readonly bounds?: GroupBounds;
}

/** Terms of answers that were not sampled. */
export interface GroupBounds {
  /** Terms of the policy's mask or text without sampling. */
  readonly greedy: readonly RewardTerm[];
  /** Of masks: what the row's own mask earns. A text has none, because a row's caption need not be the one that earns most. */
  readonly truth?: {
    readonly terms: readonly RewardTerm[];
    /** Whether it covers the same visual tokens as the greedy one, so that the partner cannot distinguish them. */
    readonly alike: boolean;
  };
}

/** Fields of a group before it is scored. */
export const UNSCORED = { rewardMean: Number.NaN, rewardStd: 0, zeroSpread: true } as const;

/** Position of a rollout and name of its row. */
type RolloutPlace = Pick<BenchRollout, "id" | "index" | "rowId" | "imageId" | "completion">;

/** An unscored rollout made from facts alone; it has only the terms that `factsOf` reads. */
export function rolloutOf(facts: RolloutFacts, place: RolloutPlace): BenchRollout {
  const { loop, reference, caption, given, predicted, confidence, likelihood, truncated } = facts;
  const [height, width] = (given ?? predicted)?.size ?? [1, 1];
  const generated = aboutLoop(loop).text;
  return {
    ...place,
    step: 0,
    loop,
    group: 0,
    prompt: "",
    caption: (generated === "caption" ? caption : reference) ?? "",
    referenceCaption: reference ?? "",
    captionPrime: generated === "captionPrime" ? caption : null,
    givenMask: given ?? rleFromRuns([height * width], height, width),
    predictedMask: predicted,
    greedyMask: null,
    reward: null,
    terms: [
      ...(confidence === null ? [] : [{ name: "confidence", value: confidence, weight: 0 }]),
      ...Object.entries(likelihood ?? {}).map(([name, value]) => ({ name, value, weight: 0 })),
    ],
    advantage: 0,
    actions: [],
    truncated,
    lacks: [
      ...(caption === null ? (["caption"] as const) : []),
      ...(reference === null ? (["reference"] as const) : []),
      ...(given === null ? (["given"] as const) : []),
    ],
  };
}

/** Fields that an imported rollout lacks; they then hold an empty text or mask. */
export interface Lacking {
  readonly lacks?: readonly ("caption" | "reference" | "given")[];
}

export function factsOf(loop: LoopId, rollout: Rollout & Lacking): RolloutFacts {
  const { lacks = [] } = rollout;
  const value = (name: string): number | null => rollout.terms.find((term) => term.name === name)?.value ?? null;
  const likelihood = value("likelihood");
  return {
    loop,
    reference: lacks.includes("reference") ? null : rollout.referenceCaption,
    caption: lacks.includes("caption") ? null : generatedText(loop, rollout),
    given: lacks.includes("given") ? null : rollout.givenMask,
    predicted: rollout.predictedMask,
    confidence: value("confidence"),
    ...(likelihood === null ? {} : { likelihood: { likelihood, contrast: value("contrast") } }),
    truncated: rollout.truncated,
  };
}

/** The difficulty of the rows of these groups, without groups that have no reward. */
export function measuredRows(
  groups: readonly Pick<GroupRecord, "rowId" | "loop" | "rewardMean" | "zeroSpread">[],
): RowDifficulty[] {
  return groups.flatMap(({ rowId, loop, rewardMean: reward, zeroSpread }) =>
    Number.isFinite(reward) ? [{ rowId, loop, reward, zeroSpread }] : [],
  );
}
