/** Log-probabilities that stay fixed while a step updates the policy: π_ref, and π_old of windows after an update. */

import { inBatches } from "../../bytes/collections.ts";
import type { LabConfig } from "../../config/table.ts";
import type { ImageFeatures } from "../../policy/features.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";
import { emaDistance } from "../optim/optimiser.ts";
import type { TrainingState } from "../optim/training-state.ts";
import { readLogProbs } from "./backward.ts";
import { type AdvantageGroup, type EqualWeights, type LoopRollouts, learntAdvantages } from "./group.ts";
import { rangedLogps, splits } from "./loop-loss.ts";
import { gradientReportDue } from "./metrics/gradient-report.ts";
import { dropoutKey, runWeights, type Step, withFeatures } from "./step.ts";
import type { LoopOfStep } from "./step-events.ts";

/** Groups per backward pass; the same in all passes of a step, so that dropout has the same masks. */
export function groupsInBatch({ config, number }: Step): number {
  return config.microRollouts > 0 || gradientReportDue(config, number) ? 1 : config.groupsAtOnce;
}

/** The groups of one accumulation window. */
export function windowOf<T>(groups: readonly T[], window: number, windows: number): readonly T[] {
  const size = groups.length / windows;
  return groups.slice(window * size, (window + 1) * size);
}

export function referenceParameters(config: LabConfig, state: TrainingState): TrainingState["start"] {
  return config.reference === "ema" ? state.ema : (state.reference ?? state.start);
}

/** Log-probabilities of the actions under the reference, [N·T] per group. */
export async function referenceLogps(
  state: TrainingState,
  step: Step,
  { groups, logProbs }: LoopRollouts,
): Promise<readonly Float32Array[]> {
  const { config, model } = step;
  const parameters = referenceParameters(config, state);
  const weights = runWeights(model, parameters, state.loraScale, config);
  const logps: Float32Array[] = [];
  for (const batch of inBatches([...groups.entries()], config.groupsAtOnce)) {
    const known = parameters === state.start ? batch.flatMap(([, { startLogps }]) => startLogps ?? []) : [];
    if (known.length === batch.length) logps.push(...known);
    else {
      const places = batch.map(([place]) => place);
      const rows = batch.map(([, { row }]) => row);
      const read = (features: readonly ImageFeatures[]) => readLogProbs(() => logProbs(weights, places, features));
      logps.push(...(await withFeatures(step, rows, read)));
    }
  }
  return logps;
}

/** log π_old of a loop's groups by their places, as far as known: the ratio's denominator once the weights differ from those that sampled. */
export type OldLogps = (Float32Array | undefined)[];

/**
 * Log-probabilities under the sampling weights, for groups whose first pass follows an earlier update. Those of the other
 * groups are known after their first pass.
 */
export async function laterWindowLogps(
  state: TrainingState,
  step: Step,
  loops: readonly LoopOfStep[],
  windows: number,
): Promise<ReadonlyMap<LoopId, OldLogps>> {
  const old = new Map(loops.map(({ id }): [LoopId, OldLogps] => [id, []]));
  for (const loop of windows > 1 ? loops : []) {
    const later = Array.from({ length: windows - 1 }, (_, at) => windowOf(loop.groups, at + 1, windows));
    // The batches are those of the update, so that dropout has the same masks.
    for (const batch of later.flatMap((window) => inBatches(window, groupsInBatch(step)))) {
      const logps = await oldLogpsOf(state, step, loop, batch);
      for (const [at, { place }] of batch.entries()) (old.get(loop.id) ?? [])[place] = logps[at];
    }
  }
  return old;
}

async function oldLogpsOf(
  state: TrainingState,
  step: Step,
  { id, logProbs }: LoopOfStep,
  batch: readonly AdvantageGroup[],
): Promise<readonly Float32Array[]> {
  const { config, model } = step;
  const weights = runWeights(model, state.params, state.loraScale, config, dropoutKey(step, id));
  const [first] = batch as readonly [AdvantageGroup];
  const rows = batch.map(({ row }) => row);
  const places = batch.map(({ place }) => place);
  return await withFeatures(step, rows, (features) =>
    readLogProbs(() =>
      splits(first, config.microRollouts)
        ? [rangedLogps(first, weights, features[0] as ImageFeatures, config.microRollouts)]
        : logProbs(weights, places, features),
    ),
  );
}

/**
 * In the first update the ratio's denominator is the weights themselves, with the gradient stopped, so it is exactly 1; later windows
 * and iterations divide by log-probabilities from before the first update. The objective `notes` divides by the reference instead.
 * @returns [N·T]; null for the weights themselves
 */
export function ratioDenominator(
  { objective }: LabConfig,
  { refLogps }: AdvantageGroup,
  old: Float32Array | undefined,
): Float32Array | null {
  return objective === "notes" ? refLogps : (old ?? null);
}

/** Whether a group has no advantage, so that only penalties move the policy. */
export function hasNoAdvantage(group: AdvantageGroup): boolean {
  return learntAdvantages(group).every((advantage) => advantage === 0);
}

/** What the policy equals, for groups without an advantage (docs/spec/grpo.md#5-kl-to-the-reference); null if no group needs it. */
export async function equalWeights(
  state: TrainingState,
  config: LabConfig,
  loops: readonly LoopOfStep[],
): Promise<EqualWeights | null> {
  // With dropout the policy differs from its reference by design.
  if (config.loraDropout > 0 || !loops.some(({ groups }) => groups.some(hasNoAdvantage))) return null;
  const reference = referenceParameters(config, state);
  const start = (await emaDistance(state.start, state.params)) === 0;
  return { start, reference: reference === state.start ? start : (await emaDistance(reference, state.params)) === 0 };
}
