/**
 * The gradient of a group, computed for a range of its rollouts at a time. The loss depends on the rows only through
 * its
 * [N, T] inputs. Its derivatives with respect to these inputs are computed once, from a forward pass without a tape,
 * and
 * then propagated through the model one range of rows at a time. The sum is the same for every loss type; it needs the
 * memory of one range and one more forward pass.
 */
import { FlatLayout } from "../../gpu/flat/layout.ts";
import { readTogether } from "../../gpu/runtime/read-back.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { Weights } from "../../model/weights/weights.ts";
import type { ImageFeatures } from "../../policy/features.ts";
import { policyLoss } from "../objective/loss.ts";
import { GradientSum } from "../optim/gradient-sum.ts";
import { member, reachedGradients } from "../optim/parameter-sets.ts";
import type { LossTask } from "./backward.ts";
import type { ActionScores, Group, PassGroup, RowRange } from "./group.ts";
import { type GroupGradients, lossTensors } from "./loss-inputs.ts";

export interface MicroTask extends Omit<LossTask, "groups" | "score"> {
  readonly group: PassGroup;
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
 * Scores of a group's actions without a tape, computed in the ranges of its gradient, so that dropout has the same masks;
 * owned by the caller.
 * @param rows rollouts at once, at least 1
 */
export function rangedScores(
  group: Group,
  weights: Weights,
  features: ImageFeatures,
  rows: number,
): Pick<ActionScores, "logps" | "entropies"> {
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
  const { logps, entropies } = rangedScores(group, weights, features, rows);

  const kept: Tensor[] = [];
  const { value, grads } = tf.engine().gradients(
    () => {
      const result = policyLoss({ ...inputs, logps, entropies }, settings);
      kept.push(tf.keep(tf.stack([result.loss, result.policy])));
      return result.loss.mul(loopWeight).asScalar();
    },
    [logps, entropies],
    undefined,
    true,
  );
  const [byLogp, byEntropy] = grads.map((grad, at) => {
    const found = grad as Tensor | null | undefined;
    return found ?? tf.zerosLike(at === 0 ? logps : entropies);
  }) as [Tensor, Tensor];

  const layout = FlatLayout.of(Object.fromEntries(task.names.map((name) => [name, member(task.parameters, name)])));
  const sum = new GradientSum(layout);
  for (const range of ranges) sum.add(rangeGradients(task, range, byLogp, byEntropy));
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
  const { value, grads } = tf.engine().gradients(
    () => {
      const scored = group.logProbs(weights, features, range);
      const cut = (grad: Tensor): Tensor => tf.slice(grad, [range.from, 0], [range.to - range.from, group.actions]);
      const sum = scored.logps.mul(cut(byLogp)).sum();
      return sum.add(scored.entropies.mul(cut(byEntropy)).sum()).asScalar();
    },
    names.map((name) => parameters[name] as Tensor),
    undefined,
    true,
  );
  value.dispose();
  return reachedGradients(names, grads);
}
