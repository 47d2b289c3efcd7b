/** Replies in the forms of chat servers: why they ended, and what of them is the reply. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { chatReply } from "../../../../src/engine/rewards/judge/providers/openai.ts";
import { type ChatRequest, JudgeFailure } from "../../../../src/engine/rewards/judge/providers/provider.ts";
import { readLetters } from "../../../../src/engine/rewards/judge/questions/question-set.ts";

const REQUEST: ChatRequest = { messages: [{ role: "user", content: "?" }], schema: null, maxTokens: 10 };

test.each([
  ["stop", "A", null],
  ["length", "A", "limit"],
  ["content_filter", "A", "filter"],
  [undefined, "A", null],
])("an answer that ended by %s is a reply", (reason, content, cut) => {
  const answer = { choices: [{ finish_reason: reason, message: { content } }], usage: { prompt_tokens: 3 } };
  const expected = { text: content, promptTokens: 3, completionTokens: null, cut, limit: 10 };
  expect(chatReply(answer, "", REQUEST, 10)).toEqual(expected);
});

test("an answer that was interrupted is none", () => {
  const answer = { choices: [{ finish_reason: "abort", message: { content: "A. The des" } }] };
  expect(() => chatReply(answer, "A. The des", REQUEST, 10)).toThrow("interrupted before its reply was complete");
});

test("an answer in parts is its text, without reasoning that a service puts apart", () => {
  const thinking = { type: "thinking", thinking: [{ type: "text", text: "B fits as well." }] };
  const answer = (...content: unknown[]) => ({ choices: [{ finish_reason: "stop", message: { content } }] });
  expect(
    chatReply(answer(thinking, { type: "text", text: "A" }, { type: "text", text: "." }), "", REQUEST, 10).text,
  ).toBe("A.");
  expect(() => chatReply(answer(thinking), "", REQUEST, 10)).toThrow("The judge's answer contains no reply");
});

interface Table {
  readonly questions: readonly (readonly string[])[];
  readonly replies: readonly { name: string; reply: string; expected: string | readonly string[] }[];
  readonly answers: readonly {
    name: string;
    answer: unknown;
    schema: boolean;
    limit: number;
    expected: string | { text: string; cut: string | null };
  }[];
}

// The Python package reads the same table.
const TABLE = JSON.parse(
  readFileSync(new URL("../../../fixtures/judge-replies.json", import.meta.url), "utf8"),
) as Table;
const QUESTIONS = TABLE.questions.map((choices) => ({
  type: "positive" as const,
  question: "?",
  choices: choices.map((text) => [text, 1] as const),
}));

/** What a call returns, or the kind of its failure. */
function outcome<Value>(call: () => Value): Value | string {
  try {
    return call();
  } catch (thrown) {
    if (thrown instanceof JudgeFailure) return thrown.kind;
    throw thrown;
  }
}

test.each(TABLE.replies)("a reply: $name", ({ reply, expected }) => {
  expect(outcome(() => readLetters(reply, QUESTIONS))).toEqual(expected);
});

test.each(TABLE.answers)("an answer: $name", ({ answer, schema, limit, expected }) => {
  const request = { ...REQUEST, schema: schema ? {} : null };
  const found = outcome(() => chatReply(answer, JSON.stringify(answer), request, limit));
  expect(typeof found === "string" ? found : { text: found.text, cut: found.cut }).toEqual(expected);
});
