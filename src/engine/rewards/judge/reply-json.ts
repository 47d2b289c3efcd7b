/** Reads the JSON object in a model's reply: exactly one object, with only code fences or reasoning around it. */
import { isRecord, parseJson } from "../../bytes/json.ts";
import { JudgeFailure } from "./providers/failure.ts";

/** @throws JudgeFailure("not-json" | "wrong-form") with the reply */
export function replyObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(unwrapped(text), "The model's reply");
  } catch (cause) {
    throw new JudgeFailure("not-json", "The model's reply is not JSON", { raw: text, cause });
  }
  if (!isRecord(value)) throw new JudgeFailure("wrong-form", "The model's reply is not a JSON object", { raw: text });
  return value;
}

const THOUGHT_END = "</think>";
const FENCE = "```";

/** Some models write their reasoning first; others wrap JSON in a fence despite the instructions. */
function unwrapped(text: string): string {
  const thought = text.lastIndexOf(THOUGHT_END);
  const plain = (thought < 0 ? text : text.slice(thought + THOUGHT_END.length)).trim();
  if (plain.length < 2 * FENCE.length || !plain.startsWith(FENCE) || !plain.endsWith(FENCE)) return plain;
  return plain.slice(FENCE.length, -FENCE.length).replace(/^json/i, "").trim();
}

/** A text field that is not empty. @throws JudgeFailure("wrong-form") naming the field */
export function textField(value: unknown, name: string, raw: string): string {
  if (typeof value !== "string" || value.trim() === "") {
    throw new JudgeFailure("wrong-form", `The model's reply has no text for "${name}"`, { raw });
  }
  return value.replace(/\s+/g, " ").trim().slice(0, 200);
}
