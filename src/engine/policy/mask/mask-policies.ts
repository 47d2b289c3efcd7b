/** The mask policy that the settings name. */
import type { LabConfig } from "../../config/table.ts";
import { samplerSettings } from "../decode/sampler.ts";
import { answerPolicy } from "./answer-policy.ts";
import { candidatePolicy } from "./candidate-policy.ts";
import { embeddingPolicy } from "./embedding-policy.ts";
import { fieldPolicy } from "./field-policy.ts";
import { imitationPolicy } from "./imitation-policy.ts";
import type { MaskPolicy } from "./mask-policy.ts";
import { pathwisePolicy } from "./pathwise-policy.ts";
import { pixelPolicy } from "./pixel-policy.ts";
import { proposalPolicy } from "./proposal-policy.ts";

export function maskPolicyOf(config: LabConfig): MaskPolicy {
  const { noiseUnit: unit, antitheticNoise: antithetic } = config;
  switch (config.maskPolicy) {
    case "candidates":
      return candidatePolicy(config.candidateTemperature);
    case "field":
      return fieldPolicy(config.fieldGrid, { sigma: config.fieldSigma, unit, antithetic }, config.fieldBand);
    case "embedding":
      return embeddingPolicy({ sigma: config.embeddingSigma, unit, antithetic });
    case "proposals":
      return proposalPolicy({
        noise: { sigma: config.embeddingSigma, unit, antithetic },
        overlap: config.proposalOverlap,
        phrases: config.proposalPhrases,
        points: config.proposalPoints,
        temperature: config.proposalTemperature,
        candidateTemperature: config.candidateTemperature,
      });
    case "pixels":
      return pixelPolicy(config.pixelTemperature);
    case "answer":
      return answerPolicy(samplerSettings(config), config.maxCompletionLength, config.appendSegment);
    case "pathwise":
      return pathwisePolicy(config.candidateTemperature);
    case "imitation":
      return imitationPolicy(config.fieldGrid, { sigma: config.fieldSigma, unit, antithetic }, config.fieldBand);
  }
}
