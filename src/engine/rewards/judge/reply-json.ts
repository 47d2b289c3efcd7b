/** The JSON object in a model's reply, strictly: one object, nothing but fences and thoughts around it. */
import { isRecord } from "../../bytes/json.ts";
import { JudgeFailure } from "./failure.ts";

/** @throws JudgeFailure("not-json" | "wrong-form") with the reply */
export function replyObject(text: string): Record<string, unknown> {
  // Reasoning models think aloud first; others wrap JSON in a fence although they were asked not to.
  const plain = text.replace(/^[\s\S]*<\/think>/, "").trim();
  const body = (/^```(?:json)?\s*([\s\S]*?)\s*```$/.exec(plain)?.[1] ?? plain).trim();
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (cause) {
    throw new JudgeFailure("not-json", "The model's reply is not JSON", { raw: text, cause });
  }
  if (!isRecord(value)) throw new JudgeFailure("wrong-form", "The model's reply is no JSON object", { raw: text });
  return value;
}

/** A text field that says something. @throws JudgeFailure("wrong-form") naming the field */
export function textField(value: unknown, name: string, raw: string): string {
  if (typeof value !== "string" || value.trim() === "") {
    throw new JudgeFailure("wrong-form", `The model's reply has no text for "${name}"`, { raw });
  }
  return value.replace(/\s+/g, " ").trim().slice(0, 200);
}
