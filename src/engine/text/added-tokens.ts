/** Added tokens: pieces of text that are split off before the vocabulary's own rules. */
import { isRecord } from "../bytes/json.ts";
import { LabError } from "../errors.ts";

/** As tokenizer.json spells it. */
export interface RawAddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  readonly single_word: boolean;
  readonly lstrip: boolean;
  readonly rstrip: boolean;
  readonly normalized: boolean;
}

/**
 * The list of tokenizer.json, completed by added_tokens.json for tokens that only the latter has.
 * @throws LabError("bad-input") when the two files give a token different ids
 */
export function parseAddedTokens(list: unknown, extra: Readonly<Record<string, unknown>>): RawAddedToken[] {
  const tokens = new Map<string, RawAddedToken>();
  for (const item of Array.isArray(list) ? list : []) {
    if (!isRecord(item) || typeof item.content !== "string" || typeof item.id !== "number") {
      throw new LabError("bad-input", "tokenizer.json has an added token without content or id", {
        subject: "tokenizer.json",
      });
    }
    tokens.set(item.content, {
      id: item.id,
      content: item.content,
      special: item.special === true,
      single_word: item.single_word === true,
      lstrip: item.lstrip === true,
      rstrip: item.rstrip === true,
      normalized: item.normalized === true,
    });
  }
  for (const [content, id] of Object.entries(extra)) {
    const known = tokens.get(content);
    if (typeof id !== "number" || (known !== undefined && known.id !== id)) {
      throw new LabError(
        "bad-input",
        `added_tokens.json gives "${content}" the id ${String(id)}, tokenizer.json ${known?.id}`,
        {
          subject: content,
        },
      );
    }
    const plain = { special: true, single_word: false, lstrip: false, rstrip: false, normalized: false };
    if (known === undefined) tokens.set(content, { id, content, ...plain });
  }
  return [...tokens.values()].sort((a, b) => a.id - b.id);
}
