/**
 * What the bench measures of sampled masks beside the rewards: two masks that were not sampled, the policy's greedy one and the
 * row's own, and what the partner's likelihood of the row's caption would say of every mask.
 */
import { decodeRle, type Rle } from "../data/mask/rle.ts";
import { captionLikelihoods } from "../policy/caption-likelihood.ts";
import { disposeFeatures } from "../policy/features.ts";
import { describePictures } from "../policy/partner.ts";
import { regionCells } from "../policy/prompts.ts";
import { type GroupBounds, LIKELIHOOD_TERMS } from "../rewards/bench/bench-group.ts";
import { rewardPlan } from "../rewards/composer/plan.ts";
import type { RewardTerm, RolloutFacts } from "../rewards/term.ts";
import { aboutLoop } from "../rl/loops/abouts.ts";
import type { StepContext } from "../rl/step/context.ts";
import type { Group } from "../rl/step/group.ts";

/**
 * For every sampled mask of a group the likelihood of the row's caption given its mask, and its share among what the
 * partner says of the group's masks; null for a mask that covers no visual token. None for other loops.
 */
export async function likelihoodTerms(
  context: StepContext,
  { loop, row, rollouts }: Group,
): Promise<readonly (readonly RewardTerm[])[]> {
  if (aboutLoop(loop).samples !== "mask") return rollouts.map(() => []);
  const { model, config } = context;
  const { height, width } = row.rgb;
  const masks = rollouts.map(({ predictedMask }) =>
    predictedMask === null ? new Uint8Array(height * width) : decodeRle(predictedMask),
  );
  const others = rollouts.flatMap(({ captionPrime }) => captionPrime ?? []);
  const features = await context.features.get(row.summary.imageId, row.rgb);
  const asked = { features, masks, height, width };
  const options = { logitGuard: config.logitGuard, keepTiny: config.smallRegions === "force" };
  const found = await captionLikelihoods(model, context.partner, asked, row.summary.caption, others, options).finally(
    () => disposeFeatures(features),
  );
  return found.map((one) => LIKELIHOOD_TERMS.map((name) => ({ name, value: one?.[name] ?? null, weight: 0 })));
}

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
  const { height, width } = row.rgb;
  const keepTiny = config.smallRegions === "force";
  const masks = [decodeRle(greedyMask), row.mask];
  const features = await context.features.get(row.summary.imageId, row.rgb);
  const [captions = []] = await describePictures(model, context.partner, [{ features, masks, height, width }], {
    maxNewTokens: config.partnerMaxTokens,
    logitGuard: config.logitGuard,
    keepTiny,
    signal,
  }).finally(() => disposeFeatures(features));
  const facts = (predicted: Rle, caption: string | null): RolloutFacts => ({
    loop,
    reference: row.summary.caption,
    caption,
    given: row.summary.mask,
    predicted,
    confidence: null,
    truncated: false,
  });
  const asked = [facts(greedyMask, captions[0] ?? null), facts(row.summary.mask, captions[1] ?? null)];
  const [greedy, truth] = await scorer.scoreGroup(asked, rewardPlan(config), signal);
  const [own, wanted] = masks.map((mask) => String(regionCells(model, mask, height, width, keepTiny)));
  return { bounds: { greedy: greedy?.terms ?? [], truth: truth?.terms ?? [], alike: own === wanted } };
}
