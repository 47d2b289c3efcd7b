/**
 * Cached decoding of a batch of completions: all groups of a loop at once. Each group's prompt is computed once
 * (policy/decode/prefill.ts), and every rollout has its own counter-based draws, so that it can be replayed alone.
 *
 * Tokens are drawn on the GPU (policy/decode/decode-gpu.ts) if it supports the model's sizes, else on the CPU
 * (policy/decode/decode-host.ts), with equal draws.
 */
import { customKernels } from "../../gpu/runtime/custom-kernels.ts";
import { backendDevice } from "../../gpu/runtime/program.ts";
import { rotatedAlike } from "../../model/language/rope-scaling.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import type { Weights } from "../../model/weights/weights.ts";
import type { Completion, Generated, GenerateOptions, RowAddress } from "./completion.ts";
import { decodeOnGpu } from "./decode-gpu.ts";
import { decodeOnHost } from "./decode-host.ts";
import { decodeBlocker } from "./decode-weights.ts";
import { disposePrefilled, type Prefilled, type PromptBatch, prefill } from "./prefill.ts";

export type { Completion, Generated, GenerateOptions } from "./completion.ts";

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
  if (options.oneLength !== true) return generateTogether(model, weights, groups, options);
  const lengths = groups.map(
    ({ prefix, tailLengths }) => (prefix.shape[1] as number) + Math.max(...tailLengths) + options.maxNewTokens,
  );
  const results: Generated[] = [];
  for (const alike of rotatedAlike(model.config.language.rope, lengths)) {
    const own = alike.map((group) => groups[group] as PromptBatch);
    const key: GenerateOptions["key"] = (group, rollout) => options.key(alike[group] as number, rollout);
    const ropeLength = Math.max(...alike.map((group) => lengths[group] as number));
    const made = await generateTogether(model, weights, own, { ...options, key }, ropeLength);
    alike.forEach((group, at) => {
      results[group] = made[at] as Generated;
    });
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
  const prompts = prefill(weights, model.config.language, groups, { ropeLength, groupsAtOnce: options.groupsAtOnce });
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
    Math.max(...prompts.head.map((head, row) => head + (prompts.tail[row] as number))) + options.maxNewTokens;
  const { maxStorageBufferBindingSize: most } = backendDevice().limits;
  return decodeBlocker(weights, model.config.language, length, most, options.oneLength) === undefined;
}
