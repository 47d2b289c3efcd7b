/** Replies in the forms of chat servers: why they ended, and what of them is the reply. */
import { expect, test } from "vitest";
import { chatReply } from "../../../../src/engine/rewards/judge/providers/openai.ts";
import type { ChatRequest } from "../../../../src/engine/rewards/judge/providers/provider.ts";

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
