/** Reads the reply from a chat answer in the OpenAI format, which servers and models in a tab share. */
import { isRecord } from "../../../bytes/json.ts";
import { JudgeFailure } from "./failure.ts";
import type { ChatReply } from "./provider.ts";

/** Stop reasons of an incomplete reply. */
const CUT: ReadonlySet<unknown> = new Set(["length", "content_filter"]);

/**
 * @param raw the response text, for the failure
 * @throws JudgeFailure("wrong-form") without a reply, JudgeFailure("server") when the model was interrupted
 */
export function chatReply(answer: unknown, raw: string): ChatReply {
  const choices = isRecord(answer) && Array.isArray(answer.choices) ? (answer.choices as unknown[]) : [];
  const [first] = choices;
  const text = isRecord(first) && isRecord(first.message) ? textOf(first.message.content) : undefined;
  if (!isRecord(first) || text === undefined) {
    throw new JudgeFailure("wrong-form", "The judge's answer contains no reply", { raw });
  }
  if (first.finish_reason === "abort") {
    throw new JudgeFailure("server", "The judge's model was interrupted before its reply was complete", { raw });
  }
  const usage = isRecord(answer) && isRecord(answer.usage) ? answer.usage : {};
  const count = (name: string): number | null => {
    const tokens = usage[name];
    return typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0 ? tokens : null;
  };
  return {
    text,
    promptTokens: count("prompt_tokens"),
    completionTokens: count("completion_tokens"),
    cut: CUT.has(first.finish_reason),
  };
}

/** Text of a reply: the string, or the text parts of a list, in which some services separate reasoning. */
function textOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return typeof content === "string" ? content : undefined;
  const texts = content.flatMap((part: unknown) =>
    isRecord(part) && typeof part.text === "string" ? [part.text] : [],
  );
  return texts.length === 0 ? undefined : texts.join("");
}
