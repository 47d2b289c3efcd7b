/** Rewards of pairs under a configuration: captions as in loop 2, masks as in loop 1, each pair as a separate group. */
import { requireConfig } from "../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { composeReward } from "../../../src/engine/rewards/composer/compose-group.ts";
import { rewardPlan } from "../../../src/engine/rewards/composer/plan.ts";
import type { Consent } from "../../../src/engine/rewards/consent.ts";
import { rewardScorer } from "../../../src/engine/rewards/scorer.ts";
import type { RewardTerm, RolloutFacts } from "../../../src/engine/rewards/term.ts";
import type { ScoredRollout } from "../../../src/engine/rewards/types.ts";
import { sealReward } from "../../../src/engine/rewards/user/hash.ts";
import type { Wordnet } from "../../../src/engine/rewards/wordnet.ts";
import { one, type Parsed } from "../arguments.ts";
import { requireConsent } from "../node/node-consent.ts";
import { nodeUserRewards } from "../node/node-sandbox.ts";
import { readFileOfSettings } from "../settings-flags.ts";
import type { PairFile } from "./pair-file.ts";

/** The settings of `--config`, or the defaults. @throws LabError("bad-config") */
export function scoreConfig(options: Parsed): Pick<ScoredBy, "config" | "from"> {
  const file = one(options, "config");
  const config = requireConfig(file === undefined ? {} : readFileOfSettings(file), undefined, file);
  return { config, from: file ?? "command line" };
}

export interface ScoredBy {
  readonly config: LabConfig;
  /** Source of the settings. */
  readonly from: string;
  readonly wordnet: Wordnet;
  readonly consent: Consent;
  /** Terms of a judge that has scored the pairs, in order; absent without one. */
  readonly verdicts?: readonly RewardTerm[];
}

/**
 * One score per pair, in order. Terms that a pair of captions or of masks cannot have, and verdicts that a judge did not
 * give, are missing, never 0.
 * @throws LabError("bad-config") for a custom reward without consent, LabError("held") when a custom reward is stopped
 */
export async function composedScores(
  predicted: PairFile,
  reference: PairFile,
  { config, from, wordnet, consent, verdicts }: ScoredBy,
): Promise<readonly ScoredRollout[]> {
  // No judge is called here.
  await requireConsent({ ...config, judge: "off" }, consent, from, say);
  // Each pair is a separate group, so a missing verdict affects only its pair, and no run waits for it.
  const missingVerdict = config.missingVerdict === "meteor" ? "meteor" : "drop";
  const plan = { ...rewardPlan(await sealReward(config)), missingVerdict } as const;
  const user = nodeUserRewards(consent);
  let pair = 0;
  const read = { terms: async () => verdicts?.slice(pair, pair + 1) ?? [] };
  const scorer = rewardScorer({ wordnet, user, judge: () => (verdicts === undefined ? null : read) });
  try {
    const scores: ScoredRollout[] = [];
    for (const facts of pairFacts(predicted, reference)) {
      scores.push(...(await scorer.scoreGroup([facts], plan)).map((score) => measured(score, predicted.kind)));
      pair++;
    }
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

/** Terms of parts that the files lack: the mask of a caption, the caption of a mask. */
const UNKNOWN = { captions: ["confidence"], masks: ["repetition", "leak"] } as const;

/** The score without terms that a run would compute of an empty part. */
function measured({ reward, terms }: ScoredRollout, kind: PairFile["kind"]): ScoredRollout {
  const unknown: readonly string[] = UNKNOWN[kind];
  const known = terms.map((term) => (unknown.includes(term.name) ? { ...term, value: null } : term));
  return { reward: reward === null ? null : composeReward(known), terms: known };
}

/** Values of a pair's terms by name; null for a weighted term without a value. */
export function termValues({ terms }: ScoredRollout): Readonly<Record<string, number | null>> {
  const known = terms.filter((term) => term.value !== null || term.weight !== 0);
  return Object.fromEntries(known.map((term) => [term.name, term.value]));
}
