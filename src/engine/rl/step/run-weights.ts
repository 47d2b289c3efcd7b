/** The weights that the passes of a run use. */
import type { LabConfig } from "../../config/table.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import { type AdapterDropout, type ParameterSet, type Weights, weightsView } from "../../model/weights/weights.ts";

/**
 * The model's weights with trainable tensors taking precedence, in the precision and form of the settings.
 * @param loraScale alpha / r
 * @param key random address of a training pass, in which `loraDropout` applies to adapters; absent for other passes,
 * which have no dropout
 */
export function runWeights(
  model: Sa2vaModel,
  trainable: ParameterSet | (() => ParameterSet),
  loraScale: number,
  config: Pick<LabConfig, "halfProducts" | "loraDropout">,
  key?: AdapterDropout["key"],
): Weights {
  const { halfProducts, loraDropout: share } = config;
  const dropout = key === undefined || share === 0 ? undefined : { share, key };
  // Parts that could train and do not are read as published.
  const published = { get: (name: string) => model.base.get(name) ?? model.frozen.get(name) };
  return weightsView(published, trainable, loraScale, halfProducts ? "f16" : "f32", dropout);
}
