/** Golden schema `grpo-mask-actions`: distributions over masks and the policy loss on them. */
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import * as masks from "../../../src/engine/policy/mask/mask-policy.ts";
import { CANDIDATES, candidateLogProbs } from "../../../src/engine/policy/mask/mask-policy.ts";
import { detailedLoss, policyLoss } from "../../../src/engine/rl/objective/loss.ts";
import { type LossSettings, lossSettings } from "../../../src/engine/rl/objective/loss-types.ts";
import * as bernoulli from "../../../src/plugins/mask-policies/bernoulli.ts";
import { type CaseReport, flat, type Json, numberOr, record, shapeOf, text } from "../golden-json.ts";
import { scoreRows, TRL_ADVANTAGES } from "./grpo-cpu.ts";
import { DOUBLE_TOLERANCE, LOGP_TOLERANCE, LOSS_TOLERANCE } from "./loss-run.ts";

/** Clip range of the recorded PPO losses. */
const CLIP = 0.2;
const REINFORCE: Partial<LossSettings> = { objective: "cispo", level: "token" };
const PPO: Partial<LossSettings> = { objective: "clip", level: "token" };

export async function checkMaskActionCase(item: Json, report: CaseReport): Promise<void> {
  const check = {
    bernoulli: checkBernoulli,
    gaussian: checkGaussian,
    categorical_multimask: checkChoice,
  }[text(item, "kind")];
  if (check === undefined) return report.leftOut(text(item, "kind"), "no mask policy samples like this");
  await check(record(item, "inputs"), record(item, "expected"), numberOr(item, "temperature", 1), report);
}

async function checkBernoulli(inputs: Json, expected: Json, temperature: number, report: CaseReport): Promise<void> {
  const logits = flat(inputs.policy_mask_logits);
  const pixels = logits.length;
  const count = (shapeOf(inputs.uniforms)[0] as number) ?? 1;
  const sampled = bernoulli.sampleBernoulli(flat(inputs.old_mask_logits), temperature, flat(inputs.uniforms));
  report.compare("masks", expected.masks, sampled, {});
  const advantages = advantagesOf(flat(inputs.rewards));
  report.compare("advantages", expected.advantages, advantages, DOUBLE_TOLERANCE);
  const actions = (): Tensor => tf.tensor2d(Array.from(sampled), [count, pixels]);
  const perPixel = (z: Tensor): Tensor => bernoulli.bernoulliLogProb(z, actions(), temperature);
  const vector = (key: string): Tensor => tf.tensor1d(flat(inputs[key]));
  const summed = async (key: string, logitsKey: string): Promise<void> => {
    if (key in expected)
      report.compare(key, expected[key], await read(() => perPixel(vector(logitsKey)).sum(1)), LOGP_TOLERANCE);
  };
  await summed("logp_sum", "policy_mask_logits");
  await summed("old_logp_sum", "old_mask_logits");
  await summed("ref_logp_sum", "ref_mask_logits");
  const means = await read(() => perPixel(vector("policy_mask_logits")).mean(1));
  report.compare("logp_mean", expected.logp_mean, means, LOGP_TOLERANCE);

  const losses = record(expected, "losses");
  const variants: Readonly<Record<string, Partial<LossSettings>>> = {
    reinforce_pixel_mean: REINFORCE,
    ppo_per_pixel_ratio: PPO,
    ppo_whole_mask_ratio: { objective: "clip", level: "sequence_sum" },
    ppo_geometric_mean_ratio: { objective: "clip", level: "sequence" },
  };
  const ref = (): Tensor => vector("ref_mask_logits");
  const scalars: Readonly<Record<string, (z: Tensor) => Tensor>> = {
    exact_kl_to_reference_pixel_mean: (z) => masks.bernoulliKl(z, ref(), temperature).mean(),
    entropy_pixel_mean: (z) => bernoulli.bernoulliEntropy(z, temperature).mean(),
  };
  for (const [name, value] of Object.entries(losses)) {
    const wanted = value as Json;
    const changes = variants[name];
    let ratio: Tensor | undefined;
    const compute = (z: Tensor): Tensor => {
      if (changes === undefined) return (scalars[name] ?? unknown(name))(z);
      const old = name.startsWith("ppo") ? perPixel(vector("old_mask_logits")) : null;
      const run = actionLoss(perPixel(z), old, advantages, changes);
      ratio = tf.keep(run.ratio.clone());
      return run.loss;
    };
    await checkGradient(name, wanted, compute, [["grad_logits", logits]], report);
    const ratios = ratio === undefined ? [] : Array.from(await ratio.data());
    ratio?.dispose();
    if ("ratio" in wanted)
      report.compare(
        `${name} ratio`,
        wanted.ratio,
        ratios.filter((_, i) => i % pixels === 0),
        LOSS_TOLERANCE,
      );
    if ("clip_fraction" in wanted) {
      const clipped = ratios.filter((r, i) => {
        const advantage = advantages[Math.floor(i / pixels)] as number;
        return (advantage > 0 && r > 1 + CLIP) || (advantage < 0 && r < 1 - CLIP);
      });
      report.compare(`${name} clip fraction`, wanted.clip_fraction, clipped.length / ratios.length, LOSS_TOLERANCE);
    }
  }
}

async function checkGaussian(inputs: Json, expected: Json, _temperature: number, report: CaseReport): Promise<void> {
  const [mean, logStd, oldMean] = [flat(inputs.mean), flat(inputs.log_std), flat(inputs.old_mean)];
  const count = (shapeOf(inputs.standard_normals)[0] as number) ?? 1;
  const sampled = flat(expected.actions);
  const advantages = advantagesOf(flat(inputs.rewards));
  report.compare("advantages", expected.advantages, advantages, DOUBLE_TOLERANCE);
  const actions = (): Tensor => tf.tensor2d(sampled, [count, mean.length]);
  const logp = (m: Tensor, s: Tensor): Tensor => masks.gaussianLogProbs(actions(), m, s).sum(-1);
  const old = (): Tensor => logp(tf.tensor1d(oldMean), tf.tensor1d(logStd));
  const now = (): Tensor => logp(tf.tensor1d(mean), tf.tensor1d(logStd));
  report.compare("logp", expected.logp, await read(now), LOGP_TOLERANCE);
  report.compare("old_logp", expected.old_logp, await read(old), LOGP_TOLERANCE);
  report.compare("ratio", expected.ratio, await read(() => now().sub(old()).exp()), LOSS_TOLERANCE);
  report.compare(
    "entropy",
    expected.entropy,
    await read(() => masks.gaussianEntropy(tf.tensor1d(logStd)).sum()),
    LOSS_TOLERANCE,
  );

  const column = (x: Tensor): Tensor => x.reshape([count, 1]);
  const losses: Readonly<Record<string, (m: Tensor, s: Tensor) => Tensor>> = {
    reinforce: (m, s) => actionLoss(column(logp(m, s)), null, advantages, REINFORCE).loss,
    ppo: (m, s) => actionLoss(column(logp(m, s)), column(old()), advantages, PPO).loss,
  };
  const parameters: Parameters = [
    ["grad_mean", mean],
    ["grad_log_std", logStd],
  ];
  for (const [name, compute] of Object.entries(losses))
    if (name in expected)
      await checkGradient(
        name,
        record(expected, name),
        (m, s) => compute(m as Tensor, s as Tensor),
        parameters,
        report,
      );
}

async function checkChoice(inputs: Json, expected: Json, temperature: number, report: CaseReport): Promise<void> {
  const scores = flat(inputs.scores);
  if (scores.length !== CANDIDATES) {
    return report.leftOut(`${scores.length} scores`, `the mask decoder has ${CANDIDATES} candidates to choose from`);
  }
  const rewards = flat(inputs.reward_of_each_mask);
  const all = (z: Tensor): Tensor =>
    // Candidate 0 of the decoder is never chosen.
    candidateLogProbs({ iou: tf.concat([tf.zeros([1, 1]), z.reshape([1, -1])], 1) }, temperature);
  report.compare("logp_all", expected.logp_all, await read(() => all(tf.tensor1d(scores))), LOGP_TOLERANCE);
  const losses: Readonly<Record<string, (z: Tensor) => Tensor>> = {
    all_actions_expected_reward: (z) => all(z).exp().mul(tf.tensor1d(rewards)).sum().neg(),
    entropy: (z) => all(z).exp().mul(all(z)).sum().neg(),
  };
  for (const [name, compute] of Object.entries(losses))
    if (name in expected) await checkGradient(name, record(expected, name), compute, [["grad_scores", scores]], report);
  report.leftOut("choices", "the policy enumerates the candidates");

  // The same expectation as enumerated candidates: one row each, weighted by its (constant) probability. Only the
  // gradient agrees, the value of the loss at ratio 1 is the mean of -A.
  if (!("all_actions_expected_reward" in expected)) return;
  const probabilities = (await read(() => all(tf.tensor1d(scores)).exp())) as Float32Array;
  const enumerated = (z: Tensor): Tensor =>
    policyLoss(
      {
        logps: all(z).reshape([scores.length, 1]),
        oldLogps: null,
        refLogps: null,
        entropies: null,
        mask: tf.ones([scores.length, 1]),
        advantages: tf.tensor1d(rewards),
        rowWeights: tf.tensor1d(probabilities).mul(scores.length),
      },
      lossSettings("grpo", { beta: 0 }),
    ).loss;
  await checkGradient(
    "enumerated candidates",
    record(expected, "all_actions_expected_reward"),
    enumerated,
    [["grad_scores", scores]],
    report,
  );
}

type Parameters = readonly (readonly [key: string, values: readonly number[]])[];

/** `wanted.loss` and the gradients under the parameters' keys against autodiff of `compute`. */
async function checkGradient(
  name: string,
  wanted: Json,
  compute: (...parameters: Tensor[]) => Tensor,
  parameters: Parameters,
  report: CaseReport,
): Promise<void> {
  const { value, grads } = tf.tidy(() =>
    tf.valueAndGrads((...xs) => compute(...(xs as Tensor[])) as tf.Scalar)(
      parameters.map(([, values]) => tf.tensor1d(values as number[])),
    ),
  );
  // Enumerated rows share the gradient but not the value.
  if ("loss" in wanted && name !== "enumerated candidates")
    report.compare(`${name} loss`, wanted.loss, await value.data(), LOSS_TOLERANCE);
  for (const [i, [key]] of parameters.entries())
    report.compare(`${name} ${key}`, wanted[key], await (grads[i] as Tensor).data(), LOSS_TOLERANCE);
  tf.dispose([value, ...grads]);
}

function actionLoss(logps: Tensor, old: Tensor | null, advantages: readonly number[], changes: Partial<LossSettings>) {
  const settings = lossSettings("grpo", {
    beta: 0,
    logRatioBound: null,
    epsLow: CLIP,
    epsHigh: CLIP,
    aggregation: "row-mean",
    ...changes,
  });
  const inputs = { logps, oldLogps: old, refLogps: null, entropies: null, mask: tf.onesLike(logps) };
  return detailedLoss({ ...inputs, advantages: tf.tensor1d(advantages as number[]) }, settings);
}

function advantagesOf(rewards: readonly number[]): number[] {
  const rows = rewards.map((reward) => [reward]);
  return [...scoreRows(rows, [1], rewards.length, TRL_ADVANTAGES).advantages];
}

async function read(compute: () => Tensor): Promise<ArrayLike<number>> {
  const tensor = tf.tidy(compute);
  const data = await tensor.data();
  tensor.dispose();
  return data;
}

function unknown(name: string): never {
  throw new Error(`unknown loss "${name}"`);
}
