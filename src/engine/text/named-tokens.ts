/** Tokens that have a role in tokenizer_config.json. */
import { isRecord } from "../bytes/json.ts";

const ROLES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"] as const;

/** The token of a role, as a text or an object with a text; undefined if there is none. */
export function namedToken(
  config: Readonly<Record<string, unknown>>,
  role: (typeof ROLES)[number],
): string | undefined {
  return textOf(config[role]);
}

export function namedTokens(config: Readonly<Record<string, unknown>>): string[] {
  return ROLES.map((role) => namedToken(config, role)).filter((token) => token !== undefined);
}

/** `additional_special_tokens`: special tokens without a role. */
export function furtherSpecialTokens(config: Readonly<Record<string, unknown>>): string[] {
  const list = config.additional_special_tokens;
  return (Array.isArray(list) ? list : []).map(textOf).filter((token) => token !== undefined);
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return isRecord(value) && typeof value.content === "string" ? value.content : undefined;
}
