/**
 * One dual-loop GRPO step, in the order of the paper:
 *
 *   sample → partner → score → advantage → loss → update → EMA
 *
 * A step is a pure function of (weights, optimiser state, seed, step number, data). Sources: GRPO 2402.03300; the loss
 * forms and traps are listed in docs/decisions.md and tested against recorded numbers.
 */
import type { LabConfig } from "../config/table.ts";
import type { RowSource, TrainingRow } from "../data/training-row.ts";
import { LabError } from "../errors.ts";
import { isLanguageBlock } from "../model/trainable.ts";
import { recomputing, weightsView } from "../model/weights.ts";
import { disposeFeatures } from "../policy/features.ts";
import { countCells, regionCells } from "../policy/prompts.ts";
import type { GroupRecord, LoopId } from "../runs/records.ts";
import { groupGradients, logProbsOnly } from "./backward.ts";
import type { StepContext } from "./context.ts";
import { promptRow } from "./data-order.ts";
import { drawRow } from "./draw-row.ts";
import { type GroupScores, scoreGroups } from "./group-advantages.ts";
import type { LossReadback } from "./group-gradients.ts";
import { groupRecord } from "./group-record.ts";
import { judgeMetrics } from "./judge-metrics.ts";
import { playLoop1 } from "./loop1.ts";
import { playLoop2 } from "./loop2.ts";
import { lossSettingsOf, needsReference } from "./loss-config.ts";
import type { LossSettings } from "./loss-types.ts";
import type { Playout } from "./playout.ts";
import { loopMetrics } from "./step-metrics.ts";
import { gradientSum, type TrainingState, type UpdateReport, updateState } from "./training-state.ts";

export interface StepInput {
  readonly context: StepContext;
  readonly state: TrainingState;
  readonly rows: RowSource;
  /** Data-set indices of the training rows. */
  readonly trainRows: readonly number[];
  /** Called with each finished group, as soon as its advantages and log-probabilities are known. */
  readonly onGroup: (group: GroupRecord) => void;
}

export interface StepOutcome {
  readonly metrics: Readonly<Record<string, number>>;
  readonly update: UpdateReport;
}

/** A group with everything the loss needs beside the weights. */
interface ScoredGroup {
  readonly playout: Playout;
  readonly scores: GroupScores;
  readonly refLogps: Float32Array | null;
}

export function activeLoops(config: LabConfig): readonly LoopId[] {
  if (config.loops === "both") return [1, 2];
  return config.loops === "1" ? [1] : [2];
}

/**
 * Runs one optimiser step and changes `state`.
 * @throws LabError("cancelled") when stopped, leaving `state` as it was before the step
 */
export async function grpoStep(input: StepInput): Promise<StepOutcome> {
  const { context, state } = input;
  const { config } = context;
  const loops = activeLoops(config);
  const metrics: Record<string, number> = {};
  const playouts: Playout[] = [];
  let gradients = gradientSum(state);
  try {
    // sample → partner → score: o₁…o_G ~ π(·|q), R_i = reward(q, o_i)
    for (const loop of loops) await playGroups(input, loop, playouts);
    Object.assign(metrics, judgeMetrics(playouts.flatMap((playout) => playout.terms)));

    // advantage: A_i = (R_i − mean R) / (std R + ε), double precision
    const scored: ScoredGroup[] = [];
    for (const loop of loops) {
      await context.phase("advantage", loop);
      const own = playouts.filter((playout) => playout.loop === loop);
      const scores = scoreGroups(own, config, context.step);
      for (const [i, playout] of own.entries()) {
        const refLogps = needsReference(config) ? await referenceLogProbs(input, playout) : null;
        scored.push({ playout, scores: scores[i] as GroupScores, refLogps });
      }
    }

    // loss and update, μ times over the same rollouts
    const denominators = new Map<Playout, Float32Array>();
    let update: UpdateReport | undefined;
    for (let pass = 0; pass < config.iterations; pass++) {
      for (const loop of loops) {
        await context.phase("loss", loop);
        const own = scored.filter((group) => group.playout.loop === loop);
        const settings = lossSettingsOf(config, own.length, activeActions(own));
        const readbacks: LossReadback[] = [];
        for (const group of own) {
          const result = await lossOf(input, group, settings, loop, denominators);
          gradients.add(result.gradients);
          readbacks.push(result.readback);
          if (pass > 0) continue;
          denominators.set(group.playout, result.readback.logps);
          const { playout, scores, refLogps } = group;
          input.onGroup(groupRecord(context.step, playout, scores, result.readback, refLogps, settings));
        }
        if (pass === 0) Object.assign(metrics, loopMetrics(loop, own, readbacks, settings));
      }
      // update: clip by global norm, AdamW; EMA: φ ← d φ + (1 − d) θ
      await context.phase("update", null);
      const consumed = gradients;
      gradients = gradientSum(state);
      update = await updateState(state, consumed, config, async () => context.phase("ema", null));
    }
    if (update === undefined) throw new LabError("internal", "A step without a pass over its rollouts");
    return { metrics: { ...metrics, ...update.metrics }, update };
  } finally {
    // What a stop or an error has left.
    gradients.dispose();
    for (const playout of playouts) playout.dispose();
  }
}

/** Draws the loop's prompts of this step and plays a group on each, all together, into `playouts`. */
async function playGroups(input: StepInput, loop: LoopId, playouts: Playout[]): Promise<void> {
  const { context, trainRows, rows } = input;
  const { config, step } = context;
  const count = config.accumulation * config.promptsPerStep;
  await context.phase("sample", loop);
  const drawn: TrainingRow[] = [];
  for (let group = 0; group < count; group++) {
    const place = promptRow(trainRows.length, (step - 1) * count + group, loop, config.seed);
    drawn.push(
      await drawRow(
        rows,
        trainRows,
        place,
        ({ mask, rgb: { height, width } }) =>
          config.smallRegions === "force" || countCells(regionCells(context.model, mask, height, width, false)) > 0,
      ),
    );
  }
  playouts.push(...(await (loop === 1 ? playLoop1 : playLoop2)(context, drawn)));
}

async function referenceLogProbs(input: StepInput, playout: Playout): Promise<Float32Array> {
  const { context, state } = input;
  if (context.config.reference === "start" && playout.startLogps != null) return playout.startLogps;
  const parameters = context.config.reference === "ema" ? state.ema : state.start;
  return await withFeatures(input, playout, (features) =>
    logProbsOnly(playout, weightsView(context.model.frozen, parameters, state.loraScale), features),
  );
}

/**
 * Loss and gradient of one group. In the first pass the ratio's denominator is the weights themselves, with the gradient
 * stopped, so it is exactly 1; later passes divide by the first pass' log-probabilities. The notes' formula divides by
 * the reference instead.
 */
async function lossOf(
  input: StepInput,
  group: ScoredGroup,
  settings: LossSettings,
  loop: LoopId,
  denominators: ReadonlyMap<Playout, Float32Array>,
) {
  const { context, state } = input;
  const { config, model } = context;
  const plain = weightsView(model.frozen, state.params, state.loraScale);
  const weights = config.recompute ? recomputing(plain, state.params) : plain;
  const old = config.objective === "notes" ? group.refLogps : (denominators.get(group.playout) ?? null);
  return await withFeatures(input, group.playout, (features) =>
    groupGradients(
      group.playout,
      weights,
      state.params,
      reachedNames(state, config, loop),
      features,
      group.scores.advantages,
      old,
      group.refLogps,
      settings,
      loop === 1 ? config.loop1Weight : config.loop2Weight,
      config.microRollouts,
    ),
  );
}

function reachedNames(state: TrainingState, config: LabConfig, loop: LoopId): readonly string[] {
  if (loop === 1 || config.loop2Reach === "all") return state.names;
  return state.names.filter((name) => !isLanguageBlock(state.blockOf(name)));
}

async function withFeatures<T>(
  input: StepInput,
  playout: Playout,
  use: (features: Awaited<ReturnType<StepContext["features"]["get"]>>) => Promise<T>,
): Promise<T> {
  const features = await input.context.features.get(playout.row.summary.imageId, playout.row.rgb);
  try {
    return await use(features);
  } finally {
    disposeFeatures(features);
  }
}

function activeActions(groups: readonly ScoredGroup[]): number {
  return groups.reduce((sum, group) => sum + group.playout.mask.reduce((count, m) => count + m, 0), 0);
}
