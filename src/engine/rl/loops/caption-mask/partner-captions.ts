/** The partner's captions of the masks of loop 2: the likeliest one of each, or a few sampled ones. */
import { type DescribedPicture, describePictures } from "../../../policy/partner.ts";
import { type StepContext, tokenKey } from "../../step/context.ts";

/** @returns [picture][draw][mask]; null for a mask that covers no visual token */
export async function partnerCaptions(
  context: StepContext,
  pictures: readonly DescribedPicture[],
): Promise<readonly (readonly (readonly (string | null)[])[])[]> {
  const { model, config, partner, signal } = context;
  const { partnerTemperature: temperature } = config;
  const draws = temperature === 0 ? 1 : config.partnerSamples;
  const repeated = pictures.map((picture) => ({
    ...picture,
    masks: Array.from({ length: draws }, () => picture.masks).flat(),
  }));
  const captions = await describePictures(model, partner, repeated, {
    maxCompletionLength: config.partnerMaxTokens,
    logitGuard: config.logitGuard,
    keepTiny: config.smallRegions === "force",
    groupsAtOnce: config.groupsAtOnce,
    signal,
    ...(temperature === 0
      ? {}
      : { sampling: { temperature, key: (picture: number, at: number) => tokenKey(context, 2, picture, at) } }),
  });
  return pictures.map(({ masks }, picture) =>
    Array.from({ length: draws }, (_, draw) =>
      (captions[picture] as (string | null)[]).slice(draw * masks.length, (draw + 1) * masks.length),
    ),
  );
}
