/**
 * Loop 2 on held-out rows: the partner describes the greedy mask and the masks that the run's mask policy samples.
 * Scores are METEOR, the IoU of the greedy mask, and the partner's caption of the true mask.
 */

import { encodeRle, maskIou } from "../../../data/mask/rle.ts";
import { rowSize } from "../../../data/training-row.ts";
import { type EvalRow, type EvaluateLoop, evalKey } from "../../../eval/held-out.ts";
import { normal, uniform } from "../../../gpu/random.ts";
import type { FoundMask } from "../../../model/sam2/postprocess.ts";
import { judgedPicture, likelihoodFact, wantedLikelihoods } from "../../../policy/caption-likelihood.ts";
import type { MaskDraws } from "../../../policy/mask/mask-policy.ts";
import { describePictures } from "../../../policy/partner.ts";
import type { RolloutFacts } from "../../../rewards/term.ts";
import { EVAL_DRAWS } from "../../../runs/evaluations/evaluation-metrics.ts";
import { type ActedMasks, factsOf, formOf, sampleMasks } from "./sample-masks.ts";

export const evaluate: EvaluateLoop = async (deps, rows) => {
  const { model, config, partner, scorer, signal } = deps;
  const sampledMasks = await sampleMasks(deps, rows, EVAL_DRAWS, (at) => maskDraws(rows[at]?.index ?? 0));
  for (const { actions } of sampledMasks) actions.dispose();
  const found = sampledMasks.map(({ greedy, masks }): FoundMask[] => [greedy, ...masks]);
  const pixels = found.map((own) => own.map(({ mask }) => mask));
  // The true mask comes last: the partner's caption of it is compared with the policy's.
  const captions = await describePictures(
    model,
    partner,
    rows.map(({ row, features }, at) => ({ features, masks: [...(pixels[at] ?? []), row.mask], ...rowSize(row) })),
    {
      maxCompletionLength: config.partnerMaxTokens,
      logitGuard: config.logitGuard,
      keepTiny: config.smallRegions === "force",
      signal,
    },
  );
  const pictures = rows.map(({ row, features }, at) => judgedPicture(row, features, pixels[at] ?? []));
  const likelihoods = await wantedLikelihoods(deps, 2, pictures);
  return Promise.all(
    sampledMasks.map(async ({ actions: { weights }, greedy: { mask } }, at) => {
      const { row } = rows[at] as EvalRow;
      const { height, width } = rowSize(row);
      const texts = captions[at] as (string | null)[];
      const pairs = texts.map((text) => ({ reference: row.summary.caption, hypothesis: text ?? "" }));
      const meteor = (await scorer.score(pairs)).map(({ reward }) => reward ?? 0);
      const facts = (found[at] ?? []).map((one, n) => {
        const predicted = encodeRle(one.mask, height, width);
        const form = n === 0 ? {} : formOf((sampledMasks[at] as ActedMasks).actions, n - 1);
        return factsOf(row, predicted, one, texts[n] ?? null, { ...likelihoodFact(likelihoods[at], n), ...form });
      });
      const [greedy, ...sampled] = facts as [RolloutFacts, ...RolloutFacts[]];
      const { iou, intersection, union } = maskIou(mask, row.mask);
      const record = {
        maskGreedy: encodeRle(mask, height, width),
        groundingPixels: [intersection, union] as const,
        captionPrime: texts[0] ?? "",
        grounding_iou: iou,
        partnerCaption: texts.at(-1) ?? "",
        partnerMeteor: meteor.at(-1) ?? 0,
      };
      return { greedy, sampled, weights, scores: meteor.slice(0, -1), record };
    }),
  );
};

function maskDraws(row: number): MaskDraws {
  return {
    normal: (rollout, position) => normal(evalKey(2, row, rollout, position)),
    uniform: (rollout, position) => uniform(evalKey(2, row, rollout, position)),
    token: (rollout) => evalKey(2, row, rollout, 0),
  };
}
