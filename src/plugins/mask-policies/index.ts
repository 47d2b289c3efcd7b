/** Mask policies beside those of the core: their choices and settings. */
import { flag, float, inGroup } from "../../engine/config/setting.ts";
import type { Plugin } from "../plugin.ts";

const NOISE = ["noiseUnit", "antitheticNoise"] as const;

const settings = inGroup("mask", {
  appendSegment: flag("Append [SEG]", true, {
    help: "Sampled answer: a text that ends without [SEG] gets one in place of its end token, as in a forced answer. If off, such an answer has no mask",
  }),
  pixelTemperature: float("Pixel temperature", 1, [0.01, 10, 0.1], {
    help: "Divides the logits before each pixel is sampled, or before the soft cells of the pathwise gradient (with 4, objects that the mask misses get a gradient)",
  }),
});

export const plugin = {
  name: "mask-policies",
  settings,
  maskPolicies: [
    {
      value: "embedding",
      label: "Gaussian on the [SEG] embedding",
      reads: ["embeddingSigma", ...NOISE],
      noise: "embeddingSigma",
    },
    { value: "pixels", label: "Independent pixels", reads: ["pixelTemperature"], noise: "pixelTemperature" },
    {
      value: "answer",
      label: "Sampled answer; the mask's log-probability joins [SEG] (VideoSEG-O3)",
      reads: ["appendSegment"],
    },
    {
      value: "imitation",
      label: "No policy gradient: imitate masks, weighted by reward",
      reads: ["fieldGrid", "fieldSigma", "fieldBand", ...NOISE],
      effect: "Imitation trains the model towards this mask, weighted by its share of the group's reward",
    },
    {
      value: "pathwise",
      label: "No policy gradient: likelihood of the caption through the soft mask",
      reads: ["candidateTemperature", "pixelTemperature"],
      effect: "The likelihood of the caption trains the mask; the advantage has no effect",
    },
  ],
} as const satisfies Plugin;
