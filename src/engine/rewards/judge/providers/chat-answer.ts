/** Reads the reply from a chat answer in the OpenAI format, which servers and models in a tab share. */
import { isRecord } from "../../../bytes/json.ts";
import { shortened } from "../../../errors.ts";
import { JudgeFailure } from "./failure.ts";
import type { ChatReply, ChatRequest } from "./provider.ts";
import { type ServerError, serverError } from "./server-error.ts";

/** Stop reasons of an incomplete reply, in the words of servers and proxies. */
const CUT: Readonly<Record<string, ChatReply["cut"]>> = {
  length: "limit",
  max_tokens: "limit",
  max_output_tokens: "limit",
  model_length: "limit",
  content_filter: "filter",
  safety: "filter",
};

/** The error in an answer of status 200; null if the answer holds a reply or nothing known. */
export function bodyError(answer: unknown): ServerError | null {
  const first = firstChoice(answer);
  if (isRecord(first.message) && !isRecord(first.error)) return null;
  const source = isRecord(first.error) ? first : answer;
  if (!isRecord(source)) return null;
  const failed = Boolean(source.error) || source.object === "error" || source.type === "error";
  return failed ? serverError(source) : null;
}

/**
 * @param raw the response text, for the failure
 * @param limit maximum tokens that the request allowed; less than request.maxTokens if the server allows no more
 * @throws JudgeFailure("wrong-form") without a reply, JudgeFailure("server") when the model was interrupted
 */
export function chatReply(
  answer: unknown,
  raw: string,
  { schema }: Pick<ChatRequest, "schema">,
  limit: number,
): ChatReply {
  const first = firstChoice(answer);
  if (first.finish_reason === "abort") {
    throw new JudgeFailure("server", "The judge's model was interrupted before its reply was complete", { raw });
  }
  const message = isRecord(first.message) ? first.message : {};
  if (typeof message.refusal === "string" && message.refusal !== "") {
    const said = shortened(message.refusal, 100);
    throw new JudgeFailure("wrong-form", `The judge's model refused to answer: ${said}; choose another judgeModel`, {
      raw,
    });
  }
  const reasoning = textOf(message.reasoning_content) || textOf(message.reasoning) || "";
  const reason = first.finish_reason ?? first.stop_reason;
  const ended = typeof reason === "string" ? (CUT[reason.toLowerCase()] ?? null) : null;
  let text = textOf(message.content) ?? (reasoning !== "" || ended !== null ? "" : undefined);
  if (text === undefined) {
    const said = isRecord(answer) ? serverError(answer).said : "";
    const why =
      said === ""
        ? ` (${shortened(raw, 80)}); check that judgeUrl is an OpenAI-compatible address, which usually ends in /v1`
        : `: ${shortened(said, 150)}`;
    throw new JudgeFailure("wrong-form", `The judge's answer contains no reply${why}`, { raw });
  }
  // Some servers take a whole structured reply for reasoning.
  if (text.trim() === "" && ended === null && schema !== null) text = reasoning;
  const unfinished = text.trim() === "" || /^\s*<think>(?![\s\S]*<\/think>)/.test(text);
  const usage = isRecord(answer) && isRecord(answer.usage) ? answer.usage : {};
  const count = (name: string): number | null => {
    const tokens = usage[name];
    return typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0 ? tokens : null;
  };
  const completionTokens = count("completion_tokens");
  // Some servers give no reason.
  const isFull = typeof reason !== "string" && completionTokens !== null && completionTokens >= limit;
  return {
    text,
    promptTokens: count("prompt_tokens"),
    completionTokens,
    cut: ended ?? (unfinished || isFull ? "limit" : null),
    limit,
  };
}

function firstChoice(answer: unknown): Record<string, unknown> {
  const choices = isRecord(answer) && Array.isArray(answer.choices) ? (answer.choices as unknown[]) : [];
  return isRecord(choices[0]) ? choices[0] : {};
}

/** Text of a reply: the string, or the text parts of a list, in which some services separate reasoning. */
function textOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return typeof content === "string" ? content : undefined;
  const texts = content.flatMap((part: unknown) =>
    isRecord(part) && typeof part.text === "string" ? [part.text] : [],
  );
  return texts.length === 0 ? undefined : texts.join("");
}
