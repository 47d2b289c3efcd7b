/**
 * Recomputes details of a rollout that the log lacks: the likeliest tokens at every position and the probabilities of
 * its mask. It uses the weights that sampled the rollout, replayed from the checkpoint before its step.
 */
import { badInput } from "../../engine/errors.ts";
import { tf } from "../../engine/gpu/tf.ts";
import { imageLogits } from "../../engine/model/sam2/postprocess.ts";
import { tokenChoices } from "../../engine/policy/caption-policy.ts";
import { samplerSettings } from "../../engine/policy/decode/sampler.ts";
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
