/**
 * "Pathwise": no policy gradient and no sampling. The chosen candidate is trained by the gradient of the caption's
 * likelihood through the soft mask (caption-likelihood.ts). SAM2's candidates are shown and scored but do not affect
 * training. It is an upper bound on what a reward of that likelihood can teach.
 */
import { candidatePolicy } from "./candidate-policy.ts";
import { argMax, bestCandidate, type MaskPolicy } from "./mask-policy.ts";

/** @param temperature of the choice among the candidates that are shown */
export function pathwisePolicy(temperature: number): MaskPolicy {
  const candidates = candidatePolicy(temperature);
  return async (output, count, draws) => {
    const actions = await candidates(output, count, draws);
    const index = argMax(actions.logps);
    return { ...actions, weights: null, chosen: (other) => bestCandidate(other.decoded(), index) };
  };
}
