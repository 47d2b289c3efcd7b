/**
 * One dual-loop GRPO step, in the order of the paper:
 *
 *   sample → partner → score → advantage → loss → update → EMA
 *
 * A step is a pure function of (weights, optimiser state, seed, step number, data). Sources: GRPO 2402.03300; the loss
 * forms and traps are listed in docs/decisions/README.md and tested against recorded numbers.
 */
import { activeLoops, groupsPerStep, needsReference, windowsPerStep } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import type { RowSource, TrainingRow } from "../../data/training-row.ts";
import { LabError } from "../../errors.ts";
import { isLanguageBlock } from "../../model/adapter/trainable.ts";
import type { Weights } from "../../model/weights/weights.ts";
import type { ImageFeatures } from "../../policy/features.ts";
import { inBatches } from "../../policy/in-batches.ts";
import type { GroupRecord, LoopId } from "../../runs/rollouts/records.ts";
import { aboutLoop } from "../loops/abouts.ts";
import { LOOP_CODE } from "../loops/registry.ts";
import type { GroupScores } from "../objective/advantages.ts";
import {
  appliedCoefficient,
  type EntropyControlState,
  entropyControl,
  meanEntropy,
  nextEntropyState,
} from "../objective/entropy-control.ts";
import { stepScores } from "../objective/group-advantages.ts";
import { type LossSettings, lossSettingsOf } from "../objective/loss-types.ts";
import { emaDistance } from "../optim/ema.ts";
import type { GradientSum } from "../optim/gradient-sum.ts";
import { inspectGradients } from "../optim/monitor.ts";
import { copySet, disposeSet, member } from "../optim/parameter-sets.ts";
import { joinLoops, type StepGradients } from "../optim/step-gradients.ts";
import { gradientSum, type TrainingState, type UpdateReport, updateState } from "../optim/training-state.ts";
import type { GivenRows } from "../run/events.ts";
import { readLogProbs } from "./backward.ts";
import { stepRows } from "./clip-frames.ts";
import { dropoutKey, type StepContext, withFeatures } from "./context.ts";
import { drawRow, type RowOrder } from "./data-order.ts";
import { type Group, type LoopRollouts, learntAdvantages } from "./group.ts";
import { groupRecord, scoredGroup } from "./group-record.ts";
import { gradientOfLoss, type LoopOfStep, lossOf, placesOf } from "./loop-loss.ts";
import type { LossReadback } from "./loss-inputs.ts";
import { gradientReportDue, signalToNoise, termGradients } from "./metrics/gradient-report.ts";
import { judgeMetrics, sourceMetrics } from "./metrics/rollout-metrics.ts";
import { overPasses, passMetrics, sampledMetrics } from "./metrics/step-metrics.ts";
import { type TermGradient, updateShares } from "./metrics/update-shares.ts";
import { rangedScores, splits } from "./micro-batch.ts";
import { resampled } from "./resample.ts";
import { runWeights } from "./run-weights.ts";

export interface StepInput {
  readonly context: StepContext;
  readonly state: TrainingState;
  readonly rows: RowSource;
  readonly order: RowOrder;
  /** Called with the rows of a loop as soon as they are drawn, before anything is sampled. */
  readonly onRows: (rows: GivenRows) => void;
  /** Called with each group as soon as it is scored; its actions are still missing. */
  readonly onScored: (group: GroupRecord) => void;
  /** Called with each finished group, as soon as its log-probabilities are known. */
  readonly onGroup: (group: GroupRecord) => void;
}

export interface StepOutcome {
  readonly metrics: Readonly<Record<string, number>>;
  readonly update: UpdateReport;
}

/**
 * Runs one optimiser step and changes `state`.
 * @throws LabError("cancelled") when stopped, leaving `state` as it was before the step
 */
export async function grpoStep(input: StepInput): Promise<StepOutcome> {
  const { context, state } = input;
  const { config } = context;
  const metrics: Record<string, number> = {};
  const loops: LoopOfStep[] = [];
  const windows = windowsPerStep(config);
  let gradients = new Map<LoopId, GradientSum>();
  /** Of the loops' loss terms, in steps of the gradient report. */
  const terms: TermGradient[] = [];
  try {
    for (const id of activeLoops(config)) {
      // sample → partner → score: o₁…o_G ~ π(·|q), R_i = reward(q, o_i)
      const sampled = await withSpread(input, id, await sampleGroups(input, id, 0, groupsPerStep(config)));
      const own = { id, loop: LOOP_CODE[id], ...sampled };
      loops.push(own);

      // advantage: A_i = (R_i − mean R) / (std R + ε), double precision
      await context.phase("advantage", id, () => own.groups);
      const scores = stepScores(own.groups, config, context.step);
      Object.assign(metrics, sourceMetrics(id, own.groups, scores, input.order));
      if (config.resampleRounds > 0) {
        const later = own.groups.filter(({ group }) => group >= groupsPerStep(config));
        metrics[`loop${id}/resampled_groups`] = later.length;
      }
      for (const [at, group] of own.groups.entries()) {
        group.scores = scores[at] as GroupScores;
        input.onScored(scoredGroup(context.step, group));
      }
      const references = needsReference(config) ? await referenceLogProbs(input, own) : [];
      for (const [at, group] of own.groups.entries()) {
        if (references[at] === undefined) continue;
        group.refLogps = references[at];
        if (referenceParameters(input) === state.start) group.startLogps = references[at];
      }
      Object.assign(metrics, sampledMetrics(id, own.groups));
    }
    const rollouts = loops.flatMap(({ groups, sampled = groups }) => sampled.flatMap((group) => group.rollouts));
    Object.assign(metrics, judgeMetrics(rollouts.map(({ terms }) => terms)));

    // loss and update for every window of the rollouts, μ times
    if (windows > 1) for (const own of loops) await scoreLaterWindows(input, own, windows);
    const passes = new Map<LoopId, Record<string, number>[]>(loops.map(({ id }) => [id, []]));
    const updates: UpdateReport[] = [];
    // Assigned to the state with the update, so that a stop before it leaves the state unchanged.
    let entropy = state.entropy;
    for (let turn = 0; turn < config.iterations * windows; turn++) {
      const [pass, window] = [Math.floor(turn / windows), turn % windows];
      gradients = new Map(loops.map(({ id }) => [id, gradientSum(state)]));
      await markStill(input, loops);
      for (const own of loops) {
        const { id, loop } = own;
        await context.phase("loss", id);
        const groups = windowOf(own.groups, window, windows);
        for (const group of groups) group.oldLogps = denominatorOf(config, group);
        const settings = lossSettingsOf(
          config,
          entropyCoefficient(entropy[id], config),
          groups.length,
          // As in TRL, tokens of all rollouts, rescaled to one window.
          activeActions(own.groups) / windows,
          loop.longest(own.groups, config),
        );
        const readbacks: LossReadback[] = [];
        const reports = turn === 0 && gradientReportDue(config, context.step);
        const asBefore = groups.map((group) => ({ ...group }));
        const squares: number[] = [];
        for (const some of inBatches(groups, groupsInBatch(context))) {
          const result = await lossOf(input, own, some, settings);
          if (reports) squares.push((await inspectGradients(result.gradients, () => "all")).norm ** 2);
          gradients.get(id)?.add(result.gradients);
          readbacks.push(...result.readbacks);
          for (const [at, group] of some.entries()) {
            const readback = result.readbacks[at] as LossReadback;
            // On-policy, the shown ratios are relative to the sampling pass and measure how far the two passes differ.
            // With dropout they differ by design, so the ratios of the loss are shown.
            group.oldLogps ??= config.loraDropout > 0 ? readback.logps : group.samplingLogps;
            if (pass > 0) continue;
            // For later windows they were computed before the first update.
            group.firstLogps ??= readback.logps;
            input.onGroup(groupRecord(context.step, group, readback, settings));
          }
        }
        if (reports) {
          const sum = gradients.get(id) as GradientSum;
          const ratio = signalToNoise(squares, (await inspectGradients(sum, () => "all")).norm);
          if (ratio !== null) metrics[`loop${id}/grad_snr`] = ratio;
          const pass = { loop: id, groups: asBefore, settings, readbacks, config, step: context.step };
          const gradientOf = (changed: readonly Group[], wanted: LossSettings, auxiliary: boolean) =>
            gradientOfLoss(input, own, { groups, changed, settings: wanted, auxiliary });
          terms.push(...(await termGradients(pass, gradientOf)));
        }
        entropy = { ...entropy, [id]: entropyAfter(entropy[id], config, groups, readbacks) };
        const bonus = config.adaptiveEntropy ? entropy[id].coefficient : config.entropyCoefficient || null;
        passes.get(id)?.push({
          ...passMetrics(id, groups, readbacks, settings, turn === 0 && config.loraDropout === 0),
          ...(bonus === null ? {} : { [`loop${id}/entropy_coef`]: bonus }),
        });
      }
      // update: clip, AdamW; EMA: φ ← d φ + (1 − d) θ
      await context.phase("update", null);
      const joined = await joinLoops(gradients, config);
      gradients = new Map();
      const whole = updates.every(({ stepped }) => !stepped);
      const step = () => updateState(state, joined, config, async () => context.phase("ema", null), whole);
      updates.push(
        turn > 0 || terms.length === 0 ? await step() : await reportedUpdate(input, joined.loops, terms, step, metrics),
      );
      state.entropy = entropy;
    }
    for (const rows of passes.values()) Object.assign(metrics, overPasses(rows));
    const update = together(updates);
    return { metrics: { ...metrics, ...update.metrics }, update };
  } finally {
    // Frees what remains after a stop or an error.
    for (const sum of gradients.values()) sum.dispose();
    for (const { sum } of terms) sum.dispose();
    for (const { groups } of loops) for (const group of groups) group.dispose();
  }
}

/** An update with the norms of the terms' gradients and their shares of it. */
async function reportedUpdate(
  { context, state }: StepInput,
  loops: StepGradients["loops"],
  terms: readonly TermGradient[],
  update: () => Promise<UpdateReport>,
  metrics: Record<string, number>,
): Promise<UpdateReport> {
  for (const { loop, term, sum } of terms) {
    metrics[`loop${loop}/term_grad_norm/${term}`] = (await inspectGradients(sum, () => "all")).norm;
  }
  const before = copySet(state.params);
  try {
    const report = await update();
    if (!report.stepped) return report;
    const factor = (id: LoopId) => report.clip * (loops.find(({ loop }) => loop === id)?.factor ?? 1);
    const rate = report.metrics.learning_rate as number;
    Object.assign(metrics, await updateShares({ before, state, terms, rate, factor }, context.config));
    return report;
  } finally {
    disposeSet(before);
  }
}

/** Marks the groups without an advantage (docs/spec/grpo.md#5-kl-to-the-reference). */
async function markStill(input: StepInput, loops: readonly LoopOfStep[]): Promise<void> {
  const { context, state } = input;
  const silent = loops.flatMap(({ groups }) => groups).filter((group) => learntAdvantages(group).every((a) => a === 0));
  // With dropout the policy differs from its reference by design.
  if (silent.length === 0 || context.config.loraDropout > 0) return;
  const reference = referenceParameters(input);
  const atStart = (await emaDistance(state.start, state.params)) === 0;
  const atReference = reference === state.start ? atStart : (await emaDistance(reference, state.params)) === 0;
  for (const group of silent) group.still = { reference: atReference, start: atStart };
}

/** Draws prompts of a loop in this step and samples a group for each, all together. @param round of dynamic sampling */
async function sampleGroups(
  { context, state, order, rows, onRows }: StepInput,
  id: LoopId,
  round: number,
  count: number,
): Promise<LoopRollouts> {
  const { model, config, step } = context;
  const loop = LOOP_CODE[id];
  const own = order.of(id);
  const perStep = groupsPerStep(config);
  await context.phase("sample", id);
  const drawn: TrainingRow[] = [];
  const ofClips = stepRows(rows, config, step);
  const usable = (row: TrainingRow): boolean => loop.usable(model, row, config);
  for (let group = 0; group < count; group++) {
    const place = own.place((step - 1) * perStep + group, step, round);
    drawn.push(await drawRow(ofClips, own.rows, place, { usable, needs: loop.needs }));
  }
  onRows({ step, loop: id, rows: drawn.map(({ summary }) => summary) });
  return loop.rollout({ ...context, partner: partnerOf({ context, state }, id), firstGroup: round * perStep }, drawn);
}

/** The partner of a loop's rewards; with `partnerScope` loop, what the loop does not train stays as at the start. */
export function partnerOf({ context, state }: Pick<StepInput, "context" | "state">, id: LoopId): Weights {
  const { config, model, partner } = context;
  if (config.partnerScope === "policy") return partner;
  const trainsLanguage = LOOP_CODE[id].trainsLanguage?.(config) ?? true;
  const trainsMasks = aboutLoop(id).samples === "mask";
  const others = state.names.filter((name) => !(isLanguageBlock(state.blockOf(name)) ? trainsLanguage : trainsMasks));
  const kept = Object.fromEntries(others.map((name) => [name, member(state.start, name)]));
  return runWeights(model, () => ({ ...state.ema, ...kept }), state.loraScale, config);
}

/** Dynamic sampling: replaces groups with equal rewards by groups of other rows. */
async function withSpread(input: StepInput, id: LoopId, first: LoopRollouts): Promise<LoopRollouts> {
  const { config, step } = input.context;
  const spreads = (groups: readonly Group[]) => stepScores(groups, config, step).map(({ zeroSpread }) => !zeroSpread);
  const again = (round: number, count: number) => sampleGroups(input, id, round, count);
  return resampled(first, config.resampleRounds, spreads, again);
}

/** Groups per backward pass; the same in all passes of a step, so that dropout has the same masks. */
function groupsInBatch({ config, step }: StepContext): number {
  return config.microRollouts > 0 || gradientReportDue(config, step) ? 1 : config.groupsAtOnce;
}

/** The groups of one accumulation window. */
function windowOf<T>(groups: readonly T[], window: number, windows: number): readonly T[] {
  const size = groups.length / windows;
  return groups.slice(window * size, (window + 1) * size);
}

/**
 * Log-probabilities under the sampling weights, for groups whose first pass follows an earlier update; the other groups
 * need none.
 */
async function scoreLaterWindows(input: StepInput, own: LoopOfStep, windows: number): Promise<void> {
  const { context, state } = input;
  const { config, model } = context;
  const weights = runWeights(model, state.params, state.loraScale, config, dropoutKey(context, own.id));
  // The batches are those of the update, so that dropout has the same masks.
  const later = Array.from({ length: windows - 1 }, (_, at) => windowOf(own.groups, at + 1, windows));
  for (const some of later.flatMap((window) => inBatches(window, groupsInBatch(context)))) {
    const first = some[0] as Group;
    const logps = await withFeatures(
      context,
      some.map(({ row }) => row),
      (features) =>
        readLogProbs(() =>
          splits(first, config.microRollouts)
            ? [rangedScores(first, weights, features[0] as ImageFeatures, config.microRollouts)]
            : own.score(weights, placesOf(own, some), features),
        ),
    );
    for (const [at, group] of some.entries()) group.firstLogps = logps[at] as Float32Array;
  }
}

/** Weight of a loop's entropy bonus in the coming update. */
function entropyCoefficient(own: EntropyControlState, config: LabConfig): number {
  if (!config.adaptiveEntropy) return config.entropyCoefficient;
  return appliedCoefficient(own, entropyControl(config));
}

/** A loop's adaptive entropy bonus after a pass; without adaptation, the bonus as it was. */
function entropyAfter(
  own: EntropyControlState,
  config: LabConfig,
  groups: readonly Group[],
  readbacks: readonly LossReadback[],
): EntropyControlState {
  if (!config.adaptiveEntropy) return own;
  const seen = groups.map(({ mask }, at) => ({ mask, entropies: readbacks[at]?.entropies ?? [] }));
  return nextEntropyState(own, meanEntropy(seen, config.topEntropyQuantile), entropyControl(config));
}

function referenceParameters({ context: { config }, state }: StepInput): TrainingState["start"] {
  return config.reference === "ema" ? state.ema : (state.reference ?? state.start);
}

/** Log-probabilities of the actions under the reference, [N·T] per group. */
async function referenceLogProbs(input: StepInput, own: LoopOfStep): Promise<readonly Float32Array[]> {
  const { context, state } = input;
  const { config, model } = context;
  const parameters = referenceParameters(input);
  const weights = runWeights(model, parameters, state.loraScale, config);
  const found: Float32Array[] = [];
  for (const some of inBatches(own.groups, config.groupsAtOnce)) {
    const known = parameters === state.start ? some.flatMap(({ startLogps }) => startLogps ?? []) : [];
    if (known.length === some.length) found.push(...known);
    else {
      const score = (features: readonly ImageFeatures[]) =>
        readLogProbs(() => own.score(weights, placesOf(own, some), features));
      found.push(
        ...(await withFeatures(
          context,
          some.map(({ row }) => row),
          score,
        )),
      );
    }
  }
  return found;
}

/**
 * In the first pass the ratio's denominator is the weights themselves, with the gradient stopped, so it is exactly 1; later
 * passes divide by the first pass' log-probabilities. The reference-ratio formula divides by the reference instead.
 */
function denominatorOf({ objective }: LabConfig, { refLogps, firstLogps }: Group): Float32Array | null {
  return (objective === "notes" ? refLogps : firstLogps) ?? null;
}

/** Combines the updates of a step: the numbers of the last one, and all non-finite elements of any. */
function together(updates: readonly UpdateReport[]): UpdateReport {
  const last = updates.at(-1);
  if (last === undefined) throw new LabError("internal", "A step made no pass over its rollouts");
  return {
    stepped: updates.every(({ stepped }) => stepped),
    metrics: last.metrics,
    nonFinite: [...new Set(updates.flatMap(({ nonFinite }) => nonFinite))],
    clip: last.clip,
  };
}

function activeActions(groups: readonly Group[]): number {
  return groups.reduce((sum, { mask }) => sum + mask.reduce((count, m) => count + m, 0), 0);
}
