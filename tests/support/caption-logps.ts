import { type CaptionGroup, type CaptionLogps, captionLogps } from "../../src/engine/policy/caption-policy.ts";

type Rest = Parameters<typeof captionLogps> extends [infer M, infer W, unknown, ...infer R] ? [M, W, R] : never;

/** `captionLogps` of one group. */
export function logpsOf(model: Rest[0], weights: Rest[1], group: CaptionGroup, ...rest: Rest[2]): CaptionLogps {
  return captionLogps(model, weights, [group], ...rest)[0] as CaptionLogps;
}
