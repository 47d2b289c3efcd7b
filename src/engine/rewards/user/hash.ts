/** Identifies a custom reward by the hash of its source. */
import { sha256Hex } from "../../bytes/hash.ts";
import type { LabConfig } from "../../config/table.ts";
import { LabError } from "../../errors.ts";

/** SHA-256 of the source in hexadecimal; the empty source has an empty hash. */
export async function rewardHash(code: string): Promise<string> {
  return code.trim() === "" ? "" : sha256Hex(new TextEncoder().encode(code));
}

// Ties a configuration to the source of its custom reward.

/**
 * The configuration with the hash of its custom reward.
 * @throws LabError("bad-config") when it names another hash, because the source was changed later
 */
export async function sealReward(config: LabConfig): Promise<LabConfig> {
  const hash = await rewardHash(config.userReward);
  if (config.userRewardHash !== "" && config.userRewardHash !== hash) {
    const found = hash === "" ? "there is none" : `its source has ${hash.slice(0, 12)}…`;
    throw new LabError(
      "bad-config",
      `The settings name the custom reward ${config.userRewardHash.slice(0, 12)}…, but ${found}; nothing was started`,
      { subject: "userRewardHash" },
    );
  }
  return { ...config, userRewardHash: hash };
}
