/** The judge of a configuration: what its cache tells apart, and a budget that a resumed run goes on with. */
import { readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { defaultConfig, requireConfig } from "../../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../../src/engine/config/table.ts";
import { rewardPlan } from "../../../../src/engine/rewards/composer/plan.ts";
import type { Spending } from "../../../../src/engine/rewards/judge/budget.ts";
import { memoryCache, type ReplyCache, replyKey } from "../../../../src/engine/rewards/judge/cache.ts";
import type { ChatRequest } from "../../../../src/engine/rewards/judge/providers/provider.ts";
import { type JudgeHost, openJudge } from "../../../../src/engine/rewards/judge/setup.ts";
import { rewardScorer } from "../../../../src/engine/rewards/scorer.ts";
import { parseWordnet } from "../../../../src/engine/rewards/wordnet.ts";
import { fastClock, version } from "../../../support/judge.ts";
import { type JudgeServer, judgeServer, type SeenCall } from "../../../support/judge-server.ts";

let server: JudgeServer;
beforeAll(async () => {
  server = await judgeServer();
});
afterAll(() => server.close());
afterEach(() => server.forget());

const judgeHost = (cache: ReplyCache): JudgeHost => ({
  key: () => "",
  allows: () => true,
  fetch,
  clock: fastClock(),
  jitter: () => 0.5,
  cache: async () => cache,
});
const same = { reference: "a shiny red car", hypothesis: "a shiny red car" };

test("a server without a list of models gets no verdicts of another one", async () => {
  const cache = memoryCache();
  const asked: string[] = [];
  const host = {
    ...judgeHost(cache),
    fetch: async (url: string | URL | Request, init?: RequestInit) => {
      if (new URL(String(url)).pathname.endsWith("/models")) return new Response("", { status: 404 });
      asked.push(String(url));
      return fetch(`${server.url}/v1/chat/completions`, init);
    },
  };
  const verdict = async (judgeUrl: string, judgeModel = "") => {
    const config = { ...defaultConfig(), judge: "questions" as const, judgeUrl, judgeModel };
    const [term] = (await (await openJudge(config, host))?.judge.terms([same])) ?? [];
    return [term?.value, term?.judge?.model, term?.judge?.calls];
  };
  expect(await verdict("http://a.test/v1")).toEqual([1, "default", 2]);
  expect(await verdict("http://b.test/v1?version=1")).toEqual([1, "default", 2]);
  expect(await verdict("http://b.test/v1?version=2")).toEqual([1, "default", 0]);
  expect(server.calls.map(({ body }) => body.model)).toEqual(Array(4).fill("default"));
  // A named model is the same one wherever it runs.
  expect(await verdict("http://a.test/v1", "reader-1")).toEqual([1, "reader-1", 2]);
  expect(await verdict("http://b.test/v1", "reader-1")).toEqual([1, "reader-1", 0]);
  expect(asked.map((url) => new URL(url).host)).toEqual(["a.test", "a.test", "b.test", "b.test", "a.test", "a.test"]);
  const { body } = server.calls.at(-1) as SeenCall;
  const request = {
    messages: body.messages as ChatRequest["messages"],
    schema: body.response_format?.json_schema?.schema as ChatRequest["schema"],
    maxTokens: body.max_tokens as number,
  };
  expect(cache.get(await replyKey("questions", "reader-1", version, request))).toBeDefined();
});

test("a scorer of a resumed run has what is left of its judge's budget", async () => {
  const table = await readFile(new URL("../../../../public/wordnet/wordnet30.txt", import.meta.url));
  const failures = async (changes: Partial<LabConfig>, before: Spending) => {
    const scorer = rewardScorer({ wordnet: parseWordnet(table), judgeHost: judgeHost(memoryCache()) });
    const judged = { judge: "questions", judgeUrl: server.url, missingVerdict: "drop", judgePromptPrice: 1000 };
    const config = requireConfig({ ...judged, ...changes });
    await scorer.begin(config, before);
    const found: unknown[] = [];
    for (const hypothesis of ["a car", "a red car", "a shiny car"]) {
      const masks = { given: null, predicted: null, confidence: null, truncated: false };
      const facts = { loop: 2, reference: same.reference, caption: hypothesis, ...masks } as const;
      const [rollout] = await scorer.scoreGroup([facts], rewardPlan(config));
      found.push(rollout?.terms.find(({ name }) => name === "judge")?.judge?.failure);
    }
    return found;
  };
  // The first verdict asks for questions too.
  expect(await failures({ judgeMaxCalls: 903 }, { calls: 900, cost: 9 })).toEqual([null, null, "budget"]);
  expect(await failures({ judgeMaxCost: 9 }, { calls: 900, cost: 8.9 })).toEqual(Array(3).fill("budget"));
  expect(server.calls).toHaveLength(3);
});
