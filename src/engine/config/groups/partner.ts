/** Settings of the group "partner": the moving average of the policy, and what it is asked in loop 2. */
import type { Setting } from "../setting.ts";

export const PARTNER_SETTINGS = {
  emaDecay: {
    group: "partner",
    kind: "float",
    label: "EMA decay",
    default: 0.999,
    min: 0,
    max: 1,
    step: 0.001,
    help: "Partner ← decay · partner + (1 − decay) · policy after every optimiser step; 0.999 moves the partner 10 % in 100 steps",
  },
  emaRamp: {
    group: "partner",
    kind: "flag",
    label: "EMA ramp",
    default: false,
    help: "Uses min(decay, (1 + t) / (10 + t)), so that the partner follows the policy in short runs",
    advanced: true,
  },
  partnerTemperature: {
    group: "partner",
    kind: "float",
    label: "Partner temperature",
    default: 0,
    min: 0,
    max: 10,
    step: 0.1,
    help: "Loop 2: temperature at which the partner describes a mask; 0 takes its likeliest caption. Held-out rows always take the likeliest",
    advanced: true,
  },
  partnerSamples: {
    group: "partner",
    kind: "int",
    label: "Captions per mask",
    default: 4,
    min: 1,
    max: 64,
    step: 1,
    help: "Loop 2: captions that the partner samples of each mask where its temperature is above 0; the reward is their mean, so that it changes with the probability of a caption and not only when another one becomes the likeliest",
    advanced: true,
  },
} as const satisfies Record<string, Setting>;
