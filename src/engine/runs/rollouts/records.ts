import type { Rle } from "../../data/mask/rle.ts";
import type { RewardTerm } from "../../rewards/term.ts";
import type { LoopId } from "../../rl/loops/abouts.ts";

export type { LoopId } from "../../rl/loops/abouts.ts";

/**
 * One action of a completion: a token of a caption or answer (loops 1 and 3), or a grid cell or candidate of the mask
 * policy (loop 2).
 */
export interface ActionRecord {
  /** Token text, "cell 3,5" or "candidate 2". */
  readonly label: string;
  /** Token id, cell index or candidate index. */
  readonly id: number;
  /** log π under the weights being updated, in the first pass of the update (nats). */
  readonly logp: number;
  /** log π under the weights that sampled. */
  readonly oldLogp: number;
  /** log π under the reference; null if β = 0 and there was no reference pass. */
  readonly refLogp: number | null;
  /**
   * Ratio in the first pass: exp(logp - oldLogp), at sequence level of the row's mean; with the formula of the design
   * notes, relative to refLogp.
   */
  readonly ratio: number;
  /** k3 estimate against the reference (nats); null without a reference. */
  readonly kl: number | null;
  readonly entropy: number;
  /** Whether clipping removed this action's gradient. */
  readonly clipped: boolean;
}

/** One rollout, sampled and scored by its loop. */
export interface Rollout {
  /** RegionSample.id of the row. */
  readonly rowId: string;
  readonly imageId: string;
  /** Prompt of the policy, image placeholder collapsed. */
  readonly prompt: string;
  /** The policy's text: the caption (loop 1) or the teacher-forced answer (loop 2). */
  readonly completion: string;
  /** Loop 1: the sampled caption. Loop 2: the caption the policy was given. */
  readonly caption: string;
  /** The data set's caption of the row. */
  readonly referenceCaption: string;
  /** Loop 2: the partner's caption of the policy's mask. */
  readonly captionPrime: string | null;
  /** The data set's mask of the row. */
  readonly givenMask: Rle;
  /** Loop 1: mask′ of the partner. Loop 2: the policy's sampled mask. Null without a mask. */
  readonly predictedMask: Rle | null;
  /** Loop 2: the policy's mask without exploration noise, the same for all rollouts of a group; see `drawnMask`. */
  readonly greedyMask: Rle | null;
  /**
   * Loop 2: the action chooses one of the decoder's masks instead of adding noise to one. Never stored, because the
   * names of the actions say the same once the step is computed.
   */
  readonly chosen?: true;
  readonly reward: number | null;
  readonly terms: readonly RewardTerm[];
  /** Reached the length limit without an end token. */
  readonly truncated: boolean;
}

/** A rollout after its update, with everything needed to draw it and to recompute every number shown about it. */
export interface RolloutRecord extends Rollout {
  /** `<step>-<loop>-<group>-<index>`. */
  readonly id: string;
  readonly step: number;
  readonly loop: LoopId;
  readonly group: number;
  readonly index: number;
  readonly advantage: number;
  readonly actions: readonly ActionRecord[];
  /** Number of frames stacked in each mask; absent for a picture. */
  readonly frames?: number;
}

/** The G rollouts of one prompt. */
export interface GroupRecord {
  readonly step: number;
  readonly loop: LoopId;
  readonly group: number;
  readonly rowId: string;
  readonly rewardMean: number;
  readonly rewardStd: number;
  /** All rewards are equal: this group gives no learning signal. */
  readonly zeroSpread: boolean;
  /** Token ids of the policy's prompt, including visual tokens; absent for imported rollouts. */
  readonly promptIds?: readonly number[];
  /** Loop 2: token ids of the forced answer that follows the prompt; absent in loop 1. */
  readonly answerIds?: readonly number[];
  /** CRC-32 of the decoded picture's RGB bytes, 8 hexadecimal digits; absent before the update and in older files. */
  readonly pixels?: string;
  readonly rollouts: readonly RolloutRecord[];
  /** Of the running step, without advantages yet and without what later phases compute; never stored. */
  readonly unfinished?: true;
}

/** Flat metric name → value; names and meanings are in runs/metrics/metric-table.ts. NaN is kept, missing is absent. */
export type StepMetrics = Readonly<Record<string, number>>;
