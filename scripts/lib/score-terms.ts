/** What a configuration's rewards make of pairs: captions as loop 2, masks as loop 1, each pair its own group. */
import { requireConfig } from "../../src/engine/config/parse.ts";
import { rewardPlan } from "../../src/engine/rewards/composer/plan.ts";
import type { Consent } from "../../src/engine/rewards/consent.ts";
import { rewardScorer } from "../../src/engine/rewards/scorer.ts";
import type { RolloutFacts } from "../../src/engine/rewards/term.ts";
import type { ScoredRollout } from "../../src/engine/rewards/types.ts";
import { sealReward } from "../../src/engine/rewards/user/seal.ts";
import type { Wordnet } from "../../src/engine/rewards/wordnet.ts";
import { requireConsent } from "./node-consent.ts";
import { nodeUserRewards } from "./node-sandbox.ts";
import type { PairFile } from "./pair-file.ts";
import { readFileOfSettings } from "./settings-flags.ts";

/**
 * One score per pair, in order. Terms that a pair of captions or of masks cannot have are missing, never 0.
 * @param file settings, or undefined for the defaults
 * @throws LabError("bad-config") for the settings and for a custom reward without consent, LabError("held") when a custom reward is stopped
 */
export async function composedScores(
  predicted: PairFile,
  reference: PairFile,
  file: string | undefined,
  wordnet: Wordnet,
  consent: Consent,
): Promise<readonly ScoredRollout[]> {
  const config = requireConfig(file === undefined ? {} : readFileOfSettings(file), undefined, file);
  // No judge is asked here.
  await requireConsent({ ...config, judge: "off" }, consent, file ?? "command line", say);
  const plan = rewardPlan(await sealReward(config));
  const user = nodeUserRewards(consent);
  const scorer = rewardScorer({ wordnet, user });
  try {
    const scores: ScoredRollout[] = [];
    for (const facts of pairFacts(predicted, reference)) scores.push(...(await scorer.scoreGroup([facts], plan)));
    return scores;
  } finally {
    user.close();
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function pairFacts(predicted: PairFile, reference: PairFile): readonly RolloutFacts[] {
  const unknown = { reference: null, caption: null, given: null, predicted: null, confidence: null, truncated: false };
  if (predicted.kind === "captions" && reference.kind === "captions") {
    return reference.items.map((text, at) => ({
      ...unknown,
      loop: 2,
      reference: text,
      caption: predicted.items[at] ?? null,
    }));
  }
  if (predicted.kind === "masks" && reference.kind === "masks") {
    return reference.items.map((mask, at) => ({
      ...unknown,
      loop: 1,
      given: mask,
      predicted: predicted.items[at] ?? null,
    }));
  }
  return [];
}

/** Values of the terms of a pair that has them, and of those that its reward lacks. */
export function termValues({ terms }: ScoredRollout): Readonly<Record<string, number | null>> {
  const known = terms.filter((term) => term.value !== null || term.weight !== 0);
  return Object.fromEntries(known.map((term) => [term.name, term.value]));
}
