/**
 * Scores captions in parallel with the trainer: METEOR needs the WordNet table and processor time, a judge the network.
 */
import { memorySource } from "../src/engine/bytes/source.ts";
import { fetchBytes } from "../src/engine/data/blob-source.ts";
import { LabError } from "../src/engine/errors.ts";
import { type Consent, consentedRewards } from "../src/engine/rewards/consent.ts";
import { Meteor } from "../src/engine/rewards/meteor/meteor.ts";
import { rewardScorer } from "../src/engine/rewards/scorer.ts";
import type { RewardScorer } from "../src/engine/rewards/types.ts";
import { userRewards } from "../src/engine/rewards/user/watched.ts";
import { loadWordnet } from "../src/engine/rewards/wordnet.ts";
import { REWARD_CALLS } from "../src/plugins/reward-calls.ts";
import type { RewardCalls, RewardHost, ScoreCalls } from "../src/protocol/reward.ts";
import { connect, type Handlers } from "../src/protocol/rpc.ts";
import { workerJudgeHost } from "./judge-host.ts";
import { judgeModels, tryJudge } from "./judge-try.ts";
import { openSandbox, watch } from "./sandbox-link.ts";

/** The user's consent; the page sends it before any request that needs it. */
let allowed: { readonly judges: readonly string[]; readonly rewards: readonly string[] } = { judges: [], rewards: [] };
const consent: Consent = {
  judge: (place) => allowed.judges.includes(place),
  reward: (hash) => allowed.rewards.includes(hash),
};
/** One sandbox for the page and the trainer; it is opened when a reward is first run. */
const user = consentedRewards(userRewards(openSandbox, watch), consent);
/** Page and trainer have separate judges, so that neither replaces the other's. */
interface Scorers {
  readonly page: RewardScorer;
  readonly trainer: RewardScorer;
  readonly meteor: Meteor;
}
let scorers: Promise<Scorers> | null = null;

async function loadScorers(url: string): Promise<Scorers> {
  const wordnet = await loadWordnet(memorySource(url, await fetchBytes(url)));
  const parts = { wordnet, judgeHost, user };
  return { page: rewardScorer(parts), trainer: rewardScorer(parts), meteor: new Meteor(wordnet) };
}

async function ready(): Promise<Scorers> {
  if (scorers === null) throw new LabError("internal", "Captions cannot be scored before the WordNet table is set");
  return scorers;
}

const scoreCalls = (caller: "page" | "trainer"): Handlers<ScoreCalls> => ({
  score: async (pairs) => (await ready())[caller].score(pairs),
  scoreGroup: async (group, plan, signal) => (await ready())[caller].scoreGroup(group, plan, signal),
  begin: async (...given) => (await ready())[caller].begin(...given),
});

const calls: Handlers<RewardCalls> = {
  ...scoreCalls("page"),
  async serveTrainer(port, wordnetUrl) {
    const loading = loadScorers(wordnetUrl);
    scorers = loading;
    connect(port, scoreCalls("trainer"));
    await loading.catch((thrown: unknown) => {
      // The next connection may provide a readable table.
      if (scorers === loading) scorers = null;
      throw thrown;
    });
  },
  allow(judges, rewards) {
    allowed = { judges, rewards };
  },
  setKey: (key, origin) => judgeHost.setKey(key, origin),
  tryJudge: (config, pairs, how, signal) => tryJudge(config, pairs, how, judgeHost, signal),
  judgeModels: (config, signal) => judgeModels(config, judgeHost, signal),
  forgetReplies: () => judgeHost.forget(),
};

const page = connect<RewardHost, RewardCalls>(
  self,
  Object.assign({}, calls, ...REWARD_CALLS.map((served) => served(ready))),
);
const judgeHost = workerJudgeHost(consent.judge, page);
