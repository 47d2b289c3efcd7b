/** Consents of a command line: the judges and custom rewards that it names or allows, and the origin of the key. */
import { hasWeight } from "../../../src/engine/config/groups/reward-weights.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { badInput, LabError } from "../../../src/engine/errors.ts";
import { type Consent, openQuestions, originOf, reachOf, sourceLines } from "../../../src/engine/rewards/consent.ts";
import { rewardHash } from "../../../src/engine/rewards/user/hash.ts";
import type { Parsed } from "../arguments.ts";

export const CONSENT_OPTIONS = {
  "allow-judge": { takes: 1 },
  "allow-custom-reward": { takes: 0 },
} as const;

/**
 * Environment variable with the judge's key; there is no option for it, because command lines are visible and logged.
 */
export const KEY_VARIABLE = "JUDGE_API_KEY";
/**
 * Environment variable with the only origin that the key is for; without it, the key is for the judges that the command
 * line names.
 */
export const KEY_ORIGIN_VARIABLE = "JUDGE_API_KEY_ORIGIN";

export interface NodeConsent extends Consent {
  /** The key for a judge at an origin, "" if it is for another one. */
  readonly key: (origin: string) => string;
}

/** @throws LabError("bad-input") for an invalid address */
export async function commandLineConsent(parsed: Parsed, environment: NodeJS.ProcessEnv): Promise<NodeConsent> {
  const written = (name: string): readonly string[] =>
    (parsed.get("set") ?? []).flatMap((word) => (word.startsWith(`${name}=`) ? [word.slice(name.length + 1)] : []));
  const named = [...(parsed.get("judge") ?? []), ...written("judgeUrl")].flatMap((url) => originOf(url) ?? []);
  const allowed = (parsed.get("allow-judge") ?? []).map((url) => requireOrigin(url, "--allow-judge"));
  const judges = new Set([...named, ...allowed]);
  const rewards = new Set(await Promise.all(written("userReward").map(rewardHash)));
  const keyOrigin = environment[KEY_ORIGIN_VARIABLE] ?? "";
  const keyOrigins = new Set(keyOrigin === "" ? named : [requireOrigin(keyOrigin, KEY_ORIGIN_VARIABLE)]);
  const key = environment[KEY_VARIABLE] ?? "";
  return {
    judge: (place) => judges.has(place),
    reward: (hash) => parsed.has("allow-custom-reward") || rewards.has(hash),
    key: (origin) => (keyOrigins.has(origin) ? key : ""),
  };
}

/**
 * Refuses settings that need consent which the command line does not give, before anything is sent or run; the source
 * of a custom reward is printed first.
 * @param from the file or run the settings came from
 * @throws LabError("bad-config") naming the option that allows it
 */
export async function requireConsent(
  config: LabConfig,
  consent: Consent,
  from: string,
  say: (line: string) => void,
): Promise<void> {
  const { judge, reward } = openQuestions(await reachOf(config), consent);
  if (judge !== null && config.judge !== "off") {
    throw new LabError(
      "bad-config",
      `${from} names a judge at ${judge}, which would get the captions; nothing was sent, allow it with --allow-judge ${judge}`,
      { subject: "judgeUrl" },
    );
  }
  if (reward === null || !hasWeight(config, "user")) return;
  const lines = sourceLines(reward.code);
  for (const line of lines.slice(0, SHOWN_LINES)) say(`  ${line}`);
  if (lines.length > SHOWN_LINES) say(`  and ${lines.length - SHOWN_LINES} lines more`);
  throw new LabError(
    "bad-config",
    `${from} contains the custom reward above (${reward.hash.slice(0, 12)}…); it was not run, allow it with --allow-custom-reward`,
    { subject: "userReward" },
  );
}

const SHOWN_LINES = 60;

function requireOrigin(address: string, where: string): string {
  const origin = originOf(address);
  if (origin !== null) return origin;
  throw badInput(`${where} takes a judge's address such as https://judge.example, not "${address}"`, where);
}
