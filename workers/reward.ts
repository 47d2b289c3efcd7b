/** Scores captions beside the trainer: METEOR needs the WordNet table and processor time, a judge the network. */
import { memorySource } from "../src/engine/bytes/memory.ts";
import { fetchBytes } from "../src/engine/data/blob-source.ts";
import { LabError } from "../src/engine/errors.ts";
import { type Consent, consentedRewards } from "../src/engine/rewards/consent.ts";
import { rewardScorer } from "../src/engine/rewards/scorer.ts";
import type { RewardScorer } from "../src/engine/rewards/types.ts";
import { userRewards } from "../src/engine/rewards/user/watched.ts";
import { loadWordnet } from "../src/engine/rewards/wordnet.ts";
import type { RequestId } from "../src/protocol/common.ts";
import type { AllowRequest, FromReward, FromTrainerToReward, ToReward } from "../src/protocol/reward.ts";
import { workerJudgeHost } from "./judge-host.ts";
import { listenToPage } from "./judge-try.ts";
import { openSandbox, watch } from "./sandbox-link.ts";
import { wireError } from "./wire.ts";

type Send = (message: FromReward) => void;
type Request = Exclude<Extract<ToReward | FromTrainerToReward, { readonly request: RequestId }>, { type: "cancel" }>;

const toPage: Send = (message) => self.postMessage(message);
/** What the person agreed to; the page says it before anything that needs it. */
let allowed: Pick<AllowRequest, "judges" | "rewards"> = { judges: [], rewards: [] };
const consent: Consent = {
  judge: (place) => allowed.judges.includes(place),
  reward: (hash) => allowed.rewards.includes(hash),
};
const judgeHost = workerJudgeHost(consent.judge);
/** One sandbox for the page and the trainer; it is opened when a reward is first run. */
const user = consentedRewards(userRewards(openSandbox, watch), consent);
let scorer: Promise<RewardScorer> | null = null;

async function loadScorer(url: string): Promise<RewardScorer> {
  const bytes = await fetchBytes(url);
  return rewardScorer({ wordnet: await loadWordnet(memorySource(url, bytes)), judgeHost, user });
}

async function ready(): Promise<RewardScorer> {
  if (scorer === null) throw new LabError("internal", "Captions were to be scored before the WordNet table was set");
  return scorer;
}

async function answer(message: Request, signal: AbortSignal): Promise<FromReward> {
  const { request } = message;
  switch (message.type) {
    case "allow":
      allowed = message;
      return { type: "allowed", request };
    case "score":
      return { type: "scores", request, scores: await (await ready()).score(message.pairs) };
    case "score-group": {
      const scores = await (await ready()).scoreGroup(message.group, message.plan, signal);
      return { type: "scores", request, scores };
    }
    case "begin":
      return { type: "begun", request, judge: await (await ready()).begin(message.config) };
    default:
      throw new LabError("internal", `The reward worker knows no message "${(message as { type: string }).type}"`);
  }
}

/** Answers requests of one side; each can be cancelled by its number. */
function answering(send: Send): (message: Request | { readonly type: "cancel"; readonly request: RequestId }) => void {
  const stops = new Map<RequestId, AbortController>();
  return (message) => {
    const { request } = message;
    if (message.type === "cancel") return stops.get(request)?.abort();
    const stop = new AbortController();
    stops.set(request, stop);
    answer(message, stop.signal)
      .then(send, (thrown: unknown) => send({ type: "failed", request, error: wireError(thrown) }))
      .finally(() => stops.delete(request));
  };
}

function connect(port: MessagePort, wordnetUrl: string): void {
  const loading = loadScorer(wordnetUrl);
  scorer = loading;
  loading.catch((thrown: unknown) => {
    // The next connection may bring a table that can be read.
    if (scorer === loading) scorer = null;
    toPage({ type: "failed", request: null, error: wireError(thrown) });
  });
  const take = answering((message) => port.postMessage(message));
  port.onmessage = ({ data }: MessageEvent<FromTrainerToReward>) => take(data);
}

const takeFromPage = answering(toPage);

self.onmessage = ({ data }: MessageEvent<ToReward>) => {
  if (data.type === "connect") connect(data.port, data.wordnetUrl);
  else if (data.type === "judge-line") listenToPage(data.port, judgeHost);
  else takeFromPage(data);
};
