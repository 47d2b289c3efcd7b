/**
 * One supervised step in place of a GRPO step: the same rows, weights, accumulation, update and moving average, but
 * with the region's caption and mask as targets. Token cross-entropy + 2 · BCE + 0.5 · Dice of the selected mask
 * (docs/spec/sa2va.md#18-supervised-training-recipe); every row has the same weight.
 */
import type { LabConfig } from "../../engine/config/table.ts";
import type { TrainingRow } from "../../engine/data/training-row.ts";
import { badInput } from "../../engine/errors.ts";
import { STREAM, uniform } from "../../engine/gpu/random.ts";
import { gradientsOf } from "../../engine/gpu/runtime/tape.ts";
import { gpuFinished } from "../../engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import { recomputing } from "../../engine/model/weights/weights.ts";
import type { ImageFeatures } from "../../engine/policy/features.ts";
import { reachedGradients } from "../../engine/rl/optim/optimiser.ts";
import { gradientSum, type TrainingState, updateState } from "../../engine/rl/optim/training-state.ts";
import type { Run } from "../../engine/rl/run/lab.ts";
import { dataCaptionObservations } from "../../engine/rl/step/metrics/rollout-metrics.ts";
import { dropoutKey, runWeights, type Step, withFeatures } from "../../engine/rl/step/step.ts";
import type { StepOutcome } from "../../engine/rl/step/step-events.ts";
import { type SftBatch, sftBatch } from "./batch.ts";
import { drawPoints, PARTS, SFT_DEFAULTS, type SftSettings, selectedMasks, sftLoss } from "./forward.ts";

/** Stream number of the draws of points, in the place of a loop's number. */
const SUPERVISED = 3;

/**
 * Runs one optimiser step and changes the state of the run.
 * @throws LabError("cancelled") when stopped, leaving the state as it was before the step
 */
export async function sftStep({ state, order }: Run, step: Step): Promise<StepOutcome> {
  const { config, number } = step;
  const count = config.accumulation * config.promptsPerStep;
  const { rows, place } = order.of(1);
  let gradients = gradientSum(state);
  const sums = new Map<string, number>();
  const bySource = new Map<string, number[]>();
  try {
    for (let at = 0; at < count; at++) {
      await step.phase("sample", null);
      const row = await step.rows(rows[place(order.before(number) + at, number)] as number);
      if (row.summary.frames !== undefined) {
        throw badInput(`Row ${row.summary.id} is a clip; supervised training reads pictures`, row.summary.id);
      }
      await step.phase("features", null);
      const result = await withFeatures(step, [row], async ([features]) => {
        await step.phase("loss", null);
        const own = await rowGradients(state, step, row, features as ImageFeatures, at, 1 / count);
        gradients.add(own.gradients);
        return own;
      });
      for (const [name, value] of Object.entries(result.numbers)) sums.set(name, (sums.get(name) ?? 0) + value / count);
      const source = order.source(row.summary.id);
      if (source !== null)
        bySource.set(source, [...(bySource.get(source) ?? []), result.numbers["sft/loss"] as number]);
    }
    await step.phase("update", null);
    const consumed = gradients;
    gradients = gradientSum(state);
    const update = await updateState(state, { sum: consumed, loops: [], dot: 0 }, config, async () =>
      step.phase("ema", null),
    );
    const losses = [...bySource].map(([name, values]) => {
      return [`sft/source_loss/${name}`, values.reduce((sum, value) => sum + value, 0) / values.length] as const;
    });
    return { metrics: { ...Object.fromEntries([...sums, ...losses]), ...update.metrics }, update };
  } finally {
    // Frees what remains after a stop or an error.
    gradients.dispose();
  }
}

interface RowGradients {
  /** Owned by the caller; tensors the loss does not reach are absent. */
  readonly gradients: Readonly<Record<string, Tensor>>;
  readonly numbers: Readonly<Record<string, number>>;
}

/** @param share of this row in the step's loss */
async function rowGradients(
  state: TrainingState,
  step: Step,
  row: TrainingRow,
  features: ImageFeatures,
  at: number,
  share: number,
): Promise<RowGradients> {
  const { model, config, number } = step;
  const { height, width } = row.rgb;
  const { caption } = row.summary;
  const region = { mask: row.mask, height, width, caption, phrase: caption };
  const batch = sftBatch(model, features, [[region]]);
  const plain = runWeights(model, state.params, state.loraScale, config);
  const trained = runWeights(model, state.params, state.loraScale, config, dropoutKey(step, SUPERVISED, at));
  const weights = config.gradientCheckpointing ? recomputing(trained, state.params) : trained;
  const draw = (_mask: number, position: number): number =>
    uniform({ seed: config.seed, step: number, loop: SUPERVISED, row: at, rollout: 0, position, stream: STREAM.mask });
  const points = await pointsOf(batch, config, () => selectedMasks(model, plain, features, batch), draw);
  const kept: Tensor[] = [];
  // A tape cannot wait: nothing before it may keep memory.
  await gpuFinished();
  const { value, grads } = gradientsOf(
    () => {
      const { loss, parts } = sftLoss(model, weights, features, batch, settingsOf(config, points));
      kept.push(tf.keep(tf.concat([loss.reshape([1]), parts], 0)));
      return loss.mul(share).asScalar();
    },
    state.names.map((name) => state.params[name] as Tensor),
  );
  const [loss = Number.NaN, ...parts] = await (kept[0] as Tensor)
    .data<"float32">()
    .catch((thrown: unknown) => {
      // After a lost device the gradients are not used.
      tf.dispose([...grads]);
      throw thrown;
    })
    .finally(() => tf.dispose([value, ...kept, ...(points === null ? [] : [points])]));
  const named = Object.fromEntries(PARTS.map((name, i) => [name, parts[i] as number]));
  return {
    gradients: reachedGradients(state.names, grads),
    numbers: {
      "sft/loss": loss,
      ...Object.fromEntries(
        Object.entries(dataCaptionObservations(model, caption, batch.cut > 0)).map(([name, value]) => [
          `sft/${name}`,
          value,
        ]),
      ),
      ...(config.loops === "2" ? {} : { "sft/token_loss": named.token as number }),
      ...(config.loops === "1" ? {} : { "sft/mask_bce": named.bce as number, "sft/mask_dice": named.dice as number }),
    },
  };
}

/** As in GRPO, the loops choose the tasks: 1 trains captions, 2 trains masks. */
function settingsOf(config: LabConfig, points: Tensor | null): SftSettings {
  return {
    ...SFT_DEFAULTS,
    tokenWeight: config.loops === "2" ? 0 : 1,
    bceWeight: config.loops === "1" ? 0 : config.sftBceWeight,
    diceWeight: config.loops === "1" ? 0 : config.sftDiceWeight,
    points,
  };
}

/** Points for masks with more pixels than the setting; null for all pixels. */
async function pointsOf(
  batch: SftBatch,
  config: LabConfig,
  masks: () => Tensor,
  draw: (mask: number, n: number) => number,
): Promise<Tensor | null> {
  if (batch.maskSide ** 2 <= config.sftPoints || config.loops === "1") return null;
  const logits = masks();
  try {
    return await drawPoints(logits, config.sftPoints, draw);
  } finally {
    logits.dispose();
  }
}
