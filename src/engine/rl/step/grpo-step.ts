/**
 * One dual-loop GRPO step, in the order of the paper:
 *
 *   sample → partner → score → advantage → loss → update → EMA
 *
 * A step is a pure function of (weights, optimiser state, seed, step number, data). Sources: GRPO 2402.03300; the loss
 * forms and traps are listed in docs/decisions/README.md and tested against recorded numbers.
 */
import { groupsPerStep, needsReference, windowsPerStep } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import type { RowSource, TrainingRow } from "../../data/training-row.ts";
import { LabError } from "../../errors.ts";
import { isLanguageBlock } from "../../model/adapter/trainable.ts";
import { recomputing } from "../../model/weights/weights.ts";
import { disposeFeatures, type ImageFeatures } from "../../policy/features.ts";
import { countCells, regionCells } from "../../policy/prompts.ts";
import type { GroupRecord, LoopId } from "../../runs/records.ts";
import type { GroupScores } from "../objective/advantages.ts";
import { appliedCoefficient, entropyControl, meanEntropy, nextEntropyState } from "../objective/entropy-control.ts";
import { scoreGroups } from "../objective/group-advantages.ts";
import { lossSettingsOf } from "../objective/loss-config.ts";
import type { LossSettings } from "../objective/loss-types.ts";
import type { GradientSum } from "../optim/gradient-sum.ts";
import { joinLoops } from "../optim/step-gradients.ts";
import { gradientSum, type TrainingState, type UpdateReport, updateState } from "../optim/training-state.ts";
import { lossGradients, readLogProbs } from "./backward.ts";
import { dropoutKey, type StepContext } from "./context.ts";
import { promptRow } from "./data-order.ts";
import { drawRow } from "./draw-row.ts";
import { inBatches } from "./group-batches.ts";
import type { GroupGradients, LossGroup, LossReadback, MeasuredGroup } from "./group-gradients.ts";
import { groupRecord } from "./group-record.ts";
import { judgeMetrics } from "./judge-metrics.ts";
import { rolloutLoop1 } from "./loop1.ts";
import { rolloutLoop2 } from "./loop2.ts";
import { microGradients, splits } from "./micro-batch.ts";
import type { LoopRollouts, Playout } from "./playout.ts";
import { runWeights } from "./run-weights.ts";
import { loopMetrics, overPasses } from "./step-metrics.ts";

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
  readonly played: LoopRollouts;
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
  const loopsPlayed: LoopRollouts[] = [];
  const windows = windowsPerStep(config);
  let gradients = new Map<LoopId, GradientSum>();
  try {
    // sample → partner → score: o₁…o_G ~ π(·|q), R_i = reward(q, o_i)
    for (const loop of loops) loopsPlayed.push(await playGroups(input, loop));
    Object.assign(metrics, judgeMetrics(loopsPlayed.flatMap(({ playouts }) => playouts.flatMap(({ terms }) => terms))));

    // advantage: A_i = (R_i − mean R) / (std R + ε), double precision
    const scored: ScoredGroup[] = [];
    for (const [at, loop] of loops.entries()) {
      await context.phase("advantage", loop);
      const played = loopsPlayed[at] as LoopRollouts;
      const scores = scoreGroups(played.playouts, config, context.step);
      const references = needsReference(config) ? await referenceLogProbs(input, played) : [];
      for (const [i, playout] of played.playouts.entries()) {
        scored.push({ played, playout, scores: scores[i] as GroupScores, refLogps: references[i] ?? null });
      }
    }

    // loss and update for every window of the rollouts, μ times
    const firstLogps = await laterLogProbs(input, scored, loops, windows);
    const passes = new Map<LoopId, Record<string, number>[]>(loops.map((loop) => [loop, []]));
    const measured = (group: PassGroup): MeasuredGroup => measuredGroup(config, group, firstLogps);
    const updates: UpdateReport[] = [];
    for (let turn = 0; turn < config.iterations * windows; turn++) {
      const [pass, window] = [Math.floor(turn / windows), turn % windows];
      gradients = new Map(loops.map((loop) => [loop, gradientSum(state)]));
      for (const loop of loops) {
        await context.phase("loss", loop);
        const all = scored.filter((group) => group.playout.loop === loop);
        const own = windowOf(all, window, windows).map(
          (group): PassGroup => ({ ...group, denominator: denominatorOf(config, group, firstLogps) }),
        );
        const settings = lossSettingsOf(
          config,
          entropyCoefficient(state, config, loop),
          own.length,
          // As in TRL, tokens of all rollouts, rescaled to one window.
          activeActions(all) / windows,
          longestRollout(all, loop, config),
        );
        const readbacks: LossReadback[] = [];
        for (const some of inBatches(own, groupsInBatch(config))) {
          const result = await lossOf(input, some, settings, loop);
          gradients.get(loop)?.add(result.gradients);
          readbacks.push(...result.readbacks);
          if (pass > 0) continue;
          for (const [at, group] of some.entries()) {
            const readback = result.readbacks[at] as LossReadback;
            firstLogps.set(group.playout, readback.logps);
            input.onGroup(groupRecord(context.step, measured(group), readback, settings));
          }
        }
        const bonus = followEntropy(state, config, loop, own, readbacks);
        passes.get(loop)?.push({
          ...loopMetrics(loop, own.map(measured), readbacks, settings, turn === 0 && config.loraDropout === 0),
          ...(bonus === null ? {} : { [`loop${loop}/entropy_coef`]: bonus }),
        });
      }
      // update: clip, AdamW; EMA: φ ← d φ + (1 − d) θ
      await context.phase("update", null);
      const joined = await joinLoops(gradients, config);
      gradients = new Map();
      const whole = updates.every(({ stepped }) => !stepped);
      updates.push(await updateState(state, joined, config, async () => context.phase("ema", null), whole));
    }
    for (const rows of passes.values()) Object.assign(metrics, overPasses(rows));
    const update = together(updates);
    return { metrics: { ...metrics, ...update.metrics }, update };
  } finally {
    // What a stop or an error has left.
    for (const sum of gradients.values()) sum.dispose();
    for (const { playouts } of loopsPlayed) for (const playout of playouts) playout.dispose();
  }
}

/** Draws the loop's prompts of this step and plays a group on each, all together. */
async function playGroups(input: StepInput, loop: LoopId): Promise<LoopRollouts> {
  const { context, trainRows, rows } = input;
  const { config, step } = context;
  const count = groupsPerStep(config);
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
  return await (loop === 1 ? rolloutLoop1 : rolloutLoop2)(context, drawn);
}

/** Groups that a backward pass takes at once. */
function groupsInBatch({ microRollouts, groupsAtOnce }: LabConfig): number {
  return microRollouts > 0 ? 1 : groupsAtOnce;
}

/** The groups of one accumulation window. */
function windowOf<T>(groups: readonly T[], window: number, windows: number): readonly T[] {
  const size = groups.length / windows;
  return groups.slice(window * size, (window + 1) * size);
}

/**
 * Log-probabilities under the weights that sampled, of the groups whose first update comes after another one; the others
 * are their own denominator.
 */
async function laterLogProbs(
  input: StepInput,
  scored: readonly ScoredGroup[],
  loops: readonly LoopId[],
  windows: number,
): Promise<Map<Playout, Float32Array>> {
  const known = new Map<Playout, Float32Array>();
  if (windows === 1) return known;
  const { context, state } = input;
  const { config, model } = context;
  for (const loop of loops) {
    const weights = runWeights(model, state.params, state.loraScale, config, dropoutKey(context, loop));
    const own = scored.filter(({ playout }) => playout.loop === loop);
    // In the batches of the update, so that dropout falls on the same places.
    const later = Array.from({ length: windows - 1 }, (_, at) => windowOf(own, at + 1, windows));
    for (const some of later.flatMap((window) => inBatches(window, groupsInBatch(config)))) {
      const { played } = some[0] as ScoredGroup;
      const playouts = some.map(({ playout }) => playout);
      const places = playouts.map((playout) => played.playouts.indexOf(playout));
      const score = (features: readonly ImageFeatures[]) => readLogProbs(() => played.score(weights, places, features));
      const logps = await withFeatures(input, playouts, score);
      playouts.forEach((playout, at) => {
        known.set(playout, logps[at] as Float32Array);
      });
    }
  }
  return known;
}

/** Weight of a loop's entropy bonus in the coming update. */
function entropyCoefficient(state: TrainingState, config: LabConfig, loop: LoopId): number {
  if (!config.adaptiveEntropy) return config.entropyCoefficient;
  return appliedCoefficient(state.entropy[loop], entropyControl(config));
}

/** Moves an adaptive entropy bonus by what the update saw. @returns the coefficient as it is logged; null without one */
function followEntropy(
  state: TrainingState,
  config: LabConfig,
  loop: LoopId,
  groups: readonly PassGroup[],
  readbacks: readonly LossReadback[],
): number | null {
  if (!config.adaptiveEntropy) return config.entropyCoefficient === 0 ? null : config.entropyCoefficient;
  const seen = groups.map(({ playout: { mask } }, at) => ({ mask, entropies: readbacks[at]?.entropies ?? [] }));
  const entropy = meanEntropy(seen, config.topEntropyQuantile);
  const next = nextEntropyState(state.entropy[loop], entropy, entropyControl(config));
  state.entropy = { ...state.entropy, [loop]: next };
  return next.coefficient;
}

/** Log-probabilities of the actions under the reference, [N·T] a group. */
async function referenceLogProbs(input: StepInput, played: LoopRollouts): Promise<readonly Float32Array[]> {
  const { context, state } = input;
  const { config, model } = context;
  const parameters = config.reference === "ema" ? state.ema : (state.reference ?? state.start);
  const weights = runWeights(model, parameters, state.loraScale, config);
  const found: Float32Array[] = [];
  for (const groups of inBatches([...played.playouts.keys()], config.groupsAtOnce)) {
    const playouts = groups.map((group) => played.playouts[group] as Playout);
    const known = parameters === state.start ? playouts.flatMap(({ startLogps }) => startLogps ?? []) : [];
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

/**
 * On-policy, ratios are told against the pass that sampled: they show how far the two are apart. With dropout these differ
 * by design, and ratios are those of the loss.
 */
function measuredGroup(
  { loraDropout }: LabConfig,
  { playout, scores, refLogps, denominator }: PassGroup,
  firstLogps: ReadonlyMap<Playout, Float32Array>,
): MeasuredGroup {
  const own = loraDropout > 0 ? firstLogps.get(playout) : undefined;
  return { playout, scores, refLogps, oldLogps: denominator ?? own ?? playout.samplingLogps };
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
  const plain = runWeights(model, state.params, state.loraScale, config, dropoutKey(context, loop));
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
