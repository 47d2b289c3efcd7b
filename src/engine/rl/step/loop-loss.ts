/** Loss and gradient of groups of a loop, with the features of their pictures. */
import { FlatLayout } from "../../gpu/flat/layout.ts";
import { readTogether } from "../../gpu/runtime/read-back.ts";
import { gradientsOf } from "../../gpu/runtime/tape.ts";
import { gpuFinished } from "../../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { isLanguageBlock } from "../../model/adapter/trainable.ts";
import { recomputing, type Weights } from "../../model/weights/weights.ts";
import type { ImageFeatures } from "../../policy/features.ts";
import { policyLoss } from "../objective/loss.ts";
import type { LossSettings } from "../objective/loss-types.ts";
import { GradientSum } from "../optim/gradient-sum.ts";
import { member, reachedGradients } from "../optim/optimiser.ts";
import { gradientSum, type TrainingState } from "../optim/training-state.ts";
import { type LossTask, lossGradients } from "./backward.ts";
import {
  type ActionLogps,
  type Group,
  type GroupGradients,
  type LossGroup,
  lossTensors,
  type RowRange,
} from "./group.ts";
import { dropoutKey, runWeights, type Step, withFeatures } from "./step.ts";
import type { LoopOfStep } from "./step-events.ts";

// The gradient of a group, computed for a range of its rollouts at a time. The loss depends on the rows only
// through its [N, T] inputs. Its derivatives with respect to these inputs are computed once, from a forward pass
// without a tape, and then propagated through the model one range of rows at a time. The sum is the same for every
// loss type; it needs the memory of one range and one more forward pass.

interface MicroTask extends Omit<LossTask, "groups" | "logProbs"> {
  readonly group: LossGroup;
  readonly features: ImageFeatures;
}

/**
 * Whether a group's gradient is computed in ranges of rollouts.
 * @param rows rollouts at once, 0 for all
 */
export function splits({ rollouts, splitsRows }: Group, rows: number): boolean {
  return rows > 0 && rows < rollouts.length && splitsRows === true;
}

function rangesOf({ rollouts: { length } }: Group, rows: number): RowRange[] {
  return Array.from({ length: Math.ceil(length / rows) }, (_, at): RowRange => {
    return { from: at * rows, to: Math.min(length, (at + 1) * rows) };
  });
}

/**
 * Log-probabilities and entropies of a group's actions without a tape, in the ranges of its gradient, so that dropout has
 * the same masks; owned by the caller.
 * @param rows rollouts at once, at least 1
 */
export function rangedLogps(
  group: Group,
  weights: Weights,
  features: ImageFeatures,
  rows: number,
): Pick<ActionLogps, "logps" | "entropies"> {
  const parts = rangesOf(group, rows).map((range) =>
    tf.tidy(() => {
      const { logps, entropies } = group.logProbs(weights, features, range);
      return { logps, entropies };
    }),
  );
  const scores = tf.tidy(() => ({
    logps: tf.concat(parts.map(({ logps }) => logps)),
    entropies: tf.concat(parts.map(({ entropies }) => entropies)),
  }));
  tf.dispose(parts);
  return scores;
}

/** @param rows rollouts at once, at least 1 */
export async function microGradients(task: MicroTask, rows: number): Promise<GroupGradients> {
  const { group, weights, features, settings, loopWeight } = task;
  const inputs = lossTensors(group);
  const ranges = rangesOf(group, rows);
  const { logps, entropies } = rangedLogps(group, weights, features, rows);

  const kept: Tensor[] = [];
  const { value, grads } = gradientsOf(() => {
    const result = policyLoss({ ...inputs, logps, entropies }, settings);
    kept.push(tf.keep(tf.stack([result.loss, result.policy])));
    return result.loss.mul(loopWeight).asScalar();
  }, [logps, entropies]);
  const [byLogp, byEntropy] = grads.map((grad, at) => {
    const found = grad as Tensor | null | undefined;
    return found ?? tf.zerosLike(at === 0 ? logps : entropies);
  }) as [Tensor, Tensor];

  const layout = FlatLayout.of(Object.fromEntries(task.names.map((name) => [name, member(task.parameters, name)])));
  const sum = new GradientSum(layout);
  for (const range of ranges) {
    // Each range is a tape, which cannot wait for what ran before it.
    await gpuFinished();
    sum.add(rangeGradients(task, range, byLogp, byEntropy));
  }
  const gradients = sum.tensors();
  sum.dispose();
  layout.dispose();

  const constants = Object.values(inputs).filter((tensor) => tensor instanceof tf.Tensor);
  const [scalars, ownLogps, ownEntropies] = await readTogether([...kept, logps, entropies])
    .catch((thrown: unknown) => {
      // After a lost device the gradients are not used.
      tf.dispose(gradients);
      throw thrown;
    })
    .finally(() => tf.dispose([value, byLogp, byEntropy, logps, entropies, ...kept, ...constants]));
  const [loss = Number.NaN, policy = Number.NaN] = scalars ?? [];
  const readback = {
    loss,
    policy,
    logps: ownLogps as Float32Array,
    entropies: ownEntropies as Float32Array,
    auxiliary: {},
  };
  return { gradients, readbacks: [readback] };
}

/** Gradient of Σ logp · dL/dlogp + Σ H · dL/dH over one range of rows. */
function rangeGradients(
  { group, weights, parameters, names, features }: MicroTask,
  range: RowRange,
  byLogp: Tensor,
  byEntropy: Tensor,
): Record<string, Tensor> {
  const { value, grads } = gradientsOf(
    () => {
      const scored = group.logProbs(weights, features, range);
      const cut = (grad: Tensor): Tensor => tf.slice(grad, [range.from, 0], [range.to - range.from, group.actions]);
      const sum = scored.logps.mul(cut(byLogp)).sum();
      return sum.add(scored.entropies.mul(cut(byEntropy)).sum()).asScalar();
    },
    names.map((name) => parameters[name] as Tensor),
  );
  value.dispose();
  return reachedGradients(names, grads);
}

/** The gradient of a loop's groups, one at a time; owned by the caller. @param auxiliary whether auxiliary losses count */
export async function gradientOfLoss(
  state: TrainingState,
  step: Step,
  loop: LoopOfStep,
  groups: readonly LossGroup[],
  settings: LossSettings,
  auxiliary: boolean,
): Promise<GradientSum> {
  const sum = gradientSum(state);
  const logProbs: LoopOfStep["logProbs"] = (...about) =>
    loop
      .logProbs(...about)
      .map(({ logps, entropies, ...rest }) => (auxiliary ? { logps, entropies, ...rest } : { logps, entropies }));
  try {
    for (const group of groups)
      sum.add((await lossOf(state, step, { ...loop, logProbs }, [group], settings)).gradients);
    return sum;
  } catch (thrown) {
    sum.dispose();
    throw thrown;
  }
}

/** Loss and gradient of a few groups of a loop. */
export async function lossOf(
  state: TrainingState,
  step: Step,
  { id, loop, logProbs }: LoopOfStep,
  groups: readonly LossGroup[],
  settings: LossSettings,
): Promise<GroupGradients> {
  const { config, model } = step;
  const plain = runWeights(model, state.params, state.loraScale, config, dropoutKey(step, id));
  const weights = config.gradientCheckpointing ? recomputing(plain, state.params) : plain;
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
    step,
    groups.map(({ row }) => row),
    async (features) => {
      // A tape cannot wait: nothing before it may keep memory.
      await gpuFinished();
      const [group] = groups as readonly [LossGroup];
      if (splits(group, config.microRollouts)) {
        const task = { ...shared, group, features: features[0] as ImageFeatures };
        return microGradients(task, config.microRollouts);
      }
      return lossGradients({ ...shared, groups, logProbs: (view) => logProbs(view, places, features) });
    },
  );
}
