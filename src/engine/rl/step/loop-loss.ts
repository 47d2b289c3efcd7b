/** Loss and gradient of groups of a loop, with the features of their pictures. */
import { gpuFinished } from "../../gpu/runtime/work-budget.ts";
import { isLanguageBlock } from "../../model/adapter/trainable.ts";
import { recomputing } from "../../model/weights/weights.ts";
import type { ImageFeatures } from "../../policy/features.ts";
import type { LossSettings } from "../objective/loss-types.ts";
import type { GradientSum } from "../optim/gradient-sum.ts";
import { gradientSum } from "../optim/training-state.ts";
import { lossGradients } from "./backward.ts";
import { dropoutKey, withFeatures } from "./context.ts";
import type { PassGroup } from "./group.ts";
import type { GroupGradients } from "./loss-inputs.ts";
import { microGradients, splits } from "./micro-batch.ts";
import { runWeights } from "./run-weights.ts";
import type { LoopOfStep, StepInput } from "./step-events.ts";

/** Parts of a step that a pass over its groups needs. */
export type PassInput = Pick<StepInput, "context" | "state">;

/** The gradient of a loop's groups, one at a time; owned by the caller. @param auxiliary whether auxiliary losses count */
export async function gradientOfLoss(
  input: PassInput,
  loop: LoopOfStep,
  groups: readonly PassGroup[],
  settings: LossSettings,
  auxiliary: boolean,
): Promise<GradientSum> {
  const sum = gradientSum(input.state);
  const score: LoopOfStep["score"] = (...about) =>
    loop
      .score(...about)
      .map(({ logps, entropies, ...rest }) => (auxiliary ? { logps, entropies, ...rest } : { logps, entropies }));
  try {
    for (const group of groups) sum.add((await lossOf(input, { ...loop, score }, [group], settings)).gradients);
    return sum;
  } catch (thrown) {
    sum.dispose();
    throw thrown;
  }
}

/** Loss and gradient of a few groups of a loop. */
export async function lossOf(
  { context, state }: PassInput,
  { id, loop, score }: LoopOfStep,
  groups: readonly PassGroup[],
  settings: LossSettings,
): Promise<GroupGradients> {
  const { config, model } = context;
  const plain = runWeights(model, state.params, state.loraScale, config, dropoutKey(context, id));
  const weights = config.recompute ? recomputing(plain, state.params) : plain;
  const everything = loop.trainsLanguage?.(config) ?? true;
  const shared = {
    weights,
    parameters: state.params,
    names: everything ? state.names : state.names.filter((name) => !isLanguageBlock(state.blockOf(name))),
    settings,
    loopWeight: config[`loop${id}Weight`],
  };
  const places = groups.map(({ place }) => place);
  return await withFeatures(
    context,
    groups.map(({ row }) => row),
    async (features) => {
      // A tape cannot wait: nothing before it may keep memory.
      await gpuFinished();
      const [group] = groups as readonly [PassGroup];
      if (splits(group, config.microRollouts)) {
        const task = { ...shared, group, features: features[0] as ImageFeatures };
        return microGradients(task, config.microRollouts);
      }
      return lossGradients({ ...shared, groups, score: (view) => score(view, places, features) });
    },
  );
}
