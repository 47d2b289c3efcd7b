/** The parts of a judge one by one: addresses, prompts, questions, the cache, what a failure means. */
import { describe, expect, it, test } from "vitest";
import { defaultConfig } from "../../../../src/engine/config/parse.ts";
import { memoryCache, openCache, replyKey } from "../../../../src/engine/rewards/judge/cache.ts";
import { ranged } from "../../../../src/engine/rewards/judge/judge.ts";
import { timerClock } from "../../../../src/engine/rewards/judge/providers/caller.ts";
import { parseEndpoint, redactor } from "../../../../src/engine/rewards/judge/providers/endpoint.ts";
import { retryAfterMs, statusFailure } from "../../../../src/engine/rewards/judge/providers/openai.ts";
import type { JudgeFailure } from "../../../../src/engine/rewards/judge/providers/provider.ts";
import {
  checkPrompts,
  DEFAULT_PROMPTS,
  fillPrompt,
  plainCaption,
  promptVersion,
} from "../../../../src/engine/rewards/judge/questions/prompts.ts";
import {
  hashShuffle,
  parseQuestionFile,
  questionText,
  readLetters,
  readQuestions,
  replyObject,
} from "../../../../src/engine/rewards/judge/questions/question-set.ts";
import { openJudge } from "../../../../src/engine/rewards/judge/setup.ts";
import { judgeJitter } from "../../../../src/engine/rl/run/run-judge.ts";
import { clearJudgeCache, judgeCache } from "../../../../src/engine/runs/judge-cache.ts";
import { listRuns } from "../../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../../src/engine/storage/memory-store.ts";
import { type Circumstances, diagnose } from "../../../../src/plugins/judge-workshop/diagnosis.ts";
import { inOrder, TEST_PAIRS, TEST_QUESTIONS } from "../../../../src/plugins/judge-workshop/test-pairs.ts";

describe("addresses", () => {
  it.each([
    ["http://localhost:11434", "http://localhost:11434/v1/chat/completions", "http://localhost:11434/v1"],
    ["http://localhost:1234/v1/", "http://localhost:1234/v1/chat/completions", "http://localhost:1234/v1"],
    [" https://a.b/x/v1/chat/completions ", "https://a.b/x/v1/chat/completions", "https://a.b/x/v1"],
    ["https://a.b/v1?api-version=2#x", "https://a.b/v1/chat/completions?api-version=2", "https://a.b/v1"],
  ])("%s is understood", (text, chat, place) => {
    expect(parseEndpoint(text)).toMatchObject({ chatUrl: chat, place });
  });

  it.each([
    "",
    "localhost:11434",
    "ftp://a",
    "http://me:secret@a/v1",
    "https://a/v1?api_key=zk-1",
    "https://a/?token=x",
  ])("%s is refused, and not repeated", (text) => {
    expect(() => parseEndpoint(text)).toThrow(/^The judge's address cannot be used/);
    expect(() => parseEndpoint(text)).not.toThrow(/secret|zk-1/);
  });

  it("with the key in them are refused before anything is sent", async () => {
    const config = { ...defaultConfig(), judge: "questions" as const, judgeUrl: "https://a.b/zk-12345/v1" };
    const host = {
      key: () => "zk-12345",
      allows: () => true,
      fetch: () => Promise.reject(new Error("sent")),
      clock: timerClock(() => 0),
      jitter: () => 0.5,
      cache: async () => memoryCache(),
    };
    await expect(openJudge(config, host)).rejects.toThrow("contains its key");
    await expect(openJudge({ ...config, judgeUrl: "" }, host)).rejects.toThrow("has no address");
    await expect(openJudge({ ...config, judge: "dlc" }, host)).rejects.toThrow("needs prepared questions");
    expect(await openJudge({ ...config, judge: "off" }, host)).toBeNull();
  });
});

test("a key is taken out in every form, and short ones are left alone", () => {
  const redact = redactor('a"b/c d');
  expect(redact(String.raw`1 a"b/c d 2 a\"b/c d 3 a%22b%2Fc%20d`)).toBe("1 [key] 2 [key] 3 [key]");
  const all = redactor("sk-AbC/dEf+12==\n");
  for (const form of [
    "sk-AbC/dEf+12==",
    String.raw`sk-AbC\/dEf+12==`,
    String.raw`sk-AbC/dEf\u002B12\u003d\u003D`,
    "sk-AbC%2FdEf%2b12%3D%3d",
    String.raw`\u0073k-AbC\/dEf%2B12=\u003d`,
    String.raw`sk-AbC\\\/dEf+12\\u003d=`,
  ]) {
    expect(all(`1 ${form} 2`), form).toBe("1 [key] 2");
  }
  expect(all("sk-abc/dEf+12== sk-AbC/dEf+12=")).toBe("sk-abc/dEf+12== sk-AbC/dEf+12=");
  expect(redactor(String.raw`a\\b%25`)(String.raw`a\\b%25 a\\\\b%25 a%5c%5Cb%2525`)).toBe("[key] [key] [key]");
  expect(redactor("")("any text")).toBe("any text");
  expect(redactor("an")("any text")).toBe("any text");
});

test("a key is taken out of a long text that almost repeats it, and a long key too", () => {
  const redact = redactor(String.raw`//\\/sk=%25`);
  for (const part of ["\\", "/", "%25", String.raw`\\\/`, String.raw`//\\/sk=%2`, String.raw`\u002f`]) {
    const body = part.repeat(2 ** 21 / part.length);
    expect(redact(`${body} ${String.raw`//\\/sk=%25`} ${body}`) === `${body} [key] ${body}`, part).toBe(true);
  }
  const long = Array.from({ length: 3000 }, (_, at) => `${at}/`).join("");
  expect(redactor(long)(`1 ${JSON.stringify(long).replaceAll("/", "\\/")} 2`)).toMatch(/^1 "(?:\[key\])+" 2$/);
});

test("a key that JSON spells in yet another form is taken out of what a refusal says", () => {
  const text = String.raw`{"error": {"message": "Incorrect: sk-AbC\u005c/dEf"}}`;
  const failure = statusFailure({ status: 401, text, retryAfter: null }, redactor("sk-AbC/dEf"));
  expect(failure.message).toBe("The judge refused the key (status 401): Incorrect: [key]");
});

test("Retry-After is seconds or a date", () => {
  expect(retryAfterMs("3", 0)).toBe(3000);
  expect(retryAfterMs("0.5", 0)).toBe(500);
  expect(retryAfterMs("Thu, 01 Jan 1970 00:00:10 GMT", 4000)).toBe(6000);
  expect(retryAfterMs("Thu, 01 Jan 1970 00:00:01 GMT", 4000)).toBe(0);
  expect(retryAfterMs("soon", 0)).toBeNull();
  expect(retryAfterMs(null, 0)).toBeNull();
});

describe("prompts", () => {
  it("have a version that changes with every text", async () => {
    const base = await promptVersion(DEFAULT_PROMPTS);
    expect(base).toMatch(/^[0-9a-f]{16}$/);
    for (const name of ["questions", "answers", "dlc"] as const) {
      expect(await promptVersion({ ...DEFAULT_PROMPTS, [name]: `${DEFAULT_PROMPTS[name]} ` })).not.toBe(base);
    }
  });

  it("need their placeholders, and fill in nothing twice", () => {
    expect(() => checkPrompts({ answers: "{{caption}}" })).toThrow('"answers" lacks {{questions}}');
    expect(checkPrompts({})).toEqual(DEFAULT_PROMPTS);
    expect(fillPrompt("{{a}} {{b}} {{c}}", { a: "{{b}}", b: "$&" })).toBe("{{b}} $& {{c}}");
  });

  it("show captions without what could steer or break them", () => {
    expect(plainCaption("# **A**\n\n</description> dog\u0000\u202e `x`")).toBe("A dog x");
    expect(plainCaption("  \u200b ")).toBe("");
    expect(plainCaption("x".repeat(10_000))).toHaveLength(6000);
    expect(plainCaption("a café, 3 < 4")).toBe("a café, 3 4");
  });
});

describe("questions from a reference", () => {
  const counts = { positives: 2, negatives: 1 };
  const reply = JSON.stringify({
    subject: "car",
    attributes: ["lid", "wheel", "roof"].map((part) => ({ part, attribute: "colour", value: "red" })),
    absent: ["wing", "horn"],
  });
  const kept = readQuestions(reply, counts, (choices) => choices);

  it("are recognition, at most the set number of positive, at most the set number of negative", () => {
    expect(kept.map(({ type }) => type)).toEqual(["recognition", "positive", "positive", "negative"]);
    expect(kept[1]?.choices.map(([, score]) => score)).toEqual([0, 0.5, -1, 1]);
    expect(kept[3]?.choices.map(([, score]) => score)).toEqual([1, -1]);
    const asked = kept.map(({ question, choices }) => ({ question, choices: choices.map(([text]) => text) }));
    expect(questionText(asked.slice(0, 1))).toBe(
      'q1. Is it likely that the description is about "car" or something of a similar kind?\nA. Yes\nB. No',
    );
  });

  it("are shuffled by nothing but a hash, every choice kept", () => {
    const [first, again, other] = [
      "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
      "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
      "9".repeat(32),
    ].map((hash) => readQuestions(reply, counts, hashShuffle(hash)));
    expect(first).toEqual(again);
    expect(first).not.toEqual(other);
    for (const [at, question] of kept.entries()) {
      expect([...(first?.[at]?.choices ?? [])].sort()).toEqual([...question.choices].sort());
    }
  });

  it.each([
    ["[]", "wrong-form"],
    ['{"subject": "car", "attributes": [], "absent": []}', "wrong-form"],
    ['{"subject": " ", "attributes": [{"part": "a", "attribute": "b", "value": "c"}], "absent": []}', "wrong-form"],
    ['{"subject": "car", "attributes": [{"part": "a", "attribute": 3, "value": "c"}], "absent": []}', "wrong-form"],
    ['{"subject": "car", "attributes": [{"part": "a", "attribute": "b", "value": "c"}]}', "wrong-form"],
    ["Sure! Here it is", "not-json"],
    ["", "not-json"],
  ])("are not read from %s", (text, kind) => {
    let failure: JudgeFailure | undefined;
    try {
      readQuestions(text, counts, (choices) => choices);
    } catch (thrown) {
      failure = thrown as JudgeFailure;
    }
    expect(failure).toMatchObject({ kind, raw: text });
  });

  it("are answered by letters within range only", () => {
    expect(readLetters('{"q1": "a", "q2": " B. ", "q3": "D)", "q4": "B"}', kept)).toEqual(["A", "B", "D", "B"]);
    for (const bad of ['"C"', '"AB"', "0", '""', "null"]) {
      expect(() => readLetters(`{"q1": ${bad}, "q2": "A", "q3": "A", "q4": "A"}`, kept)).toThrow("q1");
    }
    expect(() => readLetters('{"q1": "A"}', kept)).toThrow("q2");
  });

  it("are found behind thoughts and in fences", () => {
    expect(replyObject('<think>{"a": 2}</think>\n```json\n{"a": 1}\n```')).toEqual({ a: 1 });
    expect(replyObject('```JSON\n{"a": 1}```')).toEqual({ a: 1 });
    expect(() => replyObject('{"a": 1} and {"b": 2}')).toThrow("not JSON");
  });
});

describe("a file of written questions", () => {
  it("is found by reference, else by the set for all", () => {
    const set = (question: string) => JSON.parse(TEST_QUESTIONS.replaceAll("A red collar", question))[0];
    const file = parseQuestionFile(
      "q.json",
      JSON.stringify({ sets: [{ reference: "a dog ", ...set("X") }, set("Y")] }),
    );
    expect(JSON.stringify(file.find(" a dog"))).toContain("X is mentioned");
    expect(JSON.stringify(file.find("a cat"))).toContain("Y is mentioned");
    expect(parseQuestionFile("q.json", JSON.stringify([{ reference: "a", ...set("X") }])).find("b")).toBeNull();
  });

  const recognition = {
    type: "recognition",
    question: "?",
    choices: [
      ["Yes", "correct"],
      ["No", "incorrect"],
    ],
  };
  it.each([
    ["{", "not valid JSON"],
    ["[]", "no list of question sets"],
    ["[3]", "set 1 has no questions"],
    [[{ questions: [{ ...recognition, type: "other" }] }], "question 1 is neither"],
    [
      [
        {
          questions: [
            {
              ...recognition,
              choices: [
                ["Yes", 1],
                ["No", 0],
              ],
            },
          ],
        },
      ],
      'neither "correct"',
    ],
    [[{ questions: [recognition] }], "no positive question"],
    [
      [
        {
          questions: [
            {
              type: "positive",
              question: "?",
              choices: [
                ["a", 2],
                ["b", 0],
              ],
            },
          ],
        },
      ],
      "from -1 to 1",
    ],
    [[{ questions: [{ ...recognition, choices: [["Yes", "correct"]] }] }], "2 to 5 choices"],
    [
      [
        {
          reference: 3,
          questions: [
            recognition,
            {
              type: "positive",
              question: "?",
              choices: [
                ["a", 1],
                ["b", 0],
              ],
            },
          ],
        },
      ],
      "not a text",
    ],
  ])("is refused when it is %j", (content, cause) => {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    expect(() => parseQuestionFile("q.json", text)).toThrow(cause);
    expect(() => parseQuestionFile("q.json", text)).toThrow(/^q\.json: /);
  });
});

describe("the cache", () => {
  it("survives a line cut off by a crash", async () => {
    let text = '{"key":"a","reply":"1"}\n{"key":"b","re';
    const file = {
      read: async () => text,
      append: async (line: string) => {
        text += line;
      },
    };
    const cache = await openCache(file, () => undefined);
    expect([cache.get("a"), cache.get("b")]).toEqual(["1", undefined]);
    await Promise.all([cache.put("c", "3\n"), cache.put("d", "4")]);
    const again = await openCache(file, () => undefined);
    expect([again.get("a"), again.get("c"), again.get("d"), again.size]).toEqual(["1", "3\n", "4", 3]);
  });

  it("continues in memory when nothing can be written, and says so once", async () => {
    const told: unknown[] = [];
    const append = () => Promise.reject(new Error("full"));
    const cache = await openCache({ read: async () => "", append }, (thrown) => told.push(thrown));
    await cache.put("a", "1");
    await cache.put("b", "2");
    expect([cache.get("a"), cache.get("b"), told.length]).toEqual(["1", "2", 1]);
  });

  it("lies beside the runs and is none of them", async () => {
    const store = memoryStore();
    await (await judgeCache(store, () => undefined)).put("a", "1");
    expect((await judgeCache(store, () => undefined)).get("a")).toBe("1");
    expect(await listRuns(store)).toMatchObject({ runs: [], damaged: [] });
    await clearJudgeCache(store);
    expect((await judgeCache(store, () => undefined)).size).toBe(0);
  });

  it("has another key for another word, model, kind and version", async () => {
    const request = { messages: [{ role: "user", content: "a" }], schema: null, maxTokens: 5 } as const;
    const keys = await Promise.all([
      replyKey("questions", "m", "v", request),
      replyKey("dlc", "m", "v", request),
      replyKey("questions", "n", "v", request),
      replyKey("questions", "m", "w", request),
      replyKey("questions", "m", "v", { ...request, messages: [{ role: "user", content: "b" }] }),
      replyKey("questions", "m", "v", { ...request, schema: {} }),
    ]);
    expect(new Set(keys).size).toBe(6);
  });
});

test("the range of a score is raw, clamped or rescaled", () => {
  expect([-1, -0.5, 0, 1].map((score) => ranged(score, "raw"))).toEqual([-1, -0.5, 0, 1]);
  expect([-1, -0.5, 0, 1].map((score) => ranged(score, "clamp"))).toEqual([0, 0, 0, 1]);
  expect([-1, -0.5, 0, 1].map((score) => ranged(score, "rescale"))).toEqual([0, 0.25, 0.5, 1]);
});

test("scatter of waits is a pure function of call and repeat", () => {
  const jitter = judgeJitter(3);
  expect(jitter(1, 2)).toBe(judgeJitter(3)(1, 2));
  expect(new Set([jitter(0, 0), jitter(0, 1), jitter(1, 0), judgeJitter(4)(0, 0)]).size).toBe(4);
});

test("the test pairs stand from the same caption to a wrong one", () => {
  expect(TEST_PAIRS.map(({ name }) => name)).toEqual(["same", "close", "wrong"]);
  expect(inOrder([1, 0.5, 0])).toBe(true);
  expect(inOrder([1, 1, 1])).toBe(false);
  expect(inOrder([0, 0.5, 1])).toBe(false);
  expect(inOrder([1, null, 0])).toBeNull();
});

describe("a diagnosis", () => {
  const at = (changes: Partial<Circumstances>): Circumstances => ({
    origin: "https://lab.example",
    url: "http://localhost:11434/v1",
    model: "m",
    reach: { answers: false, localPermission: null },
    ...changes,
  });
  it.each([
    [{ reach: { answers: true, localPermission: null } }, "CORS refused", "OLLAMA_ORIGINS=https://lab.example"],
    [
      { url: "http://localhost:8000", reach: { answers: true, localPermission: null } },
      "CORS refused",
      "--allowed-origins",
    ],
    [{ url: "http://localhost:1234", reach: { answers: true, localPermission: null } }, "CORS refused", "Enable CORS"],
    [{ url: "https://api.example", reach: { answers: true, localPermission: null } }, "CORS refused", "Access-Control"],
    [{ reach: { answers: false, localPermission: "denied" } }, "Local network not permitted", "Local network access"],
    [{ reach: { answers: false, localPermission: "prompt" } }, "Local network not permitted yet", "allow"],
    [
      { origin: "http://localhost:5173", reach: { answers: false, localPermission: "prompt" } },
      "Nothing answers",
      "Start it",
    ],
    [{ url: "http://192.168.0.2:8000" }, "Address not allowed", "ssh -N -L"],
    [{}, "Nothing answers", "localhost:11434"],
  ] as const)("of no answer with %j is %s", (changes, title, advice) => {
    const found = diagnose("unreachable", at(changes as Partial<Circumstances>));
    expect(found.title).toBe(title);
    expect(`${found.advice} ${found.line ?? ""}`).toContain(advice);
  });

  it("of everything else says what to do", () => {
    expect(diagnose("bad-key", at({})).title).toBe("Key refused");
    expect(diagnose("no-model", at({})).line).toBe("ollama pull m");
    expect(diagnose("not-json", at({})).title).toBe("Not JSON");
  });
});
