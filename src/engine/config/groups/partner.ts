/** Settings of the group "partner": the moving average of the policy, and its captions in loop 2. */
import { choice, flag, float, inGroup, int, oneOf } from "../setting.ts";

export const PARTNER_SETTINGS = inGroup("partner", {
  emaDecay: float("EMA decay", 0.999, [0, 1, 0.001], {
    help: "Partner ← decay · partner + (1 − decay) · policy after every optimiser step; 0.999 moves the partner 10 % in 100 steps",
    main: true,
  }),
  emaRamp: flag("EMA ramp", false, {
    help: "Uses the decay min(decay, (1 + t) / (10 + t)) at step t, so that the partner follows the policy in short runs",
  }),
  partnerScope: oneOf("Partner follows", "policy", {
    choices: [choice("policy", "All trained weights"), choice("loop", "The weights of its own loop")],
    help: "“The weights of its own loop” gives every loop a partner whose other weights stay those of the start, so no loop sees in its reward what another loop learned. Evaluations use the moving average of all weights",
  }),
  partnerTemperature: float("Partner temperature", 0, [0, 10, 0.1], {
    help: "Loop 2: temperature of the partner's captions; 0 decodes greedily. Held-out rows are always decoded greedily",
  }),
  partnerSamples: int("Captions per mask", 4, [1, 64], {
    help: "Loop 2: captions that the partner samples per mask if its temperature is above 0. The reward is their mean score, so it depends on all likely captions, not only on the greedy one",
  }),
});
