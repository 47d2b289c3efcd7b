/** Prompts as embeddings: text rows of the frozen table, visual tokens of the trainable projector. */
import { type Tensor, tf } from "../gpu/tf.ts";
import { embedTokens } from "../model/language.ts";
import { projectVisual } from "../model/projector.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { spliceVisual } from "../model/splice.ts";
import type { Weights } from "../model/weights.ts";
import type { Prompt } from "../text/prompt.ts";
import type { ImageFeatures } from "./features.ts";
import type { PromptBatch } from "./prefill.ts";
import type { RegionCells } from "./prompts.ts";

/** Embeddings [rows, T, D] of equally long id rows. */
export function embedIds(model: Sa2vaModel, weights: Weights, ids: readonly (readonly number[])[]): Tensor {
  return tf.tidy(() => {
    const length = ids[0]?.length ?? 0;
    return embedTokens(weights, model.config.language, tf.tensor2d(ids.flat(), [ids.length, length], "int32"));
  });
}

/** Projected tokens of all tiles, [tiles, tokens, D]; differentiable in the projector. */
export function projectImage(weights: Weights, features: ImageFeatures): Tensor {
  return projectVisual(weights, features.vision);
}

/** The same of several pictures in one pass, [tiles, tokens, D] each. */
export function projectImages(weights: Weights, pictures: readonly ImageFeatures[]): Tensor[] {
  const [first] = pictures;
  if (first === undefined || pictures.length === 1) return pictures.map((picture) => projectImage(weights, picture));
  return tf.tidy(() => {
    const all = projectVisual(weights, tf.concat(pictures.map(({ vision }) => vision)));
    const [, tokens, width] = all.shape as [number, number, number];
    let from = 0;
    return pictures.map(({ tiles }) => {
      from += tiles;
      return tf.slice(all, [from - tiles, 0, 0], [tiles, tokens, width]);
    });
  });
}

/**
 * Embeddings of prompt ids with the visual tokens written in.
 * @param ids the prompt's ids, or those followed by an answer
 * @param projected [tiles, tokens, D]
 * @param cells the marked region, or null for a prompt without one
 * @returns [1, T, D]
 */
export function embedPrompt(
  model: Sa2vaModel,
  weights: Weights,
  prompt: Prompt,
  ids: readonly number[],
  projected: Tensor,
  cells: RegionCells | null,
): Tensor {
  return tf.tidy(() => {
    const text = embedIds(model, weights, [ids]);
    const visual = projected.reshape([-1, projected.shape[2] as number]);
    const regions = cells === null ? [] : [cells];
    return spliceVisual(text, prompt, visual, regions, model.config.tokensPerTile);
  });
}

/** Tokens that all rows have in common from the start, leaving each row at least one of its own. */
export function sharedLength(rows: readonly (readonly number[])[], limit: number): number {
  const first = rows[0] ?? [];
  const most = Math.min(limit, ...rows.map((row) => row.length - 1));
  let length = 0;
  while (length < most && rows.every((row) => row[length] === first[length])) length++;
  return length;
}

/** Tails [L_i, D] of different lengths as one right-padded batch behind a shared prefix. */
export function padTails(prefix: Tensor, tails: readonly Tensor[]): PromptBatch {
  const lengths = tails.map((tail) => tail.shape[0] as number);
  const longest = Math.max(...lengths);
  const padded = tf.tidy(() =>
    tf.stack(
      tails.map((tail, i) =>
        tf.pad(tail as tf.Tensor2D, [
          [0, longest - (lengths[i] as number)],
          [0, 0],
        ]),
      ),
    ),
  );
  return { prefix, tails: padded, tailLengths: lengths };
}
