/** Loss and gradient of groups of a loop, with the features of their pictures. */
import { gpuFinished } from "../../gpu/runtime/work-budget.ts";
import { isLanguageBlock } from "../../model/adapter/trainable.ts";
import { recomputing } from "../../model/weights/weights.ts";
import type { ImageFeatures } from "../../policy/features.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";
import type { Loop } from "../loops/loop.ts";
import type { LossSettings } from "../objective/loss-types.ts";
import type { GradientSum } from "../optim/gradient-sum.ts";
import { gradientSum, type TrainingState } from "../optim/training-state.ts";
import { lossGradients } from "./backward.ts";
import { dropoutKey, type StepContext, withFeatures } from "./context.ts";
import type { Group, LoopRollouts } from "./group.ts";
import type { GroupGradients } from "./loss-inputs.ts";
import { microGradients, splits } from "./micro-batch.ts";
import { runWeights } from "./run-weights.ts";

/** Parts of a step that a pass over its groups needs. */
export interface PassInput {
  readonly context: StepContext;
  readonly state: TrainingState;
}

/** The groups of one loop, with a function that scores several at once. */
export interface LoopOfStep extends LoopRollouts {
  readonly id: LoopId;
  readonly loop: Loop;
}

/** Positions of groups among the loop's. */
export function placesOf({ groups }: LoopRollouts, some: readonly Group[]): number[] {
  return some.map((group) => groups.indexOf(group));
}

/** The gradient of a loop's groups with changed advantages or settings, one group at a time; owned by the caller. */
export async function gradientOfLoss(
  input: PassInput,
  own: LoopOfStep,
  { groups, changed, settings, auxiliary }: ChangedLoss,
): Promise<GradientSum> {
  const sum = gradientSum(input.state);
  const score: LoopRollouts["score"] = (...about) =>
    own
      .score(...about)
      .map(({ logps, entropies, ...rest }) => (auxiliary ? { logps, entropies, ...rest } : { logps, entropies }));
  try {
    for (const [at, group] of groups.entries()) {
      const places = placesOf(own, [group]);
      const result = await lossOf(input, { ...own, score }, [changed[at] as Group], settings, places);
      sum.add(result.gradients);
    }
    return sum;
  } catch (thrown) {
    sum.dispose();
    throw thrown;
  }
}

interface ChangedLoss {
  readonly groups: readonly Group[];
  /** The same groups, possibly with other advantages. */
  readonly changed: readonly Group[];
  readonly settings: LossSettings;
  readonly auxiliary: boolean;
}

/** Loss and gradient of a few groups of a loop. @param places positions of the groups among the loop's */
export async function lossOf(
  input: PassInput,
  own: LoopOfStep,
  groups: readonly Group[],
  settings: LossSettings,
  places = placesOf(own, groups),
): Promise<GroupGradients> {
  const { context, state } = input;
  const { config, model } = context;
  const plain = runWeights(model, state.params, state.loraScale, config, dropoutKey(context, own.id));
  const weights = config.recompute ? recomputing(plain, state.params) : plain;
  const everything = own.loop.trainsLanguage?.(config) ?? true;
  const shared = {
    weights,
    parameters: state.params,
    names: everything ? state.names : state.names.filter((name) => !isLanguageBlock(state.blockOf(name))),
    settings,
    loopWeight: config[`loop${own.id}Weight`],
  };
  return await withFeatures(
    context,
    groups.map(({ row }) => row),
    async (features) => {
      // A tape cannot wait: nothing before it may keep memory.
      await gpuFinished();
      const [group] = groups as readonly [Group];
      if (splits(group, config.microRollouts)) {
        const task = { ...shared, group, features: features[0] as ImageFeatures };
        return microGradients(task, config.microRollouts);
      }
      return lossGradients({ ...shared, groups, score: (view) => own.score(view, places, features) });
    },
  );
}
