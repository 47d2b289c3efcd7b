/** A judge against a server that misbehaves in every way: right where possible, missing where not, limits kept. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { memoryCache } from "../../../../src/engine/rewards/judge/cache.ts";
import { listModels } from "../../../../src/engine/rewards/judge/providers/openai.ts";
import { DEFAULT_PROMPTS } from "../../../../src/engine/rewards/judge/questions/prompts.ts";
import type { JudgeDetail } from "../../../../src/engine/rewards/term.ts";
import { promptsOf } from "../../../../src/plugins/judge-workshop/test-pairs.ts";
import { testJudge } from "../../../support/judge.ts";
import { type Behaviour, type JudgeServer, judgeServer, wellRead } from "../../../support/judge-server.ts";

let server: JudgeServer;
beforeAll(async () => {
  server = await judgeServer();
});
afterAll(() => server.close());
afterEach(() => {
  server.script(() => "good");
  server.forget();
});

const unhandled = vi.fn();
process.on("unhandledRejection", unhandled);
afterAll(async () => {
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(unhandled).not.toHaveBeenCalled();
});

const RED = "a shiny red car";
const same = { reference: RED, hypothesis: RED };
const other = { reference: RED, hypothesis: "a blue boat" };
const half = { reference: RED, hypothesis: "a red car" };

test("questions come from the reference, answers from the prediction, and the mean of all points is the score", async () => {
  const terms = await testJudge(server.url).terms([same, half, other]);
  // Facts: shiny, red, car; absent: elephant, spaceship. Subject: car.
  expect(terms.map(({ value }) => value)).toEqual([1, 4 / 5, 0]);
  expect(terms.map(({ name, weight }) => [name, weight])).toEqual(Array(3).fill(["judge", 1]));
  const [first, second, third] = terms.map(({ judge }) => judge);
  expect(first).toMatchObject({ score: 1, positive: 1, negative: 1, recognised: true, failure: null, cached: false });
  expect(second).toMatchObject({ positive: 2 / 3, negative: 1, recognised: true });
  // Not recognised: what is absent earns nothing either.
  expect(third).toMatchObject({ positive: 0, negative: 0, recognised: false });
  expect(first?.answers.map(({ type }) => type)).toEqual([
    "recognition",
    "positive",
    "positive",
    "positive",
    "negative",
    "negative",
  ]);
  expect(first?.answers[2]).toMatchObject({ points: 1, choice: expect.stringContaining('"red" is mentioned, and') });
  // One set of questions for the whole group, one call of answers each.
  expect(server.calls).toHaveLength(4);
  expect(terms.reduce((sum, { judge }) => sum + (judge?.calls ?? 0), 0)).toBe(4);
  const [questions, answers] = server.calls;
  expect(questions?.path).toBe("/v1/chat/completions");
  expect(questions?.body).toMatchObject({ model: "reader-1", temperature: 0, stream: false });
  expect(questions?.body.response_format?.type).toBe("json_schema");
  expect(answers?.body.response_format?.json_schema?.schema).toMatchObject({
    required: ["q1", "q2", "q3", "q4", "q5", "q6"],
    properties: { q1: { enum: ["A", "B"] }, q2: { enum: ["A", "B", "C", "D"] } },
  });
});

test("questions written beforehand are asked one by one", async () => {
  const terms = await testJudge(server.url, { dlc: true }).terms([same, other]);
  expect(terms.map(({ value }) => value)).toEqual([1, 0]);
  expect(terms[0]?.judge).toMatchObject({ instrument: "dlc", calls: 3 });
  expect(server.calls).toHaveLength(6);
  expect(server.calls.every(({ body }) => body.response_format === undefined && body.max_tokens === 300)).toBe(true);
});

test.each([
  ["a thought that did not reach its end", "<think>Not the wings. Is it red? I am not sure", null],
  ["a choice in the middle of a sentence", 'One could say that "red" is not mentioned, but then', null],
  ["the choice first, then an explanation", '"red" is mentioned. The description says', 1],
  ["the letter first, then an explanation", "B. The description says", 1],
])("a reply cut off by its limit counts by what it begins with: %s", async (_, reply, value) => {
  const cache = memoryCache();
  const script = (finish: string) =>
    server.script((_, { text }) => (text.includes('\\"red\\" is mentioned') ? { reply, finish } : "good"));
  script("length");
  const [term] = await testJudge(server.url, { dlc: true, cache }).terms([same]);
  expect(term?.value).toBe(value);
  expect(term?.judge?.failure).toBe(value === null ? "cut-off" : null);
  // Two replies are whole verdicts of the other questions; what was cut off is asked again.
  expect(cache.size).toBe(value === null ? 2 : 3);
});

test("a whole JSON reply counts although its limit was reached behind it", async () => {
  server.script((_, seen) => ({ reply: `${wellRead(seen)}${" ".repeat(50)}`, finish: "length" }));
  expect((await testJudge(server.url).terms([same]))[0]?.value).toBe(1);
  server.script((_, seen) => ({ reply: wellRead(seen).slice(0, -8), finish: "length" }));
  expect((await testJudge(server.url).terms([same]))[0]).toMatchObject({ value: null, judge: { failure: "cut-off" } });
});

test("a verdict that fails ends when all its questions have been answered, and counts them all", async () => {
  const cache = memoryCache();
  const broken = '\\"red\\" is mentioned';
  server.script((_, { text }) => (text.includes(broken) ? { reply: "Hm", finish: "length" } : { slow: 60 }));
  const [term] = await testJudge(server.url, { dlc: true, cache }).terms([same]);
  // Three questions, one of them asked again.
  expect(term).toMatchObject({ value: null, judge: { failure: "cut-off", calls: 4 } });
  expect(cache.size).toBe(2);
});

test.each([false, true])("the prompts shown for a verdict are those that were sent (dlc: %s)", async (dlc) => {
  const pair = { reference: `**${RED}**`, hypothesis: "a <b>red</b> car" };
  const [term] = await testJudge(server.url, { dlc }).terms([pair]);
  const sent = server.calls.map(({ body }) => body.messages[0]?.content).sort();
  const shown = promptsOf(term?.judge as JudgeDetail, pair, DEFAULT_PROMPTS, { positives: 4, negatives: 2 });
  expect([...shown].sort()).toEqual(sent);
  expect(shown).toHaveLength(dlc ? 3 : 2);
});

test("of a verdict that failed only the prompts that were sent are shown", async () => {
  const counts = { positives: 4, negatives: 2 };
  server.script(() => ({ status: 401 }));
  const [refused, empty] = await testJudge(server.url).terms([same, { reference: RED, hypothesis: " " }]);
  const shown = (term: typeof refused) => promptsOf(term?.judge as JudgeDetail, same, DEFAULT_PROMPTS, counts);
  expect(shown(refused)).toEqual(server.calls.map(({ body }) => body.messages[0]?.content));
  expect(shown(empty)).toEqual([]);
});

test("a second run asks nothing", async () => {
  const cache = memoryCache();
  const before = await testJudge(server.url, { cache }).terms([same, half, other]);
  server.forget();
  const after = await testJudge(server.url, { cache }).terms([same, half, other]);
  expect(server.calls).toHaveLength(0);
  expect(after.map(({ value }) => value)).toEqual(before.map(({ value }) => value));
  expect(after.every(({ judge }) => judge?.cached === true && judge.calls === 0 && judge.cost === 0)).toBe(true);
  // Content decides: another caption, another model or another form of the prompt is another question.
  await testJudge(server.url, { cache }).terms([{ reference: RED, hypothesis: "a red bus" }]);
  expect(server.calls).toHaveLength(1);
  await testJudge(server.url, { cache, model: "reader-2" }).terms([same]);
  expect(server.calls).toHaveLength(3);
  await testJudge(server.url, { cache, version: "another" }).terms([same]);
  expect(server.calls).toHaveLength(5);
  await testJudge(server.url, { cache }).terms([same], { fresh: true });
  expect(server.calls).toHaveLength(7);
});

const bad429 = (seconds: string): Behaviour => ({ status: 429, headers: { "Retry-After": seconds } });

test.each<[string, Behaviour]>([
  ["500", { status: 500 }],
  ["503 with a page", { status: 503, body: "<html>down</html>" }],
  ["429 without a time", { status: 429 }],
  ["429 with Retry-After", bad429("3")],
  ["no whole body", "cut"],
  ["no answer at all", "drop"],
  ["a body that is no JSON", { body: "{broken" }],
  ["a reply that is no JSON", { reply: "Well, I think…" }],
  ["a reply of another form", { reply: '{"q1": "Z"}' }],
  ["a slow answer", { slow: 30 }],
])("%s once is followed by the right score", async (_, behaviour) => {
  server.script((call) => (call === 0 ? behaviour : "good"));
  const [term] = await testJudge(server.url).terms([same]);
  expect(term?.value).toBe(1);
  expect(term?.judge?.failure).toBeNull();
});

test.each<[string, Behaviour, string, number]>([
  ["500", { status: 500 }, "server", 4],
  ["429 without end", { status: 429 }, "rate-limited", 4],
  ["429 for an hour", bad429("3600"), "rate-limited", 1],
  ["a wrong key", { status: 401 }, "bad-key", 1],
  ["a model that is not there", { status: 404 }, "no-model", 1],
  ["an unknown model as 400", { status: 400, body: '{"error":"model \\"x\\" not found"}' }, "no-model", 1],
  ["bodies that break off", "cut", "unreachable", 4],
  ["closed connections", "drop", "unreachable", 4],
  ["bodies that are no JSON", { body: "{broken" }, "not-json", 4],
  ["bodies without a reply", { body: '{"choices": []}' }, "wrong-form", 1],
  ["replies that are no JSON", { reply: "I think so" }, "not-json", 2],
  ["replies of another form", { reply: '{"subject": 3}' }, "wrong-form", 2],
  ["no end of waiting", "hang", "timeout", 2],
])("%s every time leaves no verdict, which is not 0", async (_, behaviour, kind, calls) => {
  server.script(() => behaviour);
  const judge = testJudge(server.url, behaviour === "hang" ? { timeout: 20_000 } : {});
  const terms = await judge.terms([same]);
  expect(terms[0]?.value).toBeNull();
  expect(terms[0]?.note).toMatch(/judge|model/i);
  expect(terms[0]?.judge).toMatchObject({ score: null, failure: kind, calls });
  expect(server.calls).toHaveLength(calls);
  expect(judge.spent.calls).toBe(calls);
});

test("equal requests in progress are sent once, whatever row they are about", async () => {
  server.script(() => ({ slow: 20 }));
  const terms = await testJudge(server.url, { dlc: true }).terms([same, { ...same, reference: "of another row" }]);
  expect(terms.map(({ value }) => value)).toEqual([1, 1]);
  // Keys are hashed in other threads, so either row may send a question first; it is sent, and counted, once.
  expect(terms.reduce((sum, { judge }) => sum + (judge?.calls ?? 0), 0)).toBe(3);
  expect(server.calls).toHaveLength(3);
});

test("a request that another caller stops is sent again", async () => {
  const judge = testJudge(server.url, { dlc: true });
  const stop = new AbortController();
  server.script(() => "hang");
  const stopped = judge.terms([same], { signal: stop.signal });
  await vi.waitFor(() => expect(server.calls).toHaveLength(3));
  const waiting = judge.terms([same]);
  server.script(() => "good");
  stop.abort();
  await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
  expect((await waiting).map(({ value, judge }) => [value, judge?.calls])).toEqual([[1, 3]]);
});

test("one caption that cannot be judged does not take the others with it", async () => {
  server.script((_, { text }) => (text.includes("blue boat") ? { status: 500 } : "good"));
  const terms = await testJudge(server.url, { retries: 0 }).terms([same, other, half]);
  expect(terms.map(({ value }) => value)).toEqual([1, null, 4 / 5]);
});

test("a failure is not remembered as a verdict", async () => {
  const cache = memoryCache();
  server.script(() => ({ reply: "no" }));
  expect((await testJudge(server.url, { cache }).terms([same]))[0]?.value).toBeNull();
  server.script(() => "good");
  expect((await testJudge(server.url, { cache }).terms([same]))[0]?.value).toBe(1);
});

test("Retry-After holds back every call, also of other captions, and is waited out", async () => {
  server.script((call) => (call === 1 ? bad429("40") : "good"));
  const judge = testJudge(server.url, { parallel: 1 });
  const terms = await judge.terms([same, half]);
  expect(terms.map(({ value }) => value)).toEqual([1, 4 / 5]);
  expect(Math.max(...judge.clock.waits.filter((wait) => wait < 1_000_000))).toBeGreaterThan(38_000);
});

test("a date in Retry-After is understood", async () => {
  const judge = testJudge(server.url);
  const date = new Date(judge.clock.now() + 20_000).toUTCString();
  server.script((call) => (call === 0 ? bad429(date) : "good"));
  expect((await judge.terms([same]))[0]?.value).toBe(1);
  expect(judge.clock.waits.some((wait) => wait > 10_000 && wait < 25_000)).toBe(true);
});

test("no more calls are in progress than allowed", async () => {
  server.script(() => ({ slow: 20 }));
  const pairs = Array.from({ length: 12 }, (_, n) => ({
    reference: `a red car ${"x".repeat(n + 3)}`,
    hypothesis: RED,
  }));
  await testJudge(server.url, { parallel: 3 }).terms(pairs);
  expect(server.calls).toHaveLength(24);
  expect(server.peak).toBe(3);
});

test.each([0, 1, 2, 5, 7])("a budget of %i calls is kept to the call, repeats included", async (calls) => {
  server.script((call) => (call % 3 === 1 ? { status: 500 } : "good"));
  const pairs = Array.from({ length: 8 }, (_, n) => ({ reference: RED, hypothesis: `a red car ${"y".repeat(n + 3)}` }));
  const judge = testJudge(server.url, { calls, parallel: 4 });
  const terms = await judge.terms(pairs);
  if (calls === 0) expect(terms.every(({ value }) => value !== null)).toBe(true);
  else {
    expect(server.calls).toHaveLength(calls);
    expect(judge.spent.calls).toBe(calls);
    expect(terms.filter(({ judge }) => judge?.failure === "budget").length).toBeGreaterThan(0);
    expect(terms.every(({ value, judge }) => (value === null) === (judge?.failure !== null))).toBe(true);
  }
});

test("a budget of money is never passed", async () => {
  // A call costs 0.11; its bound before it is sent is that of its prompt and of 500 tokens.
  const pairs = Array.from({ length: 30 }, (_, n) => ({
    reference: RED,
    hypothesis: `a red car ${"y".repeat(n + 3)}`,
  }));
  const judge = testJudge(server.url, { cost: 4, parallel: 8 });
  const terms = await judge.terms(pairs);
  expect(judge.spent.cost).toBeCloseTo(server.calls.length * 0.11, 10);
  expect(judge.spent.cost).toBeLessThanOrEqual(4);
  expect(server.calls.length).toBeGreaterThan(2);
  expect(terms.some(({ judge }) => judge?.failure === "budget")).toBe(true);
});

test("stopping ends every call at once", async () => {
  server.script(() => "hang");
  const stop = new AbortController();
  const work = testJudge(server.url).terms([same, other], { signal: stop.signal });
  await vi.waitFor(() => expect(server.calls.length).toBeGreaterThan(0));
  stop.abort();
  await expect(work).rejects.toMatchObject({ code: "cancelled" });
});

test("a caption without words is judged without asking", async () => {
  const terms = await testJudge(server.url).terms([{ reference: RED, hypothesis: " **\u0000** " }]);
  expect(terms[0]).toMatchObject({ value: 0, note: "empty caption", judge: { calls: 0, recognised: false } });
  expect(server.calls).toHaveLength(0);
});

test("servers that refuse a form of request are asked in another", async () => {
  server.script((_, { body }) => {
    if ("max_tokens" in body) return { status: 400, body: "Use 'max_completion_tokens' instead of 'max_tokens'" };
    if ("temperature" in body) return { status: 400, body: "Unsupported value: 'temperature'" };
    return body.response_format === undefined ? "good" : { status: 400, body: "response_format is not supported" };
  });
  const judge = testJudge(server.url, { parallel: 1 });
  expect((await judge.terms([same]))[0]?.value).toBe(1);
  expect(server.calls).toHaveLength(6);
  server.forget();
  expect((await judge.terms([half]))[0]?.value).toBe(4 / 5);
  expect(server.calls).toHaveLength(1);
});

test("a key goes into the header and comes out nowhere, also when the server repeats it", async () => {
  const key = 'zk-"recognisable"/+=key';
  server.script((call, { headers }) => {
    const said = String(headers.authorization);
    if (call === 0) return { status: 401, body: JSON.stringify({ error: { message: `Incorrect: ${said}` } }) };
    return { reply: `${said} ${encodeURIComponent(key)} ${JSON.stringify(key)}` };
  });
  const cache = memoryCache();
  for (let run = 0; run < 2; run++) {
    const terms = await testJudge(server.url, { key, cache }).terms([same]);
    expect(server.calls.at(-1)?.headers.authorization).toBe(`Bearer ${key}`);
    expect(terms[0]?.value).toBeNull();
    const all = JSON.stringify(terms);
    expect(all).toContain("[key]");
    for (const part of ["recognisable", encodeURIComponent(key)]) expect(all).not.toContain(part);
  }
});

test.each([
  ["an escaped slash", String.raw`sk-AbC\/dEf+12==`],
  ["escaped signs", String.raw`sk-AbC/dEf\u002B12\u003d\u003d`],
  ["JSON inside JSON", String.raw`{\"error\": \"sk-AbC\\\/dEf+12\\u003d=\"}`],
])("a key that a refusal spells with %s comes out nowhere", async (_, spelled) => {
  const key = "sk-AbC/dEf+12==";
  server.script(() => ({ status: 401, body: `{"error":{"message":"Incorrect API key provided: ${spelled}"}}` }));
  const [term] = await testJudge(server.url, { key }).terms([same]);
  expect(term?.note).toMatch(/\(status 401\): Incorrect API key provided: .*\[key\]/);
  expect(term?.judge?.raw.join()).toContain("[key]");
  for (const text of [term?.note, ...(term?.judge?.raw ?? [])]) expect(text).not.toMatch(/sk-AbC/);
});

test("a key among the names of models comes out of none of them", async () => {
  const key = "sk-AbC/dEf+12==";
  const named = String.raw`{"data": [{"id": "sk-AbC\/dEf%2B12\u003d="}]}`;
  const deps = { fetch: async () => new Response(named), now: () => 0 };
  const names = await listModels({ url: server.url, key: () => key }, deps, new AbortController().signal);
  expect(names).toEqual(["[key]"]);
});
