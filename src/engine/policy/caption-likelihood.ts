/**
 * How likely a set of weights finds a caption where it looks at a mask: teacher forcing in place of decoding, so that a
 * mask is judged by every token of the caption and not by the words that happen to come out.
 */
import { readTogether } from "../gpu/runtime/read-back.ts";
import { tf } from "../gpu/tf.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { Weights } from "../model/weights/weights.ts";
import { encodeCaption } from "../text/prompt.ts";
import { type CaptionGroup, captionScores } from "./caption-policy.ts";
import { FULL_SAMPLING } from "./decode/sampler.ts";
import type { DescribedPicture } from "./partner.ts";
import { captionPrompt, countCells, regionCells } from "./prompts.ts";

export interface MaskLikelihood {
  /** Geometric mean of the probabilities of the caption's tokens, end token included; 0..1. */
  readonly likelihood: number;
  /** Probability of the caption if the weights had to choose among it and the other captions; 1 where there are none. */
  readonly contrast: number;
}

/**
 * @param others captions that say something else; those equal to the caption are left out
 * @returns one per mask; null for a mask that covers no visual token
 */
export async function captionLikelihoods(
  model: Sa2vaModel,
  weights: Weights,
  { features, masks, height, width }: DescribedPicture,
  caption: string,
  others: readonly string[],
  { logitGuard, keepTiny }: { readonly logitGuard: number; readonly keepTiny: boolean },
): Promise<(MaskLikelihood | null)[]> {
  const texts = [...new Set([caption, ...others])];
  const completions = texts.map((text) => {
    const { ids } = encodeCaption(model.tokenizer, model.config.template, text);
    return { ids, logps: [], entropies: [], ended: true };
  });
  const found: (MaskLikelihood | null)[] = masks.map(() => null);
  const groups: CaptionGroup[] = [];
  const places: number[] = [];
  for (const [at, mask] of masks.entries()) {
    const cells = regionCells(model, mask, height, width, keepTiny);
    if (countCells(cells) === 0) continue;
    groups.push({ features, prompt: captionPrompt(model, features.tiles, cells), completions });
    places.push(at);
  }
  if (groups.length === 0) return found;
  const scores = captionScores(model, weights, groups, { ...FULL_SAMPLING, guard: logitGuard });
  const tensors = scores.map(({ logps }) => logps);
  const arrays = await readTogether(tensors).finally(() =>
    tf.dispose(scores.flatMap(({ logps, entropies }) => [logps, entropies])),
  );
  for (const [n, logps] of arrays.entries()) {
    const length = logps.length / texts.length;
    const sums = completions.map(({ ids }, row) =>
      ids.reduce((sum, _, token) => sum + (logps[row * length + token] as number), 0),
    );
    const own = sums[0] as number;
    const rivals = sums.reduce((total, sum) => total + Math.exp(sum - own), 0);
    const tokens = (completions[0] as (typeof completions)[number]).ids.length;
    found[places[n] as number] = { likelihood: Math.exp(own / tokens), contrast: 1 / rivals };
  }
  return found;
}
