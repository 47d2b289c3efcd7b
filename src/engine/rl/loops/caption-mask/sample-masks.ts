/** Masks that the mask policy samples for captions of rows, as training and evaluations use them. */
import type { TrainingRow } from "../../../data/training-row.ts";
import { rowSize, stripFrames } from "../../../data/training-row.ts";
import { keepPace } from "../../../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../gpu/tf.ts";
import { type FoundMask, readMasks } from "../../../model/sam2/postprocess.ts";
import type { MaskLikelihood } from "../../../policy/caption-likelihood.ts";
import type { ImageFeatures } from "../../../policy/features.ts";
import { maskPolicyOf } from "../../../policy/mask/mask-policies.ts";
import type { MaskActions, MaskDraws } from "../../../policy/mask/mask-policy.ts";
import { type PhraseAbout, type PhraseOutput, pacedPhraseOutputs } from "../../../policy/phrase-output.ts";
import type { RolloutFacts } from "../../../rewards/term.ts";
import type { Step } from "../../step/step.ts";

/** A row with its picture on the GPU. */
export interface Pictured {
  readonly row: TrainingRow;
  readonly features: ImageFeatures;
}

/** Masks of one row at image size. */
export interface ActedMasks {
  /** The caller disposes it. */
  readonly actions: MaskActions;
  readonly masks: readonly FoundMask[];
  /** The mask without sampling. */
  readonly greedy: FoundMask;
}

export function asked({ features, row }: Pictured): PhraseAbout {
  return { features, phrase: row.summary.caption, others: row.others ?? [] };
}

/**
 * Samples the masks of a few rows in one batch. @param drawsOf random draws of the row at a place of the list
 * @throws LabError("cancelled") when the signal is aborted
 */
export async function sampleMasks(
  { model, config, policy, signal }: Step,
  pictures: readonly Pictured[],
  count: number,
  drawsOf: (at: number) => MaskDraws,
): Promise<ActedMasks[]> {
  const outputs = await pacedPhraseOutputs(model, policy, pictures.map(asked), signal);
  const fresh: MaskActions[] = [];
  const maps: Tensor[] = [];
  try {
    for (const at of pictures.keys()) {
      await keepPace(signal);
      const actions = await maskPolicyOf(config)(outputs.all[at] as PhraseOutput, count, drawsOf(at));
      fresh.push(actions);
      maps.push(actions.logits, actions.greedy);
    }
    const sized = pictures.flatMap(({ row }, at) =>
      maps.slice(2 * at, 2 * at + 2).map((lowRes) => ({ lowRes, ...rowSize(row) })),
    );
    const found = await readMasks(sized, model.config.sam2.imageSize);
    return fresh.map((actions, at) => {
      const [masks, [greedy]] = found.slice(2 * at) as [FoundMask[], [FoundMask]];
      return { actions, masks, greedy };
    });
  } catch (thrown) {
    for (const actions of fresh) actions.dispose();
    throw thrown;
  } finally {
    tf.dispose(maps);
    outputs.dispose();
  }
}

/** @param text the partner's caption of the mask; null where it covers no visual token */
export function factsOf(
  row: TrainingRow,
  predicted: RolloutFacts["predicted"],
  { confidence }: Pick<FoundMask, "confidence">,
  text: string | null,
  measured: { readonly likelihood?: MaskLikelihood | null } & Partial<Pick<RolloutFacts, "segments" | "truncated">>,
): RolloutFacts {
  const { summary } = row;
  return {
    loop: 2,
    reference: summary.caption,
    caption: text,
    given: summary.mask,
    predicted,
    ...stripFrames(row),
    // An empty mask has no pixels inside, so its confidence is 0.
    confidence: confidence ?? 0,
    truncated: false,
    ...measured,
  };
}

/** The form of a sampled answer; empty where the answer is given. */
export function formOf(
  { answers }: MaskActions,
  rollout: number,
): Partial<Pick<RolloutFacts, "segments" | "truncated">> {
  const own = answers?.[rollout];
  return own === undefined ? {} : { segments: own.segments, truncated: own.truncated };
}
