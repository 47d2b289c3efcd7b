/** Facts about a sampled or stored rollout that rewards use. */
import type { RolloutFacts } from "../../rewards/term.ts";
import { aboutLoop, type LoopId } from "../../rl/loops/abouts.ts";
import type { BenchRollout } from "../bench/bench-group.ts";
import type { Rollout } from "./records.ts";

/** The generated text that is rewarded; null when there was nothing to describe. */
export function generatedText(loop: LoopId, rollout: Pick<Rollout, "caption" | "captionPrime">): string | null {
  return rollout[aboutLoop(loop).text];
}

export function factsOf(loop: LoopId, rollout: Rollout & Pick<BenchRollout, "lacks">): RolloutFacts {
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
