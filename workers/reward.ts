/**
 * Scores captions in parallel with the trainer: METEOR needs the WordNet table and processor time, a judge the network.
 */
import { memorySource } from "../src/engine/bytes/source.ts";
import type { LabConfig } from "../src/engine/config/table.ts";
import { fetchBytes } from "../src/engine/data/blob-source.ts";
import { LabError } from "../src/engine/errors.ts";
import { type Consent, consentedRewards } from "../src/engine/rewards/consent.ts";
import { Meteor } from "../src/engine/rewards/meteor/meteor.ts";
import { rewardScorer } from "../src/engine/rewards/scorer.ts";
import type { CaptionPair, RewardScorer } from "../src/engine/rewards/types.ts";
import { userRewards } from "../src/engine/rewards/user/watched.ts";
import { loadWordnet } from "../src/engine/rewards/wordnet.ts";
import { REWARD_CALLS } from "../src/plugins/reward-calls.ts";
import type { JudgeTry, RewardHost, ScoreCalls } from "../src/protocol/reward.ts";
import { type CallsOf, connect, ownPort } from "../src/protocol/rpc.ts";
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

const scoreCalls = (caller: "page" | "trainer"): ScoreCalls => ({
  score: async (pairs) => (await ready())[caller].score(pairs),
  scoreGroup: async (group, plan, signal) => (await ready())[caller].scoreGroup(group, plan, signal),
  unread: async (custom) => (await ready())[caller].unread(custom),
  begin: async (...given) => (await ready())[caller].begin(...given),
});

const calls = {
  ...scoreCalls("page"),
  /**
   * Serves `ScoreCalls` to the trainer.
   * @param wordnetUrl URL of the WordNet table
   * @throws LabError when the table cannot be read
   */
  async serveTrainer(port: MessagePort, wordnetUrl: string) {
    const loading = loadScorers(wordnetUrl);
    scorers = loading;
    connect(port, scoreCalls("trainer"));
    await loading.catch((thrown: unknown) => {
      // The next connection may provide a readable table.
      if (scorers === loading) scorers = null;
      throw thrown;
    });
  },
  /**
   * Judges and custom rewards that the user agreed to so far; no others are called or run.
   * @param judges origins of judges
   * @param rewards hashes of custom rewards
   */
  async allow(judges: readonly string[], rewards: readonly string[]) {
    allowed = { judges, rewards };
  },
  /** The key of one origin, held in memory; "" forgets it. */
  setKey: async (key: string, origin: string) => judgeHost.setKey(key, origin),
  /** Sends pairs to the judge of a configuration; a run's judge and budget are not affected. */
  tryJudge: (config: LabConfig, pairs: readonly CaptionPair[], how: JudgeTry, signal: AbortSignal) =>
    tryJudge(config, pairs, how, judgeHost, signal),
  judgeModels: (config: LabConfig, signal: AbortSignal) => judgeModels(config, judgeHost, signal),
  /** Forgets all replies of earlier runs. */
  forgetReplies: () => judgeHost.forget(),
};

export type RewardCalls = CallsOf<typeof calls>;

const page = connect<RewardHost>(ownPort(), Object.assign({}, calls, ...REWARD_CALLS.map((served) => served(ready))));
const judgeHost = workerJudgeHost(consent.judge, page);
