/** The mask policy that the settings name. */

import { PLUGIN_MASK_POLICIES } from "../../../plugins/mask-policies.ts";
import type { LabConfig } from "../../config/table.ts";
import { candidatePolicy } from "./candidate-policy.ts";
import { fieldPolicy } from "./field-policy.ts";
import { noiseOf } from "./gaussian-actions.ts";
import type { MaskPolicy } from "./mask-policy.ts";
import { proposalPolicy } from "./proposal-policy.ts";

const POLICIES: Readonly<Record<LabConfig["maskPolicy"], (config: LabConfig) => MaskPolicy>> = {
  ...PLUGIN_MASK_POLICIES,
  candidates: (config) => candidatePolicy(config.candidateTemperature),
  field: (config) => fieldPolicy(config.fieldGrid, noiseOf(config, config.fieldSigma), config.fieldBand),
  proposals: (config) =>
    proposalPolicy({
      noise: noiseOf(config, config.embeddingSigma),
      overlap: config.proposalOverlap,
      phrases: config.proposalPhrases,
      points: config.proposalPoints,
      temperature: config.proposalTemperature,
      candidateTemperature: config.candidateTemperature,
    }),
};

export const maskPolicyOf = (config: LabConfig): MaskPolicy => POLICIES[config.maskPolicy](config);
