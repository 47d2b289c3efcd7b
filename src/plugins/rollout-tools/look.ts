/**
 * Recomputes details of a rollout that the log lacks: the likeliest tokens at every position and the probabilities of
 * its mask. It uses the weights that sampled the rollout, replayed from the checkpoint before its step.
 */
import { badInput } from "../../engine/errors.ts";
import { readOnce } from "../../engine/gpu/runtime/read-back.ts";
import { tf } from "../../engine/gpu/tf.ts";
import { languageLogits } from "../../engine/model/language/language.ts";
import type { Sa2vaModel } from "../../engine/model/sa2va.ts";
import { imageLogits } from "../../engine/model/sam2/postprocess.ts";
import type { Weights } from "../../engine/model/weights/weights.ts";
import { type AskedPrompt, statesOf } from "../../engine/policy/caption-policy.ts";
import { clip, greatest, type SamplerSettings, samplerSettings } from "../../engine/policy/decode/sampler.ts";
import type { ImageFeatures } from "../../engine/policy/features.ts";
import type { Looked } from "../../engine/rl/loops/loop.ts";
import { LOOP_CODE } from "../../engine/rl/loops/registry.ts";
import type { Lab } from "../../engine/rl/run/lab.ts";
import { stepRows } from "../../engine/rl/step/sample.ts";
import { withFeatures } from "../../engine/rl/step/step.ts";
import { openRun } from "../../engine/runs/run-folder.ts";
import { type ReplayAsked, repeatUpTo } from "./replay.ts";

interface LookAsked extends ReplayAsked {
  /** Id of a rollout of the step. */
  readonly rollout: string;
}

export interface RolloutLook {
  /** Step of the checkpoint that the replay started from; 0 for the start. */
  readonly from: number;
  /** For each token of the completion the likeliest tokens, likeliest first (nats); empty if actions are not tokens. */
  readonly tokens: readonly (readonly { readonly id: number; readonly label: string; readonly logp: number }[])[];
  /** Probability of the answer's mask, ⌊256 p⌋ for each pixel, row-major; null without a mask, and for clips. */
  readonly mask: { readonly height: number; readonly width: number; readonly values: Uint8Array } | null;
}

/** Number of tokens listed per position. */
const LISTED = 8;

/** @throws LabError like `replayStep`, or "bad-input" for a rollout that is not in the log; the run's folder is only read */
export async function lookAtRollout(lab: Lab, asked: LookAsked): Promise<RolloutLook> {
  const { id, list, step, source = lab.store } = asked;
  const run = await openRun(source, id);
  const groups = await run.readGroups(step);
  const rollout = groups.flatMap(({ rollouts }) => rollouts).find((one) => one.id === asked.rollout);
  const index = list.rows.findIndex(([row]) => row === rollout?.rowId);
  if (rollout === undefined || index < 0) {
    throw badInput(`Rollout ${asked.rollout} is not in the log of run "${id}"`, id);
  }
  const { model } = lab;
  return repeatUpTo(step - 1, lab, run, asked, async ({ trainer, from }) => {
    const { config } = run.manifest();
    const repeated = { ...trainer.at(step), config };
    const row = await stepRows(repeated.rows, config, step)(index);
    const { height, width } = row.rgb;
    return withFeatures(repeated, [row], async ([encoded]) => {
      const features = encoded as ImageFeatures;
      let looked: Looked | undefined;
      try {
        looked = await LOOP_CODE[rollout.loop].look?.(repeated, row, features, rollout);
        const { prompt = null, mask = null } = looked ?? {};
        const ids = rollout.actions.map((action) => action.id);
        const about = prompt === null || ids.length === 0 ? null : { features, prompt, ids };
        const choices =
          about === null
            ? []
            : await tokenChoices(
                model,
                repeated.policy,
                about,
                samplerSettings(config),
                config.maxCompletionLength,
                LISTED,
              );
        const label = (token: number): string => model.tokenizer.decode([token], { keepSpecial: true });
        const tokens = choices.map((own) => own.map((one) => ({ ...one, label: label(one.id) })));
        if (mask === null) return { from, tokens, mask };
        const levels = tf.tidy(() => {
          const logits = imageLogits(mask, model.config.sam2.imageSize, height, width);
          return tf.sigmoid(logits).mul(256);
        });
        const values = Uint8Array.from(await levels.data(), (level) => Math.min(255, level));
        levels.dispose();
        return { from, tokens, mask: { height, width, values } };
      } finally {
        looked?.mask?.dispose();
      }
    });
  });
}

/** The likeliest tokens of the full guarded and tempered distribution, likeliest first, with their log-probs (nats). */
export function likeliest(
  logits: ArrayLike<number>,
  settings: SamplerSettings,
  count: number,
): { readonly id: number; readonly logp: number }[] {
  const top = greatest(logits, settings);
  const best: { readonly id: number; readonly logp: number }[] = [];
  let sum = 0;
  for (let id = 0; id < logits.length; id++) {
    const logp = clip(logits[id] as number, settings.guard) / settings.temperature - top;
    sum += Math.exp(logp);
    if (best.length === count && !(logp > (best[count - 1]?.logp ?? 0))) continue;
    const place = best.findIndex((other) => logp > other.logp);
    best.splice(place < 0 ? best.length : place, 0, { id, logp });
    best.length = Math.min(best.length, count);
  }
  return best.map(({ id, logp }) => ({ id, logp: logp - Math.log(sum) }));
}

/**
 * For each token of a completion, the `count` likeliest tokens of the full distribution at its position, see
 * `likeliest`.
 */
export async function tokenChoices(
  model: Sa2vaModel,
  weights: Weights,
  about: { readonly features: ImageFeatures; readonly prompt: AskedPrompt; readonly ids: readonly number[] },
  sampler: SamplerSettings,
  maxCompletionLength: number,
  count: number,
): Promise<ReturnType<typeof likeliest>[]> {
  const { ids, prompt } = about;
  const ropeLength = prompt.ids.length + maxCompletionLength;
  const logits = tf.tidy(() => languageLogits(weights, statesOf(model, weights, [about], [ids], ropeLength)));
  const values = await readOnce(logits);
  const width = values.length / ids.length;
  return ids.map((_, at) => likeliest(values.subarray(at * width, (at + 1) * width), sampler, count));
}
