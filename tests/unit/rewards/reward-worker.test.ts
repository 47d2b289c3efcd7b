/** The reward worker, which scores for the page and for the trainer at the same time. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { rewardPlan } from "../../../src/engine/rewards/composer/plan.ts";
import type { RolloutFacts } from "../../../src/engine/rewards/term.ts";
import type { RewardScorer } from "../../../src/engine/rewards/types.ts";
import { rewardHash } from "../../../src/engine/rewards/user/hash.ts";
import type { SandboxReply, SandboxRequest } from "../../../src/engine/rewards/user/protocol.ts";
import type { RewardHost, ScoreCalls } from "../../../src/protocol/reward.ts";
import { connect } from "../../../src/protocol/rpc.ts";
import type { RewardCalls } from "../../../workers/reward.ts";
import { type JudgeServer, judgeServer } from "../../support/judge-server.ts";
import { fakeOpfs } from "../runs/fake-opfs.ts";

const WORDNET = new URL("../../../public/wordnet/wordnet30.txt", import.meta.url);
const CODE = "function reward() { return 0.5; }";
const ends: (() => unknown)[] = [];
let page: RewardScorer;
let trainer: RewardScorer;
let ofPage: JudgeServer;
let ofTrainer: JudgeServer;

/** A sandbox that answers one request at a time, like the interpreter in it. */
class FakeSandbox {
  static opened = 0;
  onmessage: ((event: { readonly data: SandboxReply }) => void) | null = null;
  #busy = false;

  constructor() {
    FakeSandbox.opened++;
  }

  postMessage({ request, rollouts }: SandboxRequest): void {
    if (this.#busy) throw new Error("Asked while it runs");
    this.#busy = true;
    setImmediate(() => {
      this.#busy = false;
      this.onmessage?.({ data: { type: "values", request, values: rollouts.map(() => 0.5) } });
    });
  }
}

beforeAll(async () => {
  [ofPage, ofTrainer] = [await judgeServer(), await judgeServer()];
  const { root, storage } = fakeOpfs({ move: true, quota: 2 ** 20 });
  const [worker, scores] = [new MessageChannel(), new MessageChannel()];
  const wordnet = URL.createObjectURL(new Blob([new Uint8Array(await readFile(WORDNET))]));
  vi.stubGlobal("self", worker.port2);
  vi.stubGlobal("Worker", FakeSandbox);
  vi.stubGlobal("navigator", { storage: { ...storage, getDirectory: async () => root } });
  ends.push(() => URL.revokeObjectURL(wordnet), vi.unstubAllGlobals, ofPage.close, ofTrainer.close);
  ends.push(
    () => worker.port1.close(),
    () => scores.port1.close(),
  );
  await import("../../../workers/reward.ts");
  const { call } = connect<RewardCalls, RewardHost>(worker.port1, {
    problem: () => undefined,
  });
  await call.serveTrainer(scores.port2, wordnet);
  await call.allow([ofPage.url, ofTrainer.url], [await rewardHash(CODE)]);
  page = call;
  trainer = connect<ScoreCalls>(scores.port1, {}).call;
});
afterAll(async () => {
  for (const end of ends) await end();
});

const config = ({ url }: JudgeServer): LabConfig => ({
  ...defaultConfig(),
  judge: "questions",
  judgeUrl: url,
  judgeModel: "reader-1",
  loop2Judge: 1,
});

const facts = (caption: string): RolloutFacts => ({
  ...{ loop: 2, reference: "a red car", caption, given: null, predicted: null },
  ...{ confidence: null, truncated: false },
});

/** Judges a caption that was not judged before. */
async function judged(scorer: RewardScorer, own: JudgeServer, caption: string): Promise<readonly number[]> {
  ofPage.forget();
  ofTrainer.forget();
  const [scored] = await scorer.scoreGroup([facts(caption)], rewardPlan(config(own)));
  expect(scored?.terms.find(({ name }) => name === "judge")?.value).toBeTypeOf("number");
  return [ofPage.calls.length, ofTrainer.calls.length].map(Math.sign);
}

it("asks the judge that each of the two has begun with, whichever began last", async () => {
  await trainer.begin(config(ofTrainer));
  await page.begin(config(ofPage));
  expect(await judged(trainer, ofTrainer, "a red lorry")).toEqual([0, 1]);
  expect(await judged(page, ofPage, "a blue boat")).toEqual([1, 0]);
  await trainer.begin(config(ofTrainer));
  expect(await judged(page, ofPage, "a green tree")).toEqual([1, 0]);
});

it("runs the custom rewards of both in one sandbox, one after the other", async () => {
  const plan = rewardPlan({ ...defaultConfig(), userReward: CODE, loop2User: 1 });
  const scored = await Promise.all(
    [page, trainer, page].map((scorer) => scorer.scoreGroup([facts("a red car")], plan)),
  );
  const values = scored.map(([rollout]) => rollout?.terms.find(({ name }) => name === "user")?.value);
  expect(values).toEqual([0.5, 0.5, 0.5]);
  expect(FakeSandbox.opened).toBe(1);
});
