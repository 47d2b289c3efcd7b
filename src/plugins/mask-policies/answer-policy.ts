/**
 * Mask policy "sampled answer" (VideoSEG-O3, 2606.06819): the policy samples the text of its answer up to [SEG], and the
 * mask follows from that [SEG] without further noise. The log-probability of [SEG] gets one more summand, the mask's: the
 * negative mean cross-entropy at 32 × 32 between the logits and the rollout's own thresholded mask. So the gradient reaches
 * text and mask decoder alike. The summand is no density of the mask: the mask is a function of the text.
 */

import { LabError } from "../../engine/errors.ts";
import { resizeBilinear } from "../../engine/gpu/kernels/resize.ts";
import { readTogether } from "../../engine/gpu/runtime/read-back.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import type { Completion } from "../../engine/policy/decode/generate.ts";
import type { SamplerSettings } from "../../engine/policy/decode/sampler.ts";
import { argMax, bestCandidate, bestIndex, CANDIDATES, type MaskPolicy } from "../../engine/policy/mask/mask-policy.ts";
import type { PhraseOutput } from "../../engine/policy/phrase-output.ts";
import { bernoulliLogProb } from "./bernoulli.ts";

/** Side of the grid on which masks are compared. */
const SIDE = 32;

/** Logit of every pixel of an answer without [SEG]. */
const NOTHING = -10;

/** Mean logits on a grid of 32 × 32, [N, h, w] → [N, 1024]; bilinear where the grid does not divide the mask. */
export function onGrid(logits: Tensor): Tensor {
  return tf.tidy(() => {
    const [rows, height, width] = logits.shape as [number, number, number];
    if (height % SIDE !== 0 || width % SIDE !== 0) {
      return resizeBilinear(logits.reshape([rows, height, width, 1]), SIDE, SIDE).reshape([rows, SIDE * SIDE]);
    }
    const blocks = logits.reshape([rows * SIDE, height / SIDE, SIDE, width / SIDE]);
    return blocks
      .mean(3)
      .mean(1)
      .reshape([rows, SIDE * SIDE]);
  });
}

/** Negative mean cross-entropy of logits [N, 1024] against masks of 0 and 1, [N, 1]; differentiable in the logits. */
export function maskLogProb(logits: Tensor, masks: Tensor): Tensor {
  return tf.tidy(() => bernoulliLogProb(logits, masks, 1).mean(1, true));
}

/** An answer up to its [SEG]. */
interface Answer extends Completion {
  /** Place of [SEG]; below 0 without one. */
  readonly place: number;
  /** Whether [SEG] was appended: then its token is no action, and its place has the mask's summand alone. */
  readonly appended: boolean;
}

function answerOf(own: Completion, segment: number, append: boolean): Answer {
  const place = own.ids.indexOf(segment);
  if (place >= 0 || !append) return { ...own, place, appended: false };
  // [SEG] replaces the end token.
  const text = own.ended ? own.ids.slice(0, -1) : own.ids;
  return { ...own, ids: [...text, segment], place: text.length, appended: true };
}

/**
 * @param maxCompletionLength limit of the sampled text
 * @param append whether an answer that ends without [SEG] gets one; otherwise it has no mask
 */
export function answerPolicy(sampler: SamplerSettings, maxCompletionLength: number, append: boolean): MaskPolicy {
  return async (output, count, draws) => {
    const { text } = output;
    const { token } = draws;
    if (text === undefined || token === undefined) throw new LabError("internal", "No answer can be sampled here");
    const sampledTexts = await text.sample(count, { sampler, maxCompletionLength, key: token });
    const completions = sampledTexts.map((own) => answerOf(own, text.segment, append));
    const places = completions.map(({ place }) => place);
    const actions = Math.max(1, ...completions.map(({ ids }) => ids.length));
    const index = await bestIndex(output.decoded());
    const score = (other: PhraseOutput) => scoreOf(other, completions, places, { sampler, maxCompletionLength });
    const first = tf.tidy(() => ({ ...score(output) }));
    const chosen = await chosenCandidates(first.iou);
    const [logits, target] = tf.tidy(() => {
      const masks = masksOf(first, chosen, places);
      return [masks, onGrid(masks).greater(0).toFloat()];
    }) as [Tensor, Tensor];
    const grid = (of: (own: Answer, at: number) => boolean): Float32Array =>
      Float32Array.from({ length: count * actions }, (_, i) =>
        Number(of(completions[Math.floor(i / actions)] as Answer, i % actions)),
      );
    const [atSegment, sampledToken] = tf.tidy(() => [
      tf.tensor2d(
        grid(({ place }, at) => at === place),
        [count, actions],
      ),
      tf.tensor2d(
        grid(({ place, appended }, at) => !(appended && at === place)),
        [count, actions],
      ),
    ]) as [Tensor, Tensor];
    const whole = (scored: Scored): { logps: Tensor; entropies: Tensor } =>
      tf.tidy(() => {
        const masks = maskLogProb(onGrid(masksOf(scored, chosen, places)), target);
        return {
          logps: scored.logps.mul(sampledToken).add(atSegment.mul(masks)),
          entropies: scored.entropies.mul(sampledToken),
        };
      });
    const sampled = whole(first);
    const [logps, entropies] = (await readTogether([sampled.logps, sampled.entropies])) as [Float32Array, Float32Array];
    const greedy = bestCandidate(output.decoded(), index);
    tf.dispose([...Object.values(first), ...Object.values(sampled)]);
    return {
      logits,
      greedy,
      labels: completions.map(({ ids }) => ids.map((id) => ({ id, label: text.word(id) }))),
      logps,
      entropies,
      actions,
      probabilities: null,
      readsMasks: false,
      active: grid(({ ids }, at) => at < ids.length),
      answers: completions.map(({ ids, ended, place, appended }) => ({
        text: text.words(ids),
        segments: place < 0 || appended ? 0 : 1,
        truncated: !ended,
      })),
      logProbs: (other) => whole(score(other)),
      dispose() {
        tf.dispose([target, atSegment, sampledToken]);
      },
    };
  };
}

interface Scored {
  /** [N, T] of the tokens. */
  readonly logps: Tensor;
  readonly entropies: Tensor;
  /** [N, 4, h, w] and [N, 4] for the [SEG] of each answer. */
  readonly masks: Tensor;
  readonly iou: Tensor;
}

function scoreOf(
  output: PhraseOutput,
  completions: readonly Completion[],
  places: readonly number[],
  options: { readonly sampler: SamplerSettings; readonly maxCompletionLength: number },
): Scored {
  const { text } = output;
  if (text === undefined) throw new LabError("internal", "No answer can be scored here");
  const { logps, entropies, language } = text.score(completions, places, options);
  const { masks, iou } = output.decode(language);
  return { logps, entropies, masks, iou };
}

/** The candidate with the largest predicted IoU for each answer. */
async function chosenCandidates(iou: Tensor): Promise<number[]> {
  const values = (await iou.data()) as Float32Array;
  const rows = iou.shape[0] as number;
  return Array.from({ length: rows }, (_, n) => argMax(values.subarray(n * 4 + 1, n * 4 + 1 + CANDIDATES)));
}

/** Logits of the chosen candidates, [N, h, w]; a constant where the answer has no [SEG]. */
function masksOf({ masks }: Scored, chosen: readonly number[], places: readonly number[]): Tensor {
  return tf.tidy(() => {
    const [, , height, width] = masks.shape as [number, number, number, number];
    const rows = chosen.map((index, n) => {
      if ((places[n] as number) < 0) return tf.fill([1, height, width], NOTHING);
      return tf.slice(masks, [n, 1 + index, 0, 0], [1, 1, height, width]).reshape([1, height, width]);
    });
    return tf.concat(rows, 0);
  });
}
