/** The weights of a run as its passes see them. */
import type { LabConfig } from "../config/table.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { type ParameterSet, type Weights, weightsView } from "../model/weights.ts";

/**
 * Trainable tensors in front of the model's frozen ones, computed with as the settings say.
 * @param loraScale alpha / r
 */
export function runWeights(
  model: Sa2vaModel,
  trainable: ParameterSet,
  loraScale: number,
  config: Pick<LabConfig, "halfProducts">,
): Weights {
  return weightsView(model.frozen, trainable, loraScale, config.halfProducts ? "f16" : "f32");
}
