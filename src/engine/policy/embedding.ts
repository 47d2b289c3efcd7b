/** Prompts as embeddings: text rows from the frozen table, visual tokens from the trainable projector. */
import { placedRows } from "../gpu/kernels/placed-rows.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { embedTokens } from "../model/language/language.ts";
import { projectVisual } from "../model/projector.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { splicedOrder, spliceVisual } from "../model/splice.ts";
import type { Weights } from "../model/weights/weights.ts";
import type { Prompt } from "../text/prompt.ts";
import type { PromptBatch } from "./decode/prefill.ts";
import type { ImageFeatures } from "./features.ts";
import type { CaptionPrompt, RegionCells } from "./prompts.ts";

/** Embeddings [rows, T, D] of id rows of equal length. */
export function embedIds(model: Sa2vaModel, weights: Weights, ids: readonly (readonly number[])[]): Tensor {
  return tf.tidy(() => {
    const length = ids[0]?.length ?? 0;
    return embedTokens(weights, model.config.language, tf.tensor2d(ids.flat(), [ids.length, length], "int32"));
  });
}

/** Projected tokens of pictures in one pass, [tiles, tokens, D] each; differentiable in the projector. */
export function projectImages(weights: Weights, pictures: readonly ImageFeatures[]): Tensor[] {
  const [first] = pictures;
  if (first === undefined || pictures.length === 1) return pictures.map(({ vision }) => projectVisual(weights, vision));
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
 * Embeddings of prompt ids with the visual tokens in place.
 * @param ids ids of the prompt, or of prompt and answer
 * @param projected [tiles, tokens, D]
 * @param regions the marked regions of the prompt
 * @returns [1, T, D]
 */
export function embedPrompt(
  model: Sa2vaModel,
  weights: Weights,
  prompt: Prompt,
  ids: readonly number[],
  projected: Tensor,
  regions: readonly RegionCells[],
): Tensor {
  return tf.tidy(() => {
    const text = embedIds(model, weights, [ids]);
    const visual = projected.reshape([-1, projected.shape[2] as number]);
    return spliceVisual(text, prompt, visual, regions, model.config.tokensPerTile);
  });
}

/** Length of the rows' common prefix that leaves each row at least one token. */
export function sharedLength(rows: readonly (readonly number[])[], limit: number): number {
  const first = rows[0] ?? [];
  const most = Math.min(limit, ...rows.map((row) => row.length - 1));
  let length = 0;
  while (length < most && rows.every((row) => row[length] === first[length])) length++;
  return length;
}

/**
 * Embeds prompts about one picture that share everything up to the end of the picture's tokens. Region tokens have one
 * id but different contents, so sharing ends there. The rest is right-padded with zeros.
 * @param projected [tiles, tokens, D]
 */
export function embedTogether(
  model: Sa2vaModel,
  weights: Weights,
  prompts: readonly CaptionPrompt[],
  projected: Tensor,
): PromptBatch {
  const rows = prompts.map(({ ids }) => ids);
  const shared = sharedLength(rows, prompts[0]?.imageSpan.end ?? 0);
  // The shared tokens are embedded once.
  const ids = [...(rows[0] ?? []).slice(0, shared), ...rows.flatMap((row) => row.slice(shared))];
  const tailLengths = rows.map((row) => row.length - shared);
  const longest = Math.max(...tailLengths);
  const { tokensPerTile } = model.config;
  const count = projected.size / (projected.shape[2] as number);
  let text = 0;
  const orders = prompts.map((prompt, at) => {
    const tokens = { count, tokensPerTile, regionGrids: [prompt.cells] };
    const order = splicedOrder(prompt.ids.length, prompt, tokens, { text, visual: ids.length });
    text += tailLengths[at] as number;
    return order;
  });
  const padded = orders.flatMap((order) => Array.from({ length: longest }, (_, at) => order[shared + at] ?? -1));
  const [prefix, tails] = tf.tidy(() => {
    const width = projected.shape[2] as number;
    const embedded = embedIds(model, weights, [ids]).reshape([ids.length, width]);
    const visual = projected.reshape([count, width]);
    return [
      placedRows(embedded, visual, (orders[0] ?? []).slice(0, shared)).reshape([1, shared, width]),
      placedRows(embedded, visual, padded).reshape([prompts.length, longest, width]),
    ];
  }) as [Tensor, Tensor];
  return { prefix, tails, tailLengths };
}
