/**
 * Another checkpoint as the captioner that computes likelihoods: an adapter of the run's model, which training does not
 * change.
 */
import { activeLoops, samples } from "../../../config/derived.ts";
import { aboutMaskPolicy } from "../../../config/groups/mask.ts";
import { needsLikelihood } from "../../../config/groups/reward-weights.ts";
import type { LabConfig } from "../../../config/table.ts";
import { LabError } from "../../../errors.ts";
import { tf } from "../../../gpu/tf.ts";
import type { StartAdapter } from "../../../model/adapter/start-adapter.ts";
import type { Sa2vaModel } from "../../../model/sa2va.ts";
import type { ParameterSet, Weights } from "../../../model/weights/weights.ts";
import { NO_CAPTIONER } from "../../../policy/caption-likelihood.ts";
import { runWeights } from "../../step/step.ts";

/** Whether a reward or mask policy of the settings uses the other checkpoint. */
export function asksCaptioner(config: LabConfig): boolean {
  const softMask = aboutMaskPolicy(config).softMask === true && samples(config, "mask");
  return (
    config.likelihoodJudge === "adapter" &&
    (softMask || activeLoops(config).some((loop) => needsLikelihood(config, loop)))
  );
}

/**
 * The other checkpoint of a run with these settings; undefined if it uses none.
 * @throws LabError("bad-config") if it uses one and none is open
 */
export function requireCaptioner(config: LabConfig, open: StartAdapter | undefined): StartAdapter | undefined {
  if (!asksCaptioner(config)) return undefined;
  if (open !== undefined) return open;
  throw new LabError("bad-config", NO_CAPTIONER, { subject: "likelihoodJudge" });
}

export interface Captioner {
  readonly weights: Weights;
  /** Tensors of the adapter, owned by the caller; all others are the model's. */
  readonly tensors: ParameterSet;
}

/** The adapter on the loaded model; its rank and scale may differ from the run's. */
export function adapterCaptioner(model: Sa2vaModel, adapter: StartAdapter, config: LabConfig): Captioner {
  const tensors = Object.fromEntries(
    [...adapter.tensors].map(([name, { values, shape }]) => [name, tf.tensor(values, [...shape])]),
  );
  const set: ParameterSet = { ...Object.fromEntries(model.base), ...tensors };
  return { weights: runWeights(model, set, adapter.scale, config), tensors };
}
