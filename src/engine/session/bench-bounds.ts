/** What two masks earn that were not sampled: the policy's greedy one and the row's own, each described by the partner. */
import { decodeRle, type Rle } from "../data/mask/rle.ts";
import { disposeFeatures } from "../policy/features.ts";
import { describePictures } from "../policy/partner.ts";
import { regionCells } from "../policy/prompts.ts";
import type { GroupBounds } from "../rewards/bench/bench-group.ts";
import { rewardPlan } from "../rewards/composer/plan.ts";
import type { RolloutFacts } from "../rewards/types.ts";
import type { StepContext } from "../rl/step/context.ts";
import type { Group } from "../rl/step/group.ts";

/**
 * Bounds of a group of loop 2; nothing for a loop whose actions are captions.
 * @throws LabError("held") when a reward cannot be given
 */
export async function groupBounds(
  context: StepContext,
  { loop, row, rollouts }: Group,
): Promise<{ readonly bounds?: GroupBounds }> {
  const greedyMask = rollouts[0]?.greedyMask ?? null;
  if (loop !== 2 || greedyMask === null) return {};
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
