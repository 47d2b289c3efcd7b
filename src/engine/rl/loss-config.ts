/** The settings table's objective group as settings of the policy loss. */
import type { LabConfig } from "../config/table.ts";
import { type LossSettings, lossSettings } from "./loss-types.ts";

/**
 * @param microBatches K: groups of one loop in an optimiser step
 * @param activeTokens counted actions of all those groups
 * @param longest L, the most actions a rollout of the loop can have: a caption's token limit, T of a mask policy
 * @throws LabError("bad-config") naming the first setting that no loss can be computed with
 */
export function lossSettingsOf(
  config: LabConfig,
  microBatches: number,
  activeTokens: number,
  longest: number,
): LossSettings {
  const notes = config.objective === "notes";
  return lossSettings(notes ? "notes" : config.lossType, {
    epsLow: config.epsilonLow,
    epsHigh: config.epsilonHigh,
    delta: config.delta === 0 ? null : config.delta,
    beta: config.beta,
    entropyCoefficient: config.entropyCoefficient,
    maxCompletionLength: longest,
    accumulation: microBatches,
    activeTokensTotal: activeTokens,
    ...(config.importanceLevel === "sequence" ? { level: "sequence" as const } : {}),
    ...(notes
      ? {}
      : { klEstimator: config.klEstimator, klClamp: config.klClamp ? { difference: 20, value: 10 } : null }),
  });
}

/** A reference pass is needed: KL has weight, or the ratio itself is taken against the reference. */
export function needsReference(config: LabConfig): boolean {
  return config.beta > 0 || config.objective === "notes";
}
