/** Mask policies beside those of the core: their choices and settings. */
import { flag, float, inGroup } from "../../engine/config/setting.ts";
import { DOWN, row } from "../../engine/runs/metrics/metric-rows.ts";
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

const metrics = [
  row(
    "loopK/imitation_loss",
    "Loss with the sampled masks as targets, weighted by their share of the reward",
    "Σ R_n/ΣR · (2·BCE + 0.5·Dice)",
    "",
    "",
    5,
  ),
  row(
    "loopK/pathwise_loss",
    "Negative log-likelihood of the caption given the soft mask, mean over tokens and groups",
    "-mean log p(token | soft cells)",
    "nats",
    "Falls",
    4,
    DOWN,
  ),
];

export const plugin = {
  name: "mask-policies",
  settings,
  metrics,
  maskPolicies: [
    {
      value: "embedding",
      label: "Gaussian on the [SEG] embedding",
      reads: ["embeddingSigma", ...NOISE],
      decodesEach: true,
      noise: "embeddingSigma",
    },
    { value: "pixels", label: "Independent pixels", reads: ["pixelTemperature"], noise: "pixelTemperature" },
    {
      value: "answer",
      label: "Sampled answer; the mask's log-probability joins [SEG] (VideoSEG-O3)",
      reads: ["appendSegment"],
      decodesEach: true,
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
      described: 3,
      softMask: true,
      effect: "The likelihood of the caption trains the mask; the advantage has no effect",
    },
  ],
} as const satisfies Plugin;
