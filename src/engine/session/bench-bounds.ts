/** Reference masks for the bench, in addition to sampled masks: the greedy one and the row's own. */
import { clipFact, rowSize } from "../data/clips/row-frames.ts";
import { decodeRle, type Rle } from "../data/mask/rle.ts";
import { likelihoodFact, wantedLikelihoods } from "../policy/caption-likelihood.ts";
import { disposeFeatures } from "../policy/features.ts";
import { describePictures } from "../policy/partner.ts";
import { rowCells } from "../policy/prompts.ts";
import { rewardPlan } from "../rewards/composer/plan.ts";
import type { RolloutFacts } from "../rewards/term.ts";
import { aboutLoop } from "../rl/loops/abouts.ts";
import type { StepContext } from "../rl/step/context.ts";
import type { Group } from "../rl/step/group.ts";
import type { GroupBounds } from "../runs/bench/bench-group.ts";

/**
 * Bounds of a group of sampled masks; nothing for a loop whose actions are captions.
 * @throws LabError("held") when a reward cannot be given
 */
export async function groupBounds(
  context: StepContext,
  { loop, row, rollouts }: Group,
): Promise<{ readonly bounds?: GroupBounds }> {
  const greedyMask = rollouts[0]?.greedyMask ?? null;
  if (aboutLoop(loop).samples !== "mask" || greedyMask === null) return {};
  const { model, config, scorer, signal } = context;
  const size = rowSize(row);
  const keepTiny = config.smallRegions === "force";
  const masks = [decodeRle(greedyMask), row.mask];
  const features = await context.features.get(row.summary.imageId, row.rgb, row.view);
  const picture = { features, masks, ...size };
  const said = { caption: row.summary.caption, others: row.others ?? [] };
  const options = { maxNewTokens: config.partnerMaxTokens, logitGuard: config.logitGuard, keepTiny, signal };
  const [captions, likelihoods] = await (async () => {
    const [described = []] = await describePictures(model, context.partner, [picture], options);
    const [measured] = await wantedLikelihoods(context, loop, [{ ...picture, ...said }]);
    return [described, measured] as const;
  })().finally(() => disposeFeatures(features));
  const facts = (predicted: Rle, n: number): RolloutFacts => ({
    loop,
    reference: row.summary.caption,
    caption: captions[n] ?? null,
    ...likelihoodFact(likelihoods, n),
    given: row.summary.mask,
    predicted,
    ...clipFact(row),
    confidence: null,
    truncated: false,
  });
  const asked = [facts(greedyMask, 0), facts(row.summary.mask, 1)];
  const [greedy, truth] = await scorer.scoreGroup(asked, rewardPlan(config), signal);
  const [own, wanted] = masks.map((mask) => String(rowCells(model, { ...row, mask }, keepTiny)));
  return { bounds: { greedy: greedy?.terms ?? [], truth: truth?.terms ?? [], alike: own === wanted } };
}
