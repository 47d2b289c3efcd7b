/** Settings of the group "partner": the moving average of the policy. */
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
} as const satisfies Record<string, Setting>;
