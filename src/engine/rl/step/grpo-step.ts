/**
 * One dual-loop GRPO step, in the order of the paper (docs/step.md):
 *
 *   sample → partner → reward → advantage → log π_ref, log π_old → loss → update → EMA
 *
 * Weights, optimiser state, seed, step number and data determine its result. Sources: GRPO 2402.03300; docs/spec/grpo.md
 * lists the forms of the loss and their traps, which are tested against recorded numbers. Metrics, records and
 * controllers listen to its events (listeners.ts).
 */

import { inBatches } from "../../bytes/collections.ts";
import { activeLoops, needsReference, windowsPerStep } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";
import { LOOP_CODE } from "../loops/registry.ts";
import type { GroupAdvantages } from "../objective/advantages.ts";
import { appliedCoefficient, entropyControl } from "../objective/entropy-control.ts";
import { stepAdvantages } from "../objective/group-advantages.ts";
import { type LossSettings, lossSettingsOf } from "../objective/loss-types.ts";
import type { GradientSum } from "../optim/gradient-sum.ts";
import { disposeSet } from "../optim/optimiser.ts";
import { gradientSum, joinLoops, type TrainingState, updateState } from "../optim/training-state.ts";
import type { Run } from "../run/lab.ts";
import {
  equalWeights,
  groupsInBatch,
  hasNoAdvantage,
  laterWindowLogps,
  type OldLogps,
  ratioDenominator,
  referenceLogps,
  referenceParameters,
  windowOf,
} from "./fixed-logps.ts";
import type { AdvantageGroup, Group, GroupGradients, LoopRollouts, LossGroup, LossReadback } from "./group.ts";
import { lossOf } from "./loop-loss.ts";
import { sampleLoop } from "./sample.ts";
import type { Step } from "./step.ts";
import type { LoopOfStep, StepEvent, StepUpdate } from "./step-events.ts";

/**
 * Runs one step, which samples once and updates the state of the run numIterations × windows times. `return()` of the
 * generator ends it early and frees its tensors.
 * @throws LabError("cancelled") when stopped, leaving the state as it was before the step
 */
export async function* grpoStep(run: Run, step: Step): AsyncGenerator<StepEvent, void> {
  const { state } = run;
  const { config } = step;
  const owned: Group[] = [];
  const loops: LoopOfStep[] = [];
  let gradients = new Map<LoopId, GradientSum>();
  let unsummed: GroupGradients["gradients"] = {};
  try {
    for (const id of activeLoops(config)) {
      // sample → partner → reward: o₁…o_G ~ π(·|q), R_i = reward(q, o_i)
      const drawn = await sampleLoop(run, step, id);
      owned.push(...drawn.groups);
      // advantage: A_i = (R_i − mean R) / (std R + ε), double precision
      await step.phase("advantage", id, () => drawn.groups);
      const advantages = stepAdvantages(drawn.groups, config, () => step.number);
      yield { type: "advantages", loop: id, groups: drawn.groups, advantages };
      loops.push(await withAdvantages(state, step, id, drawn, advantages));
    }
    yield { type: "sampled", loops };

    // loss and update for every window of the rollouts (PPO's mini-batch), μ times
    const windows = windowsPerStep(config);
    const oldLogps = await laterWindowLogps(state, step, loops, windows);
    let unchanged = true;
    for (let index = 0; index < config.numIterations * windows; index++) {
      const update: StepUpdate = { iteration: Math.floor(index / windows), window: index % windows, index };
      gradients = new Map(loops.map(({ id }) => [id, gradientSum(state)]));
      const equal = await equalWeights(state, config, loops);
      for (const loop of loops) {
        await step.phase("loss", loop.id);
        const known = oldLogps.get(loop.id) as OldLogps;
        const sum = gradients.get(loop.id) as GradientSum;
        const groups = windowOf(loop.groups, update.window, windows).map(
          (group): LossGroup => ({
            ...group,
            oldLogps: ratioDenominator(config, group, known[group.place]),
            equal: hasNoAdvantage(group) ? equal : null,
          }),
        );
        const settings = settingsOf(state, config, loop, groups.length, windows);
        const readbacks: LossReadback[] = [];
        for (const batch of inBatches(groups, groupsInBatch(step))) {
          const result = await lossOf(state, step, loop, batch, settings);
          unsummed = result.gradients;
          yield { type: "loss", update, loop, settings, groups: batch, ...result };
          unsummed = {};
          sum.add(result.gradients);
          readbacks.push(...result.readbacks);
          // The log-probabilities of the first iteration are log π_old of the others.
          for (const [at, { place }] of batch.entries()) known[place] ??= result.readbacks[at]?.logps;
        }
        yield { type: "loopLoss", update, loop, settings, groups, readbacks, sum };
      }
      // update: clip, AdamW; EMA: φ ← d φ + (1 − d) θ
      await step.phase("update", null);
      yield { type: "gradients", update, gradients };
      const joined = await joinLoops(gradients, config);
      gradients = new Map();
      const report = await updateState(state, joined, config, async () => step.phase("ema", null), unchanged);
      unchanged &&= !report.stepped;
      yield { type: "update", update, report, loops: joined.loops };
    }
  } finally {
    // After a stop or an error sums of gradients remain, too.
    disposeSet(unsummed);
    for (const sum of gradients.values()) sum.dispose();
    for (const group of owned) group.dispose();
  }
}

/** A loop's groups with advantages and, where the loss needs it, log π_ref. */
async function withAdvantages(
  state: TrainingState,
  step: Step,
  id: LoopId,
  drawn: LoopRollouts,
  advantages: readonly GroupAdvantages[],
): Promise<LoopOfStep> {
  const referred = needsReference(step.config);
  const references = referred ? await referenceLogps(state, step, drawn) : [];
  const fromStart = referred && referenceParameters(step.config, state) === state.start;
  const groups = drawn.groups.map((group, place): AdvantageGroup => {
    const refLogps = references[place] ?? null;
    const startLogps = fromStart ? refLogps : (group.startLogps ?? null);
    return { ...group, place, advantages: advantages[place] as GroupAdvantages, refLogps, startLogps };
  });
  const { sampled = groups, logProbs } = drawn;
  return { id, loop: LOOP_CODE[id], groups, sampled, logProbs };
}

/** Settings of the loss of one loop in one window. */
function settingsOf(
  state: TrainingState,
  config: LabConfig,
  { id, loop, groups }: LoopOfStep,
  groupsPerWindow: number,
  windows: number,
): LossSettings {
  const coefficient = config.useAdaptiveEntropy
    ? appliedCoefficient(state.entropy[id], entropyControl(config))
    : config.entropyCoef;
  const active = groups.reduce((sum, { mask }) => sum + mask.reduce((actions, m) => actions + m, 0), 0);
  // As in TRL, tokens of all rollouts, rescaled to one window.
  return lossSettingsOf(config, coefficient, groupsPerWindow, active / windows, loop.longest(groups, config));
}
