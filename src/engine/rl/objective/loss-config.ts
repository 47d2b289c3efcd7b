/** Converts the objective settings to settings of the policy loss. */
import type { LabConfig } from "../../config/table.ts";
import { type LossSettings, lossSettings } from "./loss-types.ts";

/**
 * @param entropyCoefficient weight of the entropy bonus in this update
 * @param microBatches K: groups of one loop in an optimiser step
 * @param activeTokens counted actions of all those groups
 * @param longest L, the maximum number of actions of a rollout: a caption's token limit, or T of a mask policy
 * @throws LabError("bad-config") naming the first invalid setting
 */
export function lossSettingsOf(
  config: LabConfig,
  entropyCoefficient: number,
  microBatches: number,
  activeTokens: number,
  longest: number,
): LossSettings {
  const notes = config.objective === "notes";
  return lossSettings(notes ? "notes" : config.lossType, {
    epsLow: config.epsilonLow,
    epsHigh: config.epsilonHigh,
    delta: config.delta === 0 ? null : config.delta,
    // As in TRL, cispo's cap is the upper ε itself.
    weightMax: config.epsilonHigh,
    sapo: { positive: config.sapoTemperaturePositive, negative: config.sapoTemperatureNegative },
    vespo: {
      kPositive: config.vespoKPositive,
      lambdaPositive: config.vespoLambdaPositive,
      kNegative: config.vespoKNegative,
      lambdaNegative: config.vespoLambdaNegative,
    },
    beta: config.beta,
    biasCorrectedKl: config.biasCorrectedKl,
    entropyCoefficient,
    topEntropyQuantile: config.topEntropyQuantile,
    offPolicyThreshold: config.offPolicyThreshold === 0 ? null : config.offPolicyThreshold,
    maxCompletionLength: longest,
    accumulation: microBatches,
    activeTokensTotal: activeTokens,
    ...(config.importanceLevel === "sequence" ? { level: "sequence" as const } : {}),
    ...(notes
      ? {}
      : { klEstimator: config.klEstimator, klClamp: config.klClamp ? { difference: 20, value: 10 } : null }),
  });
}
