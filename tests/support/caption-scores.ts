import { type CaptionGroup, type CaptionScores, captionScores } from "../../src/engine/policy/caption-policy.ts";

type Rest = Parameters<typeof captionScores> extends [infer M, infer W, unknown, ...infer R] ? [M, W, R] : never;

/** `captionScores` of one group. */
export function scoresOf(model: Rest[0], weights: Rest[1], group: CaptionGroup, ...rest: Rest[2]): CaptionScores {
  return captionScores(model, weights, [group], ...rest)[0] as CaptionScores;
}
