/** The weights of a run as its passes see them. */
import type { LabConfig } from "../../config/table.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import { type AdapterDropout, type ParameterSet, type Weights, weightsView } from "../../model/weights/weights.ts";

/**
 * Trainable tensors in front of the model's frozen ones, computed with as the settings say.
 * @param loraScale alpha / r
 * @param key address of a pass that trains, whose adapters drop what `loraDropout` says; no other pass drops anything
 */
export function runWeights(
  model: Sa2vaModel,
  trainable: ParameterSet,
  loraScale: number,
  config: Pick<LabConfig, "halfProducts" | "loraDropout">,
  key?: AdapterDropout["key"],
): Weights {
  const { halfProducts, loraDropout: share } = config;
  const dropout = key === undefined || share === 0 ? undefined : { share, key };
  return weightsView(model.frozen, trainable, loraScale, halfProducts ? "f16" : "f32", dropout);
}
