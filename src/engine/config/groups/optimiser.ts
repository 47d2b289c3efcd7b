/** Settings of the group "optimiser": AdamW and its schedule. */
import { choice, flag, float, inGroup, int, oneOf } from "../setting.ts";

export const OPTIMISER_SETTINGS = inGroup("optimiser", {
  learningRate: float("Learning rate", 1e-4, [0, 1, 1e-5], {
    healthy: [1e-6, 1e-4],
    trl: true,
    free: true,
    help: "Peak learning rate of AdamW. Use about 1e-5 for 1B and larger; the pocket model needs more",
    main: true,
  }),
  projectorRateFactor: float("Projector rate", 1, [0, 10, 0.05], {
    unit: "× learning rate",
    free: true,
    help: "Learning-rate multiplier for the projector. If it is too high, the model confuses object categories",
  }),
  maskRateFactor: float("Mask-module rate", 1, [0, 10, 0.05], {
    unit: "× learning rate",
    free: true,
    help: "Learning-rate multiplier for text_hidden_fcs, prompt encoder and mask decoder. Keep it low: their gradient in loop 2 is noisy",
  }),
  lrSchedulerType: oneOf("Schedule", "cosine", {
    trl: true,
    choices: [
      choice("cosine", "Cosine"),
      choice("linear-then-cosine", "Linear warm-up, then cosine (torch)"),
      choice("constant", "Constant"),
    ],
    free: true,
    help: "Learning-rate schedule after warm-up",
  }),
  warmupSteps: int("Warm-up", 1, [0, 100000], {
    unit: "steps",
    trl: true,
    free: true,
    help: "Steps of linear warm-up. The first step has rate 0 and only fills Adam's moments; with linear-then-cosine its rate is the peak divided by this number",
  }),
  minLrRate: float("Final rate", 0, [0, 1, 0.05], {
    unit: "× learning rate",
    trl: "lr_scheduler_kwargs.min_lr_rate",
    free: true,
    help: "Rate at which the cosine ends, as a share of the peak; 0.1 is common in long runs",
  }),
  weightDecay: float("Weight decay", 0, [0, 1, 0.01], {
    trl: true,
    free: true,
    help: "Decoupled weight decay of matrices. Biases and norms are not decayed",
  }),
  adamBeta1: float("Adam β1", 0.9, [0, 0.9999, 0.01], {
    trl: true,
    free: true,
    help: "Decay of the first moment",
  }),
  adamBeta2: float("Adam β2", 0.999, [0, 0.99999, 0.001], {
    trl: true,
    free: true,
    help: "Decay of the second moment",
  }),
  adamEpsilon: float("Adam ε", 1e-8, [1e-12, 0.1, 1e-8], {
    trl: true,
    free: true,
    help: "Added to the bias-corrected root of the second moment",
  }),
  maxGradNorm: float("Gradient clip", 1, [0, 1000, 0.1], {
    healthy: [0.5, 1],
    trl: true,
    help: "Maximum global gradient norm over all trainable tensors; 0 is off",
  }),
  clipScope: oneOf("Clip scope", "loop", {
    choices: [choice("loop", "Each loop's gradient"), choice("sum", "The sum of the loops")],
    help: "Clips each loop's gradient before the sum, so that neither loop outweighs the other, or clips the sum once",
  }),
  gradientReport: int("Gradient report interval", 0, [0, 100000], {
    unit: "steps",
    help: "Logs each loop's signal-to-noise, the gradient norm of each reward term, and its share of the update. Such a step processes its groups one by one and needs one more backward pass per term; 0 is off. 10 is enough to monitor a run",
  }),
  haltOnNan: flag("Stop on NaN", false, {
    free: true,
    help: "Stops the run when a gradient is not finite. If off, only that update is skipped",
  }),
});

/** Settings of the group "partner": the moving average of the policy, and its captions in loop 2. */
export const PARTNER_SETTINGS = inGroup("partner", {
  emaDecay: float("EMA decay", 0.999, [0, 1, 0.001], {
    free: true,
    help: "The partner is the moving average (EMA) of the policy: after every optimiser step, partner ← decay · partner + (1 − decay) · policy; 0.999 moves it 10 % in 100 steps",
    main: true,
  }),
  emaRamp: flag("EMA ramp", false, {
    free: true,
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
