/** Prompts as embeddings: text rows from the frozen table, visual tokens from the trainable projector. */
import { placedRows } from "../gpu/kernels/placed-rows.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { visionFamily } from "../model/families/registry.ts";
import { promptPlaces } from "../model/language/config-language.ts";
import { embedTokens } from "../model/language/language.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { copiedTokens, splicedOrder, spliceVisual, widened } from "../model/splice.ts";
import type { Weights } from "../model/weights/weights.ts";
import { type Prompt, tileTokens } from "../text/prompt.ts";
import type { PromptBatch } from "./decode/prefill.ts";
import type { ImageFeatures } from "./features.ts";
import { type CaptionPrompt, promptRegions, type RegionCells } from "./prompts.ts";

/** Embeddings [rows, T, D] of id rows of equal length. */
export function embedIds(model: Sa2vaModel, weights: Weights, ids: readonly (readonly number[])[]): Tensor {
  return tf.tidy(() => {
    const length = ids[0]?.length ?? 0;
    return embedTokens(weights, model.config.language, tf.tensor2d(ids.flat(), [ids.length, length], "int32"));
  });
}

/**
 * Vision tokens in the language model's width D, differentiable in the projector: [tiles, tokens, W], W = D or with what
 * the first layers add beside it.
 */
export function projectVision({ config }: Pick<Sa2vaModel, "config">, weights: Weights, vision: Tensor): Tensor {
  return visionFamily(config).project(weights, config, vision);
}

/** The vision tokens that a prompt about a region reads. */
export function shownVision({ shown, vision }: Pick<ImageFeatures, "shown" | "vision">): Tensor {
  return shown ?? vision;
}

/** Projected tokens of pictures, [tiles, tokens, W] each, in one pass where they have equally many; differentiable. */
export function projectImages(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  pictures: readonly { readonly tiles: number; readonly vision: Tensor }[],
): Tensor[] {
  const even = new Set(pictures.map(({ vision }) => vision.shape[1])).size === 1;
  if (pictures.length <= 1 || !even) return pictures.map(({ vision }) => projectVision(model, weights, vision));
  return tf.tidy(() => {
    const all = projectVision(model, weights, tf.concat(pictures.map(({ vision }) => vision)));
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
 * @param projected [tiles, tokens, W]
 * @param regions the marked regions of the prompt
 * @returns [1, T, W]
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
    return spliceVisual(text, prompt, visual, regions, tileTokens(model.config, prompt.grid));
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
 * @param projected [tiles, tokens, W]
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
  const count = projected.size / (projected.shape[2] as number);
  const { hiddenSize } = model.config.language;
  const wide = projected.shape[2] as number;
  const visual = ids.length;
  const regions = prompts.map(promptRegions);
  const copied = regions.some((own) => own.length > 0);
  const copies = wide === hiddenSize || !copied ? visual : visual + count;
  let text = 0;
  const orders = prompts.map((prompt, at) => {
    const tokensPerTile = tileTokens(model.config, prompt.grid);
    const tokens = { count, tokensPerTile, regionGrids: regions[at] as readonly RegionCells[] };
    const order = splicedOrder(prompt.ids.length, prompt, tokens, { text, visual, copies });
    text += tailLengths[at] as number;
    return order;
  });
  const padded = orders.flatMap((order) => Array.from({ length: longest }, (_, at) => order[shared + at] ?? -1));
  const [prefix, tails] = tf.tidy(() => {
    const embedded = widened(embedIds(model, weights, [ids]).reshape([ids.length, hiddenSize]), wide);
    const tokens = projected.reshape([count, wide]);
    const visible = copied ? copiedTokens(tokens, hiddenSize).rows : tokens;
    return [
      placedRows(embedded, visible, (orders[0] ?? []).slice(0, shared)).reshape([1, shared, wide]),
      placedRows(embedded, visible, padded).reshape([prompts.length, longest, wide]),
    ];
  }) as [Tensor, Tensor];
  return { prefix, tails, tailLengths, ...batchPositions(model, prompts) };
}

/** Places of the prompts of a batch, where they are not the tokens' indices. */
export function batchPositions(
  { config }: Pick<Sa2vaModel, "config">,
  prompts: readonly Prompt[],
): Pick<PromptBatch, "positions"> {
  const positions = prompts.flatMap((prompt) => {
    const own = promptPlaces(config.language, prompt, prompt.ids.length);
    return own === undefined ? [] : [own];
  });
  return positions.length === 0 ? {} : { positions };
}
