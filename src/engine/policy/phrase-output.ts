/** What a set of weights makes of one phrase about one picture, as far as it is asked for. */
import { type Tensor, tf } from "../gpu/tf.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { type DecodedMasks, decodeMasks } from "../model/sam2/mask-decoder.ts";
import type { Weights } from "../model/weights.ts";
import type { ImageFeatures } from "./features.ts";
import { phrasePrompts } from "./partner.ts";

export interface PhraseOutput {
  /** The [SEG] state as a prompt of the mask decoder, [1, C]. */
  readonly language: Tensor;
  /** Masks for the phrase; decoded at the first call and kept. */
  decoded(): DecodedMasks;
  /** Masks for other prompts [N, C] on the same picture; owned by the caller. */
  decode(language: Tensor): DecodedMasks;
  /** Frees what was computed; not needed where a tape or a tidy owns it. */
  dispose(): void;
}

/** Differentiable in every trainable tensor behind `weights`. */
export function phraseOutput(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  phrase: string,
): PhraseOutput {
  const language = phrasePrompts(model, weights, features, [phrase]);
  const decode = (prompts: Tensor): DecodedMasks => decodeMasks(weights, model.config.sam2, features.sam, prompts);
  let decoded: DecodedMasks | undefined;
  return {
    language,
    decode,
    decoded() {
      decoded ??= decode(language);
      return decoded;
    },
    dispose() {
      language.dispose();
      if (decoded !== undefined) tf.dispose([decoded.masks, decoded.iou, decoded.objectScore]);
    },
  };
}
