/** Groups whose actions are the tokens of sampled texts. */
import type { TrainingRow } from "../../data/training-row.ts";
import { tf } from "../../gpu/tf.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import { type CaptionLogps, captionBatch, captionLogps } from "../../policy/caption-policy.ts";
import { type Completion, type Generated, generate } from "../../policy/decode/generate.ts";
import { FULL_SAMPLING, samplerSettings } from "../../policy/decode/sampler.ts";
import type { ImageFeatures } from "../../policy/features.ts";
import { answerRule, type CaptionPrompt } from "../../policy/prompts.ts";
import { EVAL_DRAWS } from "../../runs/evaluations/evaluation-metrics.ts";
import type { Rollout } from "../../runs/rollouts/records.ts";
import type { DrawnGroup, Group, LoopRollouts } from "../step/group.ts";
import { type EvalRow, evalKey } from "../step/held-out.ts";
import { captionMetrics } from "../step/metrics/rollout-metrics.ts";
import { groupNumber, type Step, tokenKey } from "../step/step.ts";
import type { LoopId } from "./abouts.ts";

/** A row with the policy's texts for its prompt. */
export interface SampledTexts extends Generated {
  readonly row: TrainingRow;
  readonly prompt: CaptionPrompt;
  /** [G] texts without special tokens and stop word. */
  readonly texts: readonly string[];
}

/** G texts of the policy per row, all rows in one batch. @param prompts one per row, like `features` */
export async function sampleTexts(
  step: Step,
  loop: LoopId,
  rows: readonly TrainingRow[],
  prompts: readonly CaptionPrompt[],
  features: readonly ImageFeatures[],
): Promise<SampledTexts[]> {
  const { model, config } = step;
  const batches = prompts.map((prompt, group) =>
    captionBatch(model, step.policy, features[group] as ImageFeatures, prompt, config.numGenerations),
  );
  const rule = answerRule(model);
  const generated = await generate(model, step.policy, batches, {
    maxCompletionLength: config.maxCompletionLength,
    sampler: samplerSettings(config),
    greedy: false,
    oneLength: true,
    groupsAtOnce: config.groupsAtOnce,
    key: (group, rollout) => tokenKey(step, loop, group, rollout),
    stop: (ids) => rule.reached(ids),
    signal: step.signal,
  }).finally(() => tf.dispose(batches.flatMap((batch) => [batch.prefix, batch.tails])));
  return rows.map((row, group): SampledTexts => {
    const { completions, nonFinite, clips } = generated[group] as Generated;
    const texts = completions.map(({ ids }) => rule.answer(ids));
    return { row, prompt: prompts[group] as CaptionPrompt, completions, texts, nonFinite, clips };
  });
}

/** The common fields of text rollouts; the loop adds masks, reward and terms. */
export function textFields(
  { model }: Step,
  { row, prompt, completions, texts }: SampledTexts,
  n: number,
): Omit<Rollout, "predictedMask" | "reward" | "terms"> {
  const { ids, ended } = completions[n] as Completion;
  return {
    rowId: row.summary.id,
    imageId: row.summary.imageId,
    prompt: prompt.text,
    completion: model.tokenizer.decode([...ids], { keepSpecial: true }),
    caption: texts[n] as string,
    referenceCaption: row.summary.caption,
    captionPrime: null,
    givenMask: row.summary.mask,
    greedyMask: null,
    truncated: !ended,
  };
}

/** The sampled texts before their rewards. @param fieldsOf what the loop adds to a rollout so far */
export function drawnTexts(
  step: Step,
  loop: LoopId,
  items: readonly SampledTexts[],
  fieldsOf: (group: number, rollout: number) => Partial<Rollout> = () => ({}),
): DrawnGroup[] {
  return items.map((item, group) => ({
    loop,
    group: groupNumber(step, group),
    row: item.row,
    promptIds: item.prompt.ids,
    rollouts: item.texts.map((_, n) => ({
      ...textFields(step, item, n),
      predictedMask: null,
      reward: null,
      terms: [],
      ...fieldsOf(group, n),
    })),
  }));
}

/** The groups of sampled and scored texts. @param scored [G] rollouts and the loop's own metrics of each of `items` */
export function textRollouts(
  step: Step,
  loop: LoopId,
  items: readonly SampledTexts[],
  scored: readonly Pick<Group, "rollouts" | "metrics">[],
): LoopRollouts {
  const { model, config } = step;
  const sampler = samplerSettings(config);
  const groups = items.map((item, group): Group => {
    const { row, prompt, completions, texts, nonFinite, clips } = item;
    const { mask, width: actions } = captionMask(completions, config.maskTruncatedCompletions);
    const { rollouts = [], metrics = {} } = scored[group] ?? {};
    const logps = completions.map(({ logps }) => logps);
    return {
      loop,
      group: groupNumber(step, group),
      row,
      actions,
      labels: completions.map(({ ids }) =>
        ids.map((id) => ({ id, label: model.tokenizer.decode([id], { keepSpecial: true }) })),
      ),
      promptIds: prompt.ids,
      mask,
      samplingLogps: padRows(logps, actions),
      probabilities: null,
      rollouts,
      splitsRows: true,
      logProbs: (weights, own, rows) => {
        const chosen = rows === undefined ? completions : completions.slice(rows.from, rows.to);
        const asked = { features: own, prompt, completions: chosen, actions };
        return captionLogps(model, weights, [asked], sampler, config.maxCompletionLength)[0] as CaptionLogps;
      },
      dispose() {},
      metrics: {
        ...captionMetrics(texts, completions),
        ...metrics,
        "sampling/non_finite": nonFinite,
        "sampling/guard_clips": clips,
      },
    };
  });
  return {
    groups,
    logProbs: (weights, places, features) =>
      captionLogps(
        model,
        weights,
        places.map((place, at) => {
          const { prompt, completions } = items[place] as SampledTexts;
          const { actions } = groups[place] as Group;
          return { features: features[at] as ImageFeatures, prompt, completions, actions };
        }),
        sampler,
        config.maxCompletionLength,
      ),
  };
}

/** The length limit: the maximum number of actions of a text. */
export const TEXT_LENGTH = (_groups: readonly Group[], { maxCompletionLength }: Step["config"]): number =>
  maxCompletionLength;

/** A sampled text with the facts of its form. */
export interface AnswerText {
  readonly caption: string;
  /** Hit the length limit without an end token. */
  readonly truncated: boolean;
  /** Number of [SEG] in it. */
  readonly segments: number;
}

export function answerText({ tokenizer }: Sa2vaModel, { ids, ended }: Completion, caption: string): AnswerText {
  return { caption, truncated: !ended, segments: ids.filter((id) => id === tokenizer.special.seg).length };
}

/** Texts of the policy for one prompt per held-out row: the greedy one, then EVAL_DRAWS sampled ones. */
export async function heldOutTexts(
  step: Step,
  loop: LoopId,
  rows: readonly EvalRow[],
  prompts: readonly CaptionPrompt[],
): Promise<AnswerText[][]> {
  if (rows.length === 0) return [];
  const greedy = await heldOutBatch(step, loop, rows, prompts, true);
  const sampled = await heldOutBatch(step, loop, rows, prompts, false);
  return rows.map((_, at) => [greedy, sampled].flatMap((texts) => texts[at] ?? []));
}

async function heldOutBatch(
  { model, config, policy, signal }: Step,
  loop: LoopId,
  rows: readonly EvalRow[],
  prompts: readonly CaptionPrompt[],
  greedy: boolean,
): Promise<AnswerText[][]> {
  const batches = rows.map(({ features }, at) =>
    captionBatch(model, policy, features, prompts[at] as CaptionPrompt, greedy ? 1 : EVAL_DRAWS),
  );
  const rule = answerRule(model);
  const generated = await generate(model, policy, batches, {
    maxCompletionLength: config.maxCompletionLength,
    sampler: greedy ? { ...FULL_SAMPLING, guard: config.logitGuard } : samplerSettings(config),
    greedy,
    key: (group, rollout) => evalKey(loop, (rows[group] as EvalRow).index, rollout, 0),
    stop: (ids) => rule.reached(ids),
    signal,
  }).finally(() => tf.dispose(batches.flatMap(({ prefix, tails }) => [prefix, tails])));
  return generated.map(({ completions }) =>
    completions.map((completion) => answerText(model, completion, rule.answer(completion.ids))),
  );
}

/** [N][≤ T] → [N·T], padded with `fill`. */
export function padRows(rows: readonly (readonly number[])[], width: number, fill = 0): Float32Array {
  const grid = new Float32Array(rows.length * width).fill(fill);
  rows.forEach((row, n) => {
    grid.set(row, n * width);
  });
  return grid;
}

/** Width T (at least 1) and mask [N·T] of sampled captions; the end token counts. */
export function captionMask(
  completions: readonly Completion[],
  maskTruncatedCompletions: boolean,
): { readonly mask: Float32Array; readonly width: number } {
  const width = Math.max(1, ...completions.map((completion) => completion.ids.length));
  const ones = completions.map((completion) => {
    const counts = completion.ended || !maskTruncatedCompletions ? 1 : 0;
    return completion.ids.map(() => counts);
  });
  return { mask: padRows(ones, width), width };
}
