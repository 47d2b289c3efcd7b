/** Added tokens: pieces of text that are split off before the rules of the vocabulary. */
import { isRecord } from "../bytes/json.ts";
import { badInput, quote } from "../errors.ts";

/** Far above any vocabulary. */
export const LARGEST_ID = 2 ** 24;

/** An added token as in tokenizer.json. */
export interface RawAddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  readonly single_word: boolean;
  readonly lstrip: boolean;
  readonly rstrip: boolean;
  readonly normalized: boolean;
}

/** Places where a folder may list added tokens; the first place that lists a token defines its behaviour. */
export interface AddedTokenLists {
  /** `added_tokens` of tokenizer.json. */
  readonly library?: unknown;
  /** `added_tokens_decoder` of tokenizer_config.json. */
  readonly decoder?: unknown;
  /** added_tokens.json: id by content. */
  readonly ids?: Readonly<Record<string, unknown>>;
}

/**
 * All added tokens of a folder, by id.
 * @throws LabError("bad-input") when two files give a token different ids, or an entry has no text or id
 */
export function parseAddedTokens(lists: AddedTokenLists): RawAddedToken[] {
  const tokens = new Map<string, RawAddedToken>();
  const sources = new Map<string, string>();
  const put = (source: string, content: unknown, id: unknown, settings: Readonly<Record<string, unknown>>): void => {
    if (typeof content !== "string" || typeof id !== "number" || !Number.isInteger(id) || id < 0 || id > LARGEST_ID) {
      throw badInput(`${source} has an added token without content or id`, source);
    }
    const known = tokens.get(content);
    if (known !== undefined && known.id !== id) {
      throw badInput(
        `${source} gives the token ${quote(content)} the id ${id}, ${sources.get(content)} gives it ${known.id}`,
        content,
      );
    }
    if (known !== undefined) return;
    sources.set(content, source);
    tokens.set(content, {
      id,
      content,
      special: settings.special === true,
      single_word: settings.single_word === true,
      lstrip: settings.lstrip === true,
      rstrip: settings.rstrip === true,
      normalized: settings.normalized === true,
    });
  };
  for (const item of Array.isArray(lists.library) ? lists.library : []) {
    const entry = isRecord(item) ? item : {};
    put("tokenizer.json", entry.content, entry.id, entry);
  }
  for (const [id, item] of Object.entries(isRecord(lists.decoder) ? lists.decoder : {})) {
    const entry = isRecord(item) ? item : {};
    put("tokenizer_config.json", entry.content, /^\d{1,9}$/.test(id) ? Number(id) : undefined, entry);
  }
  for (const [content, id] of Object.entries(lists.ids ?? {})) put("added_tokens.json", content, id, { special: true });
  return [...tokens.values()].sort((a, b) => a.id - b.id);
}
