/** Settings of the group "mask": the sampling point of loop 2. */
import { PLUGINS, type PluginMaskPolicy } from "../../../plugins/list.ts";
import { added, type MaskPolicyAbout } from "../../../plugins/plugin.ts";
import { choice, flag, float, inGroup, int, oneOf } from "../setting.ts";

const NOISE = ["noiseUnit", "antitheticNoise"];

const CORE = [
  {
    ...choice("candidates", "Choice among SAM2's candidates"),
    reads: ["candidateTemperature"],
    described: 3,
    noise: "candidateTemperature",
  },
  {
    ...choice("field", "Gaussian field on a coarse grid"),
    reads: ["fieldGrid", "fieldSigma", "fieldBand", ...NOISE],
    noise: "fieldSigma",
  },
  {
    ...choice("proposals", "Choice among distinct proposals"),
    reads: [
      ...["candidateTemperature", "embeddingSigma", ...NOISE],
      ...["proposalTemperature", "proposalOverlap", "proposalPhrases", "proposalPoints"],
    ],
    noise: "proposalTemperature",
  },
] satisfies readonly MaskPolicyAbout[];

/** The mask policies, in the order of the form. */
export const MASK_POLICIES: readonly (MaskPolicyAbout & {
  readonly value: (typeof CORE)[number]["value"] | PluginMaskPolicy["value"];
})[] = [...CORE, ...(added(PLUGINS, "maskPolicies").flat() as PluginMaskPolicy[])];

/** What the settings say about the mask policy that they choose. */
export function aboutMaskPolicy(config: { readonly maskPolicy: string }): MaskPolicyAbout {
  return MASK_POLICIES.find(({ value }) => value === config.maskPolicy) as MaskPolicyAbout;
}

export const MASK_SETTINGS = inGroup("mask", {
  maskPolicy: oneOf("Mask policy", "candidates", {
    choices: MASK_POLICIES,
    help: "Point of the model at which loop 2 samples. Only the modules before that point receive a policy gradient",
    main: true,
  }),
  candidateTemperature: float("Candidate temperature", 0.1, [0.001, 10, 0.01], {
    help: "Temperature of the softmax over predicted IoU. Lower is greedier",
  }),
  proposalTemperature: float("Proposal temperature", 4, [0.01, 1000, 0.5], {
    unit: "logits",
    help: "Temperature of the choice among proposals, whose score is the policy's mean logit over a typical mask. A higher value samples other objects more often",
  }),
  proposalOverlap: float("Proposal overlap", 0.5, [0, 1, 0.05], {
    unit: "IoU",
    help: "Masks above this IoU count as one proposal. A lower value keeps fewer, more different proposals",
  }),
  proposalPhrases: flag("Proposals from other phrases", false, {
    help: "Also proposes the policy's masks for the captions of the picture's other objects, which noise alone may not reach",
  }),
  proposalPoints: int("Proposals from clicks", 0, [0, 8], {
    unit: "points per side",
    help: "Also proposes SAM2's masks for clicks on a grid, without the phrase. Needs trained point prompts, as in published checkpoints; the pocket model's are untrained",
  }),
  fieldGrid: int("Field grid", 8, [1, 64], {
    unit: "cells per side",
    help: "Side of the coarse grid whose mean logits receive noise",
  }),
  fieldSigma: float("Field noise σ", 0.75, [0.01, 20, 0.05], {
    help: "Noise on the cells of the field, in the noise unit",
  }),
  fieldBand: float("Uncertain cells", 0, [0, 1000, 0.5], {
    unit: "logits",
    help: "Only cells of the field whose mean logit is closer to 0 than this get noise; 0 adds noise to all. 1 to 3 leaves clear objects and background unchanged",
  }),
  embeddingSigma: float("Embedding noise σ", 0.5, [0.01, 20, 0.05], {
    help: "Noise on the [SEG] embedding, in the noise unit. Proposals need strong noise, about 2 in the relative unit",
  }),
  noiseUnit: oneOf("Unit of the noise", "relative", {
    choices: [
      choice("relative", "Standard deviation of the logits or the embedding"),
      choice("absolute", "Logits, or the unit of the embedding"),
    ],
    help: "Relative noise grows with the logits, so the spread of samples stays the same when the policy becomes more certain. With absolute noise (0.3 to 0.5 logits for the field) the spread shrinks",
  }),
  antitheticNoise: flag("Antithetic pairs", false, {
    help: "Every second rollout of the field or the embedding uses the negated noise of the previous one. The gradient stays unbiased and varies less where the reward is nearly linear in the noise",
  }),
  loop2Reach: oneOf("Loop 2 trains", "all", {
    choices: [
      choice("all", "Everything before the sampling point"),
      choice("masks", "Only text_hidden_fcs, prompt encoder and mask decoder"),
    ],
    help: "Selects what loop 2 trains. Adam normalises gradients, so loop 2's noise can move the language adapters as fast as loop 1's signal; the second choice prevents that",
  }),
  maskAnchor: oneOf("Mask anchor", "start", {
    choices: [
      choice("start", "Masks of the starting weights (KL per pixel)"),
      choice("truth", "The region's mask (cross-entropy and Dice)"),
      choice("none", "None"),
    ],
    help: "Keeps the mask decoder close to a target. Loop 2's reward barely depends on the exact shape of a mask, so without an anchor the masks drift",
  }),
  maskAnchorWeight: float("Anchor weight", 2, [0, 1000, 0.5], {
    help: "Weight of the anchor in loop 2's loss",
  }),
});
