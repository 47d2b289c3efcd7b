/**
 * Mask policy "distinct proposals": SAM2's candidates for the phrase, for strongly noisy [SEG] states and, if the
 * settings say so, for the picture's other phrases and for clicks on a grid. A proposal is kept only if it differs from
 * the previous ones, so that actions choose an object and not a contour. The policy scores every proposal by its
 * decoded masks, and all proposals are rollouts weighted by their probability, so the gradient is that of the exact
 * expectation. It reaches the shapes of the masks and the IoU head.
 */
import { readOnce } from "../../gpu/runtime/read-back.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { DecodedMasks } from "../../model/sam2/mask-decoder.ts";
import { deviationOf, drawNoise, type Noise } from "./gaussian-actions.ts";
import {
  bestCandidate,
  bestIndex,
  CANDIDATES,
  candidateLogits,
  candidateLogProbs,
  type MaskPolicy,
} from "./mask-policy.ts";

interface ProposalSettings {
  /** Noise on the [SEG] state, for the proposals besides the phrase's own candidates. */
  readonly noise: Noise;
  /** Two masks above this IoU count as one proposal, 0..1. */
  readonly overlap: number;
  /** Temperature in logits: the larger it is, the more equal are the probabilities of the proposals. */
  readonly temperature: number;
  /** Whether candidates of the picture's other phrases are proposals too. */
  readonly phrases: boolean;
  /** Points per side of a grid of clicks whose candidates are proposals too; 0 for none. */
  readonly points: number;
  /** Temperature of the choice among the phrase's own three candidates, by predicted IoU. */
  readonly candidateTemperature: number;
}

/** Noisy [SEG] states per rollout; each has three candidates. */
const TRIES = 2;

export function proposalPolicy(settings: ProposalSettings): MaskPolicy {
  return async (output, count, draws) => {
    const own = output.decoded();
    const greedy = bestCandidate(own, await bestIndex(own));
    const noise = TRIES * count;
    const width = output.language.shape[1] as number;
    const deviation = await deviationOf(settings.noise, output.language, 1e-4);
    const drawn = drawNoise(settings.noise, draws, noise, width, deviation);
    const phrases = settings.phrases ? output.otherPrompts() : null;
    const prompts = tf.tidy(() => {
      const noisy = output.language.add(tf.tensor2d(drawn, [noise, width]));
      return phrases === null ? noisy : tf.concat([phrases, noisy], 0);
    });
    const known = (prompts.shape[0] as number) - noise;
    const tried = tf.tidy(() => ({ ...output.decode(prompts) }));
    tf.dispose(phrases === null ? [prompts] : [prompts, phrases]);
    const clicked = settings.points === 0 ? null : tf.tidy(() => ({ ...output.click(gridPoints(settings.points)) }));
    const [, , height, side] = tried.masks.shape as [number, number, number, number];
    const pool = tf.tidy(() => {
      const clicks = clicked === null ? [] : [candidatesOf(clicked.masks, 0, settings.points ** 2)];
      const all = [
        greedy,
        candidateLogits(own),
        ...(known === 0 ? [] : [candidatesOf(tried.masks, 0, known)]),
        ...clicks,
        candidatesOf(tried.masks, known, noise),
      ];
      return tf.concat(all as tf.Tensor3D[], 0);
    });
    tf.dispose(clicked === null ? { ...tried } : [...Object.values(tried), ...Object.values(clicked)]);
    const kept = distinctMasks((await pool.data()) as Float32Array, height * side, settings.overlap, count);
    const logits = tf.tidy(() => tf.gather(pool, kept));
    pool.dispose();
    const bits = tf.tidy(() =>
      logits
        .greater(0)
        .toFloat()
        .reshape([kept.length, height * side]),
    );
    // Constant for the action set, so that the temperature has the same effect on small and large objects.
    const area = tf.tidy(() => bits.sum().div(kept.length).maximum(1));
    const logProbs = (decoded: DecodedMasks): Tensor => proposalLogProbs(decoded, bits, area, settings);
    const logps = await readOnce(tf.tidy(() => logProbs(own)));
    const probabilities = Array.from(logps, Math.exp);
    const entropy = probabilities.reduce((sum, p, k) => sum - (p > 0 ? p * (logps[k] as number) : 0), 0);
    return {
      logits,
      greedy,
      labels: kept.map((_, k) => [{ id: k, label: `proposal ${k + 1}` }]),
      logps,
      entropies: new Float32Array(kept.length).fill(entropy),
      actions: 1,
      probabilities,
      readsMasks: true,
      logProbs(other) {
        const found = logProbs(other.decoded());
        const entropies = tf.tidy(() => tf.tile(found.exp().mul(found).sum().neg().reshape([1, 1]), [kept.length, 1]));
        return { logps: found.reshape([kept.length, 1]), entropies };
      },
      dispose() {
        tf.dispose([bits, area]);
      },
    };
  };
}

/** Centres of the cells of an n × n grid, row by row: (x, y) in 0..1, [n², 2]. */
function gridPoints(side: number): Tensor {
  const points = Array.from({ length: side ** 2 }, (_, at) => [at % side, Math.floor(at / side)]);
  return tf.tensor2d(points.map(([x, y]) => [((x as number) + 0.5) / side, ((y as number) + 0.5) / side]));
}

/** Candidates of some rows of [N, 4, h, w], one after another, [3·count, h, w]. */
function candidatesOf(masks: Tensor, from: number, count: number): Tensor {
  const [, , height, side] = masks.shape as [number, number, number, number];
  const rows = tf.slice(masks, [from, 1, 0, 0], [count, CANDIDATES, height, side]);
  return rows.reshape([count * CANDIDATES, height, side]);
}

/**
 * log π of each proposal, [K]: a candidate is chosen by predicted IoU, then a proposal by the candidate's logits inside
 * it (the likelihood of independent pixels among these masks, tempered by their mean area), and the candidates are
 * summed over. Differentiable in the decoded masks and predicted IoUs.
 * @param bits [K, h·w], 0 or 1
 * @param area mean number of pixels of a proposal, scalar
 */
function proposalLogProbs(
  decoded: DecodedMasks,
  bits: Tensor,
  area: Tensor,
  { temperature, candidateTemperature }: Pick<ProposalSettings, "temperature" | "candidateTemperature">,
): Tensor {
  return tf.tidy(() => {
    const pixels = bits.shape[1] as number;
    const own = candidateLogits(decoded).reshape([CANDIDATES, pixels]);
    const inside = tf.matMul(own as tf.Tensor2D, bits as tf.Tensor2D, false, true).div(area.mul(temperature));
    const chosen = candidateLogProbs(decoded, candidateTemperature).reshape([CANDIDATES, 1]);
    return tf.logSumExp(tf.logSoftmax(inside as tf.Tensor2D).add(chosen), 0);
  });
}

/**
 * Indices of the masks that differ from every previous one, in order; the first is always kept, empty ones never.
 * @param logits of all masks, `pixels` each; > 0 is inside
 * @param overlap maximum IoU of two kept masks
 * @param most maximum number of indices
 */
export function distinctMasks(logits: Float32Array, pixels: number, overlap: number, most: number): number[] {
  const kept: number[] = [];
  for (let at = 0; at < logits.length / pixels && kept.length < most; at++) {
    const empty = !logits.subarray(at * pixels, (at + 1) * pixels).some((value) => value > 0);
    if (at === 0 || (!empty && kept.every((other) => iouAt(logits, pixels, at, other) <= overlap))) kept.push(at);
  }
  return kept;
}

/** IoU of two masks; 0 where both are empty. */
function iouAt(logits: Float32Array, pixels: number, a: number, b: number): number {
  let [both, either] = [0, 0];
  for (let pixel = 0; pixel < pixels; pixel++) {
    const [inA, inB] = [(logits[a * pixels + pixel] as number) > 0, (logits[b * pixels + pixel] as number) > 0];
    if (inA && inB) both++;
    if (inA || inB) either++;
  }
  return either === 0 ? 0 : both / either;
}
