/** Answers of the run's starting weights for the mask decoder's anchor and for the reference. */
import { needsReference } from "../../../config/derived.ts";
import { ONE_PICTURE, viewed } from "../../../data/film-strip.ts";
import { rowSize } from "../../../data/training-row.ts";
import { nearestMask } from "../../../model/preprocess/region-grid.ts";
import { type MaskAnchor, maskAnchor, wantsAnchor } from "../../../policy/mask/mask-policy.ts";
import { type PhraseOutput, type PhraseOutputs, pacedPhraseOutputs } from "../../../policy/phrase-output.ts";
import { readLogProbs } from "../../step/backward.ts";
import type { StepContext } from "../../step/context.ts";
import { type ActedMasks, asked, type Pictured } from "./sample-masks.ts";

/** Decode the masks before the tidy, so that they outlive it. */
export function decodeFor(outputs: PhraseOutputs, items: readonly (Pictured & ActedMasks)[], anchored: boolean): void {
  if (anchored || items.some(({ actions }) => actions.readsMasks || actions.imitate !== undefined)) {
    outputs.all[0]?.decoded();
  }
}

export interface StartAnswer {
  readonly anchor: MaskAnchor | null;
  readonly startLogps: Float32Array | null;
}

/** Adds to `answers` the answers of the run's starting weights for anchor and reference, computed in one pass. */
export async function askStart(
  context: StepContext,
  items: readonly (Pictured & ActedMasks)[],
  answers: StartAnswer[],
): Promise<void> {
  const { model, config } = context;
  const anchored = wantsAnchor(config);
  const referred = needsReference(config) && config.reference === "start" && !config.syncRefModel;
  if (!anchored && !referred) {
    answers.push(...items.map(() => ({ anchor: null, startLogps: null })));
    return;
  }
  const outputs = await pacedPhraseOutputs(model, context.start, items.map(asked), context.signal);
  try {
    decodeFor(outputs, items, anchored);
    const startLogps = referred
      ? await readLogProbs(() => items.map(({ actions }, at) => actions.logProbs(outputs.all[at] as PhraseOutput)))
      : [];
    for (const [at, { row }] of items.entries()) {
      const { height, width, view = ONE_PICTURE } = rowSize(row);
      const part = viewed(row.mask, view);
      const target = (rows: number, side: number) =>
        Float32Array.from(nearestMask(part, (height / view.total) * view.frames.length, width, rows, side));
      const anchor = anchored ? await maskAnchor(config, outputs.all[at] as PhraseOutput, target) : null;
      answers.push({ anchor, startLogps: startLogps[at] ?? null });
    }
  } finally {
    outputs.dispose();
  }
}
