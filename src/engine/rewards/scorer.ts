/** The scorer of a run: it computes METEOR and IoU here, and calls the judge and the sandbox of the custom reward. */

import { LabError } from "../errors.ts";
import { composeGroup } from "./composer/compose-group.ts";
import { type RewardPlan, type UserRewardPlan, usedCustomReward } from "./composer/plan.ts";
import { type JudgeHost, type OpenJudge, openJudge } from "./judge/setup.ts";
import { METEOR_DEFAULTS, Meteor } from "./meteor/meteor.ts";
import type { RewardTerm, RolloutFacts } from "./term.ts";
import { measuredTerms, meteorOf, utilityOf } from "./terms/registry.ts";
import type { CaptionPair, CaptionScorer, CaptionTermSource, RewardScorer, ScoredRollout } from "./types.ts";
import type { UserRewards } from "./user/watched.ts";
import type { Wordnet } from "./wordnet.ts";

/** The reward of a caption pair without a judge: METEOR with weight 1. */
function captionReward(meteor: Meteor, { reference, hypothesis }: CaptionPair): ScoredRollout {
  const { value, ...details } = meteorOf(meteor, reference, hypothesis);
  return { reward: value, terms: [{ name: "meteor", value, weight: 1, ...details }] };
}

/** A scorer of caption pairs without a judge. Keep one per run, because it caches words. */
export function meteorScorer(wordnet: Wordnet): CaptionScorer {
  const meteor = new Meteor(wordnet, METEOR_DEFAULTS);
  return { score: async (pairs) => pairs.map((pair) => captionReward(meteor, pair)) };
}

interface ScorerParts {
  readonly wordnet: Wordnet;
  /** Replaces the judge of the configuration. */
  readonly judge?: () => CaptionTermSource | null;
  /** Services for the judge of the configuration; absent if there are none. */
  readonly judgeHost?: JudgeHost;
  /** Runs custom rewards; absent if there is no sandbox. */
  readonly user?: UserRewards;
}

/** Keep one per run, because it caches words. */
export function rewardScorer({ wordnet, judge, judgeHost, user }: ScorerParts): RewardScorer {
  const meteor = new Meteor(wordnet, METEOR_DEFAULTS);
  let opened: OpenJudge | null = null;
  const unread = async (custom: UserRewardPlan): Promise<string | null> => (await user?.check(custom)) ?? null;
  return {
    unread,
    score: async (pairs) => pairs.map((pair) => captionReward(meteor, pair)),
    scoreGroup: async (group, plan, signal) => {
      const [first] = group;
      if (first === undefined) return [];
      const { loop } = first;
      if (group.some((facts) => facts.loop !== loop)) {
        throw new LabError("internal", "A group has rollouts of several loops; it cannot be scored");
      }
      const rows = group.map((facts) => measuredTerms(facts, { settings: plan, meteor }));
      const verdicts = await judged(group, plan, judge?.() ?? opened?.judge ?? null, signal);
      append(rows, group, verdicts);
      append(rows, group, verdicts?.map((verdict) => ({ name: "utility", weight: 0, ...utilityOf(verdict) })) ?? null);
      if (plan.weights[loop].user !== 0) append(rows, group, await userTerms(group, rows, plan, user));
      return composeGroup(rows, loop, plan);
    },
    begin: async (config, before) => {
      opened = null;
      const custom = usedCustomReward(config);
      const problem = custom === null ? null : await unread(custom);
      if (problem !== null) {
        throw new LabError("bad-config", `${problem}. Correct it on the Rewards screen; nothing was started`, {
          subject: "userReward",
        });
      }
      if (config.judge === "off") return null;
      if (judgeHost === undefined) {
        throw new LabError("bad-config", "No judge is available here. Turn the judge off", { subject: "judge" });
      }
      opened = await openJudge(config, judgeHost, before);
      return opened?.description ?? null;
    },
  };
}

function append(rows: RewardTerm[][], group: readonly RolloutFacts[], terms: readonly RewardTerm[] | null): void {
  if (terms === null) return;
  if (terms.length !== group.length) {
    throw new LabError("internal", `${group.length} rollouts got ${terms.length} values of one reward term`);
  }
  for (const [at, term] of terms.entries()) rows[at]?.push(term);
}

/** Verdicts, requested only if they have a weight. A rollout without text is judged as an empty caption. */
async function judged(
  group: readonly RolloutFacts[],
  plan: RewardPlan,
  judge: CaptionTermSource | null,
  signal: AbortSignal | undefined,
): Promise<readonly RewardTerm[] | null> {
  const loop = group[0]?.loop ?? 1;
  if (judge === null || (plan.weights[loop].judge === 0 && plan.weights[loop].utility === 0)) return null;
  const pairs = group.flatMap(({ reference, caption }) =>
    reference === null ? [] : [{ reference, hypothesis: caption ?? "" }],
  );
  const verdicts = [...(await judge.terms(pairs, signal === undefined ? {} : { signal }))];
  return group.map(({ reference }): RewardTerm => {
    const verdict = reference === null ? undefined : verdicts.shift();
    return verdict ?? { name: "judge", value: null, weight: 0, note: "no reference caption in the file" };
  });
}

async function userTerms(
  group: readonly RolloutFacts[],
  rows: readonly (readonly RewardTerm[])[],
  plan: RewardPlan,
  user: UserRewards | undefined,
): Promise<readonly RewardTerm[]> {
  if (plan.user === null) {
    throw new LabError("held", "The custom reward has a weight but no function. Write one or set the weight to 0", {
      subject: "userReward",
    });
  }
  if (user === undefined) throw new LabError("internal", "No sandbox for the custom reward is available here");
  const values = await user.run(plan.user, group, rows);
  return values.map((value): RewardTerm => ({ name: "user", value, weight: 0 }));
}
