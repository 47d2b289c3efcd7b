/** Replies of judges that were made to stall or end a run: each becomes a missing verdict, at once. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { replyObject } from "../../../src/engine/rewards/judge/questions/question-set.ts";
import { testJudge } from "../../support/judge.ts";
import { type Behaviour, type JudgeServer, judgeServer } from "../../support/judge-server.ts";

const DEEP = `${'{"error":['.repeat(20_000)}${"]}".repeat(20_000)}`;
const PAIR = { reference: "a red car", hypothesis: "a car" };
let server: JudgeServer;

beforeAll(async () => {
  server = await judgeServer();
});
afterAll(() => server.close());

describe("a reply", () => {
  it.each([
    ['{"a": 1}'],
    ['```json\n{"a": 1}\n```'],
    ['```{"a": 1}```'],
    ['<think>{"a": 2} or </think> ```\n\n {"a": 1}\n\n```  '],
    ['```json\n{"a": "```"}\n```'],
  ])("is read out of %j", (text) => {
    expect(Object.keys(replyObject(text))).toEqual(["a"]);
  });

  it.each([
    ["```", "``` ```", "`````", "```json```", "<think>", "", '{"a": 1} {"a": 1}', "```\n[1]\n```", "null"],
    [
      `\`\`\`${"\n".repeat(400_000)}`,
      `\`\`\`${"\n".repeat(400_000)}x\`\`\``,
      "<think>".repeat(100_000),
      "</think>".repeat(100_000),
      DEEP,
      `${"[".repeat(100_000)}`,
      `{"\\"${'\\"'.repeat(2_000_000)}`,
      `1e999 "${'\\"'.repeat(2_000_000)}\\`,
      `{${", ".repeat(1_000_000)}`,
      "{".repeat(1_000_000),
    ],
  ])("that holds no object is refused at once", (...texts) => {
    for (const text of texts)
      expect(() => replyObject(text)).toThrow(/^The model's reply is (?:not JSON|not a JSON object)$/);
  });
});

describe("a server", () => {
  it.each<[string, Behaviour]>([
    ["a fence and line ends", { reply: `\`\`\`${"\n".repeat(200_000)}` }],
    ["a deep reply", { reply: DEEP }],
    ["a deep answer", { body: DEEP }],
    ["a deep error", { status: 400, body: DEEP }],
    ["a deep failure", { status: 500, body: DEEP }],
    ["an error of objects", { status: 404, body: '{"error": {"message": {"toString": 1}}, "detail": [{"a": 1}]}' }],
    ["an error page with escapes", { status: 403, body: `\u001b[31m${"<p>no\u202e</p>\n".repeat(2000)}` }],
    ["more bytes than an answer has", { body: " ".repeat(5_000_000) }],
  ])("that sends %s gives no verdict and one sentence", async (_, behaviour) => {
    server.script(() => behaviour);
    const [term] = await testJudge(server.url, { retries: 0 }).terms([PAIR]);
    expect(term?.value).toBeNull();
    expect(term?.note?.length).toBeLessThanOrEqual(300);
    expect(term?.note).not.toMatch(/[\p{Cc}\u202e]|\[object/u);
  });
});
