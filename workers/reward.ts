/** Scores captions beside the trainer: METEOR needs the WordNet table and processor time, neither of which should wait. */
import { memorySource } from "../src/engine/bytes/memory.ts";
import { fetchBytes } from "../src/engine/data/blob-source.ts";
import { LabError } from "../src/engine/errors.ts";
import { rewardScorer } from "../src/engine/rewards/scorer.ts";
import type { RewardScorer } from "../src/engine/rewards/types.ts";
import { userRewards } from "../src/engine/rewards/user/watched.ts";
import { loadWordnet } from "../src/engine/rewards/wordnet.ts";
import type { FromReward, GroupRequest, ScoreRequest, ToReward } from "../src/protocol/reward.ts";
import { openSandbox, watch } from "./sandbox-link.ts";
import { wireError } from "./wire.ts";

type Send = (message: FromReward) => void;

const toPage: Send = (message) => self.postMessage(message);
/** One sandbox for the page and the trainer; it is opened when a reward is first run. */
const user = userRewards(openSandbox, watch);
let scorer: Promise<RewardScorer> | null = null;

async function loadScorer(url: string): Promise<RewardScorer> {
  const bytes = await fetchBytes(url);
  return rewardScorer({ wordnet: await loadWordnet(memorySource(url, bytes)), user });
}

async function score(message: ScoreRequest | GroupRequest, send: Send): Promise<void> {
  const { request } = message;
  try {
    if (scorer === null)
      throw new LabError("internal", "Captions were to be scored before the WordNet table was named");
    const own = await scorer;
    const scores =
      message.type === "score" ? await own.score(message.pairs) : await own.scoreGroup(message.group, message.plan);
    send({ type: "scores", request, scores });
  } catch (thrown) {
    send({ type: "failed", request, error: wireError(thrown) });
  }
}

function connect(port: MessagePort, wordnetUrl: string): void {
  const loading = loadScorer(wordnetUrl);
  scorer = loading;
  loading.catch((thrown: unknown) => {
    // The next connection may bring a table that can be read.
    if (scorer === loading) scorer = null;
    toPage({ type: "failed", request: null, error: wireError(thrown) });
  });
  port.onmessage = ({ data }: MessageEvent<ScoreRequest | GroupRequest>) => {
    void score(data, (answer) => port.postMessage(answer));
  };
}

self.onmessage = ({ data }: MessageEvent<ToReward>) => {
  if (data.type === "connect") connect(data.port, data.wordnetUrl);
  else if (data.type === "score" || data.type === "score-group") void score(data, toPage);
  else {
    const type = String((data as { type?: unknown }).type);
    const error = wireError(new LabError("internal", `The reward worker knows no message "${type}"`));
    toPage({ type: "failed", request: null, error });
  }
};
