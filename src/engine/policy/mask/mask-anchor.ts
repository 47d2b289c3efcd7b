/**
 * Anchors of loop 2, which keep the mask decoder from drifting. The reward of a caption depends little on the exact
 * shape of a mask, so most of its gradient is noise. An anchor keeps the masks close to those at the run's start, or to
 * the true mask.
 */
import type { LabConfig } from "../../config/table.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { recipeLoss } from "../../model/mask-loss.ts";
import type { PhraseOutput } from "../phrase-output.ts";
import { bernoulliKl } from "./mask-distributions.ts";
import { bestCandidate, bestIndex, candidateLogits } from "./mask-policy.ts";

export interface MaskAnchor {
  /** Scalar, differentiable in the weights behind `output`. */
  loss(output: PhraseOutput): Tensor;
  dispose(): void;
}

/** Whether the settings turn an anchor on. */
export function wantsAnchor(config: LabConfig): boolean {
  return config.maskAnchor !== "none" && config.maskAnchorWeight !== 0;
}

/**
 * @param start output of the run's starting weights for the same phrase; used only during the call
 * @param truth share of each decoder pixel that the region covers, row-major, at the size of the decoded masks
 */
export async function maskAnchor(
  config: LabConfig,
  start: PhraseOutput,
  truth: (height: number, width: number) => Float32Array,
): Promise<MaskAnchor> {
  return config.maskAnchor === "start" ? startAnchor(start) : await truthAnchor(start, truth);
}

/** KL(policy ‖ start) of every pixel as a Bernoulli variable, mean over the pixels of the three candidates, nats. */
function startAnchor(start: PhraseOutput): MaskAnchor {
  const reference = candidateLogits(start.decoded());
  return {
    loss: (output) => tf.tidy(() => bernoulliKl(candidateLogits(output.decoded()), reference, 1).mean()),
    dispose: () => reference.dispose(),
  };
}

/** Cross-entropy and Dice to the region's mask, for the candidate that the starting weights choose. */
async function truthAnchor(
  start: PhraseOutput,
  truth: (height: number, width: number) => Float32Array,
): Promise<MaskAnchor> {
  const index = await bestIndex(start.decoded());
  const [, , height, width] = start.decoded().masks.shape as [number, number, number, number];
  const target = tf.tensor3d(truth(height, width), [1, height, width]);
  return {
    loss: (output) => tf.tidy(() => recipeLoss(bestCandidate(output.decoded(), index), target)),
    dispose: () => target.dispose(),
  };
}
