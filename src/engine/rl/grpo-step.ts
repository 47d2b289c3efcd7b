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
import { recomputing } from "../model/weights.ts";
import { disposeFeatures, type ImageFeatures } from "../policy/features.ts";
import { countCells, regionCells } from "../policy/prompts.ts";
import type { GroupRecord, LoopId } from "../runs/records.ts";
import { lossGradients, readLogProbs } from "./backward.ts";
import type { StepContext } from "./context.ts";
import { promptRow } from "./data-order.ts";
import { drawRow } from "./draw-row.ts";
import { type GroupScores, scoreGroups } from "./group-advantages.ts";
import { inBatches } from "./group-batches.ts";
import type { GroupGradients, LossGroup, LossReadback, MeasuredGroup } from "./group-gradients.ts";
import { groupRecord } from "./group-record.ts";
import { judgeMetrics } from "./judge-metrics.ts";
import { playLoop1 } from "./loop1.ts";
import { playLoop2 } from "./loop2.ts";
import { lossSettingsOf, needsReference } from "./loss-config.ts";
import type { LossSettings } from "./loss-types.ts";
import { microGradients, splits } from "./micro-batch.ts";
import type { PlayedLoop, Playout } from "./playout.ts";
import { runWeights } from "./run-weights.ts";
import { loopMetrics, overPasses } from "./step-metrics.ts";
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
  readonly played: PlayedLoop;
  readonly playout: Playout;
  readonly scores: GroupScores;
  readonly refLogps: Float32Array | null;
}

/** The same in one pass. */
interface PassGroup extends ScoredGroup {
  /** [N·T] what the ratio divides by; null = the weights themselves, so that it is exactly 1. */
  readonly denominator: Float32Array | null;
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
  const loopsPlayed: PlayedLoop[] = [];
  let gradients = gradientSum(state);
  try {
    // sample → partner → score: o₁…o_G ~ π(·|q), R_i = reward(q, o_i)
    for (const loop of loops) loopsPlayed.push(await playGroups(input, loop));
    Object.assign(metrics, judgeMetrics(loopsPlayed.flatMap(({ playouts }) => playouts.flatMap(({ terms }) => terms))));

    // advantage: A_i = (R_i − mean R) / (std R + ε), double precision
    const scored: ScoredGroup[] = [];
    for (const [at, loop] of loops.entries()) {
      await context.phase("advantage", loop);
      const played = loopsPlayed[at] as PlayedLoop;
      const scores = scoreGroups(played.playouts, config, context.step);
      const references = needsReference(config) ? await referenceLogProbs(input, played) : [];
      for (const [i, playout] of played.playouts.entries()) {
        scored.push({ played, playout, scores: scores[i] as GroupScores, refLogps: references[i] ?? null });
      }
    }

    // loss and update, μ times over the same rollouts
    const firstLogps = new Map<Playout, Float32Array>();
    const measured = new Map<LoopId, Record<string, number>[]>(loops.map((loop) => [loop, []]));
    const updates: UpdateReport[] = [];
    for (let pass = 0; pass < config.iterations; pass++) {
      for (const loop of loops) {
        await context.phase("loss", loop);
        const own = scored
          .filter((group) => group.playout.loop === loop)
          .map((group): PassGroup => ({ ...group, denominator: denominatorOf(config, group, firstLogps) }));
        const settings = lossSettingsOf(config, own.length, activeActions(own), longestRollout(own, loop, config));
        const readbacks: LossReadback[] = [];
        for (const some of inBatches(own, config.microRollouts > 0 ? 1 : config.groupsAtOnce)) {
          const result = await lossOf(input, some, settings, loop);
          gradients.add(result.gradients);
          readbacks.push(...result.readbacks);
          if (pass > 0) continue;
          for (const [at, group] of some.entries()) {
            const readback = result.readbacks[at] as LossReadback;
            firstLogps.set(group.playout, readback.logps);
            input.onGroup(groupRecord(context.step, measuredGroup(group), readback, settings));
          }
        }
        measured.get(loop)?.push(loopMetrics(loop, own.map(measuredGroup), readbacks, settings, pass));
      }
      // update: clip by global norm, AdamW; EMA: φ ← d φ + (1 − d) θ
      await context.phase("update", null);
      const consumed = gradients;
      gradients = gradientSum(state);
      const whole = updates.every(({ stepped }) => !stepped);
      updates.push(await updateState(state, consumed, config, async () => context.phase("ema", null), whole));
    }
    for (const passes of measured.values()) Object.assign(metrics, overPasses(passes));
    const update = together(updates);
    return { metrics: { ...metrics, ...update.metrics }, update };
  } finally {
    // What a stop or an error has left.
    gradients.dispose();
    for (const { playouts } of loopsPlayed) for (const playout of playouts) playout.dispose();
  }
}

/** Draws the loop's prompts of this step and plays a group on each, all together. */
async function playGroups(input: StepInput, loop: LoopId): Promise<PlayedLoop> {
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
  return await (loop === 1 ? playLoop1 : playLoop2)(context, drawn);
}

/** Log-probabilities of the actions under the reference, [N·T] a group. */
async function referenceLogProbs(input: StepInput, played: PlayedLoop): Promise<readonly Float32Array[]> {
  const { context, state } = input;
  const { config, model } = context;
  const parameters = config.reference === "ema" ? state.ema : state.start;
  const weights = runWeights(model, parameters, state.loraScale, config);
  const found: Float32Array[] = [];
  for (const groups of inBatches([...played.playouts.keys()], config.groupsAtOnce)) {
    const playouts = groups.map((group) => played.playouts[group] as Playout);
    const known = config.reference === "start" ? playouts.flatMap(({ startLogps }) => startLogps ?? []) : [];
    if (known.length === playouts.length) found.push(...known);
    else {
      const score = (features: readonly ImageFeatures[]) => readLogProbs(() => played.score(weights, groups, features));
      found.push(...(await withFeatures(input, playouts, score)));
    }
  }
  return found;
}

/**
 * In the first pass the ratio's denominator is the weights themselves, with the gradient stopped, so it is exactly 1; later
 * passes divide by the first pass' log-probabilities. The notes' formula divides by the reference instead.
 */
function denominatorOf(
  { objective }: LabConfig,
  { playout, refLogps }: ScoredGroup,
  firstLogps: ReadonlyMap<Playout, Float32Array>,
): Float32Array | null {
  return objective === "notes" ? refLogps : (firstLogps.get(playout) ?? null);
}

/** On-policy, ratios are told against the pass that sampled: they show how far the two are apart. */
function measuredGroup({ playout, scores, refLogps, denominator }: PassGroup): MeasuredGroup {
  return { playout, scores, refLogps, oldLogps: denominator ?? playout.samplingLogps };
}

/** L of the losses of a fixed length: the most actions a rollout of the loop can have. */
function longestRollout(groups: readonly ScoredGroup[], loop: LoopId, { maxNewTokens }: LabConfig): number {
  return loop === 1 ? maxNewTokens : groups.reduce((most, { playout }) => Math.max(most, playout.actions), 1);
}

/** The updates of a step as one: numbers of the last, and everything that was not finite. */
function together(updates: readonly UpdateReport[]): UpdateReport {
  const last = updates.at(-1);
  if (last === undefined) throw new LabError("internal", "A step without a pass over its rollouts");
  return {
    stepped: updates.every(({ stepped }) => stepped),
    metrics: last.metrics,
    nonFinite: [...new Set(updates.flatMap(({ nonFinite }) => nonFinite))],
  };
}

/** Loss and gradient of a few groups of a loop. */
async function lossOf(
  input: StepInput,
  groups: readonly PassGroup[],
  settings: LossSettings,
  loop: LoopId,
): Promise<GroupGradients> {
  const { context, state } = input;
  const { config, model } = context;
  const plain = runWeights(model, state.params, state.loraScale, config);
  const weights = config.recompute ? recomputing(plain, state.params) : plain;
  const own = groups.map(({ playout, scores: { advantages }, refLogps, denominator }): LossGroup => {
    return { playout, advantages, oldLogps: denominator, refLogps };
  });
  const playouts = groups.map(({ playout }) => playout);
  const [first] = groups as readonly [PassGroup];
  const shared = {
    weights,
    parameters: state.params,
    names: reachedNames(state, config, loop),
    settings,
    loopWeight: loop === 1 ? config.loop1Weight : config.loop2Weight,
  };
  return await withFeatures(input, playouts, (features) => {
    if (splits(first.playout, config.microRollouts)) {
      const task = { ...shared, group: own[0] as LossGroup, features: features[0] as ImageFeatures };
      return microGradients(task, config.microRollouts);
    }
    const places = playouts.map((playout) => first.played.playouts.indexOf(playout));
    return lossGradients({ ...shared, groups: own, score: (view) => first.played.score(view, places, features) });
  });
}

function reachedNames(state: TrainingState, config: LabConfig, loop: LoopId): readonly string[] {
  if (loop === 1 || config.loop2Reach === "all") return state.names;
  return state.names.filter((name) => !isLanguageBlock(state.blockOf(name)));
}

async function withFeatures<T>(
  input: StepInput,
  playouts: readonly Playout[],
  use: (features: readonly ImageFeatures[]) => Promise<T>,
): Promise<T> {
  const features: ImageFeatures[] = [];
  try {
    for (const { row } of playouts) features.push(await input.context.features.get(row.summary.imageId, row.rgb));
    return await use(features);
  } finally {
    for (const own of features) disposeFeatures(own);
  }
}

function activeActions(groups: readonly ScoredGroup[]): number {
  return groups.reduce((sum, group) => sum + group.playout.mask.reduce((count, m) => count + m, 0), 0);
}
