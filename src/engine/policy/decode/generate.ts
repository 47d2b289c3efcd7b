/**
 * Cached decoding of a batch of completions: all groups of a loop at once. Each group's prompt is computed once
 * (policy/decode/prefill.ts), and every rollout has its own counter-based draws, so that it can be replayed alone.
 *
 * Tokens are drawn on the GPU (policy/decode/decode-gpu.ts) if it supports the model's sizes, else on the CPU
 * (policy/decode/decode-host.ts), with equal draws.
 */

import { pickRows } from "../../gpu/kernels/repeat.ts";
import { customKernels } from "../../gpu/runtime/custom-op.ts";
import { backendDevice } from "../../gpu/runtime/program.ts";
import { inPace } from "../../gpu/runtime/work-budget.ts";
import { tf } from "../../gpu/tf.ts";
import { rotatedAlike } from "../../model/language/rope-scaling.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import type { Weights } from "../../model/weights/weights.ts";
import { decodeOnGpu } from "./decode-gpu.ts";
import { decodeOnHost } from "./decode-host.ts";
import { decodeBlocker } from "./decode-weights.ts";
import { disposePrefilled, type Prefilled, type PromptBatch, prefill } from "./prefill.ts";
import type { Completion, Generated, GenerateOptions, RowAddress } from "./sampler.ts";

export type { Completion, Generated, GenerateOptions } from "./sampler.ts";

/**
 * Completes every row of every group; one result per group.
 * @throws LabError("cancelled") when the signal is aborted, LabError("gpu") when the device is lost
 */
export async function generate(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  groups: readonly PromptBatch[],
  options: GenerateOptions,
): Promise<Generated[]> {
  if (groups.length === 0) return [];
  const { rope, window } = model.config.language;
  const { maxCompletionLength, oneLength = false } = options;
  const prompts = groups.flatMap(({ prefix, tailLengths }) =>
    tailLengths.map((length) => (prefix.shape[1] as number) + length),
  );
  const longest = Math.max(...prompts) + maxCompletionLength;
  const lengths = oneLength ? prompts.map((length) => length + maxCompletionLength) : [Math.min(...prompts), longest];
  const even = rotatedAlike(rope, lengths).length <= 1 && (window === undefined || longest <= window.size);
  if (!even && isPadded(groups)) return generateUnpadded(model, weights, groups, options);
  return generateTogether(model, weights, groups, options, oneLength ? longest : undefined);
}

/** Whether a batch of these groups holds padding. */
function isPadded(groups: readonly PromptBatch[]): boolean {
  const lengths = (own: readonly number[]): number => new Set(own).size;
  return (
    lengths(groups.map(({ prefix }) => prefix.shape[1] as number)) > 1 ||
    lengths(groups.flatMap(({ tailLengths }) => tailLengths)) > 1
  );
}

/**
 * Decodes each group separately, and within it the rows of each length: an attention window would count padding, and
 * the rotation depends on the longest row.
 */
async function generateUnpadded(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  groups: readonly PromptBatch[],
  options: GenerateOptions,
): Promise<Generated[]> {
  const results: Generated[] = [];
  for (const [at, group] of groups.entries()) {
    const completions: Completion[] = [];
    const found = { completions, nonFinite: 0, clips: 0 };
    for (const length of new Set(group.tailLengths)) {
      const rows = group.tailLengths.flatMap((own, row) => (own === length ? [row] : []));
      const tails = tf.tidy(() => {
        const own = pickRows(group.tails, rows);
        return tf.slice(own, [0, 0, 0], [rows.length, length, own.shape[2] as number]);
      });
      const part: PromptBatch = { ...group, tails, tailLengths: rows.map(() => length) };
      const key: GenerateOptions["key"] = (_, row) => options.key(at, rows[row] as number);
      const [made] = await generate(model, weights, [part], { ...options, key }).finally(() => tails.dispose());
      const { completions: own, nonFinite, clips } = made as Generated;
      own.forEach((completion, n) => {
        completions[rows[n] as number] = completion;
      });
      found.nonFinite += nonFinite;
      found.clips += clips;
    }
    results.push(found);
  }
  return results;
}

async function generateTogether(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  groups: readonly PromptBatch[],
  options: GenerateOptions,
  ropeLength?: number,
): Promise<Generated[]> {
  const address = groups.flatMap((batch, group) =>
    batch.tailLengths.map((_, rollout): RowAddress & { readonly group: number } => ({
      group,
      key: options.key(group, rollout),
      promptIds: batch.promptIds ?? [],
    })),
  );
  const recorded = prefill(weights, model.config.language, groups, { ropeLength, groupsAtOnce: options.groupsAtOnce });
  const prompts = await inPace(recorded, options.signal);
  try {
    const decode = suitsGpu(model, weights, prompts, options) ? decodeOnGpu : decodeOnHost;
    const rows = await decode(model.config.language, weights, prompts, address, options, ropeLength);
    return groups.map((_, group) => {
      const own = rows.filter((_row, at) => address[at]?.group === group);
      return {
        completions: own.map(
          ({ ids, logps, entropies }): Completion => ({ ids, logps, entropies, ended: options.stop(ids) }),
        ),
        nonFinite: own.filter((row) => row.broken).length,
        clips: own.reduce((sum, row) => sum + row.clips, 0),
      };
    });
  } finally {
    disposePrefilled(prompts);
  }
}

/** Whether the GPU programs can decode this batch. */
function suitsGpu(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  prompts: Prefilled,
  options: GenerateOptions,
): boolean {
  if (!customKernels()) return false;
  const length =
    Math.max(...prompts.head.map((head, row) => head + (prompts.tail[row] as number))) + options.maxCompletionLength;
  const { maxStorageBufferBindingSize: most } = backendDevice().limits;
  return decodeBlocker(weights, model.config.language, length, most, options.oneLength) === undefined;
}
