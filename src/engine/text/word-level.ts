/**
 * Word-level vocabularies of tiny models: texts are split at white space and punctuation, and each piece is looked up.
 */
import { isRecord } from "../bytes/json.ts";
import { badInput, LabError, quote } from "../errors.ts";
import { addedPattern, cleanUp, type RawAddedToken, splitAdded, type TokenizerCore, WORD } from "./added-tokens.ts";

type Text = (text: string) => string;
type Split = (text: string) => string[];

const WORDS_AND_MARKS = new RegExp(`[${WORD}]+|[^${WORD}\\p{White_Space}]+`, "gu");

const SPLITS: Readonly<Record<string, Split>> = {
  Whitespace: (text) => text.match(WORDS_AND_MARKS) ?? [],
  WhitespaceSplit: (text) => text.split(/\p{White_Space}+/u).filter((piece) => piece !== ""),
};

/**
 * @param definition tokenizer.json
 * @throws LabError("unsupported") for an unsupported normaliser or pre-tokenizer
 */
export function openWordLevel(
  definition: Readonly<Record<string, unknown>>,
  added: readonly RawAddedToken[],
  config: Readonly<Record<string, unknown>>,
): TokenizerCore {
  const model = isRecord(definition.model) ? definition.model : {};
  const ids = new Map<string, number>();
  for (const [token, id] of Object.entries(isRecord(model.vocab) ? model.vocab : {})) {
    if (typeof id !== "number" || !Number.isInteger(id) || id < 0) {
      throw badInput(`tokenizer.json gives the word ${quote(token)} no valid id`, token);
    }
    ids.set(token, id);
  }
  const words = new Map(ids);
  for (const { content, id } of added) ids.set(content, id);
  const tokens = new Map([...ids].map(([token, id]) => [id, token] as const));
  const special = new Set(added.filter((token) => token.special).map((token) => token.id));
  const normalise = normaliser(definition.normalizer);
  const split = preTokenizer(definition.pre_tokenizer);
  const unknown = typeof model.unk_token === "string" ? ids.get(model.unk_token) : undefined;
  // These vocabularies ignore the options `lstrip`, `rstrip` and `single_word` of added tokens.
  const bare = added.map((token) => ({ ...token, lstrip: false, rstrip: false, single_word: false }));

  const wordId = (word: string): number => {
    const id = words.get(word) ?? unknown;
    if (id === undefined) {
      throw badInput(`The tokenizer has no token for ${quote(word)} and none for unknown words`, word);
    }
    return id;
  };
  return {
    added: addedPattern(added),
    vocabSize: [...tokens.keys()].reduce((most, id) => Math.max(most, id), -1) + 1,
    find: (token) => ids.get(token),
    encode: (text, literal) =>
      splitAdded(text, bare, literal).flatMap((part) =>
        typeof part === "number" ? [part] : split(normalise(part)).map(wordId),
      ),
    decode(sequence, keepSpecial) {
      const pieces = sequence
        .filter((id) => keepSpecial || !special.has(id))
        .map((id) => tokens.get(id))
        .filter((token) => token !== undefined);
      const text = pieces.join(" ");
      if (config.clean_up_tokenization_spaces !== true) return text;
      return cleanUp(text);
    },
  };
}

function normaliser(value: unknown): Text {
  if (!isRecord(value)) return (text) => text;
  switch (value.type) {
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD": {
      const form = value.type;
      return (text) => text.normalize(form);
    }
    case "Lowercase":
      return (text) => text.toLowerCase();
    case "Sequence": {
      const steps = (Array.isArray(value.normalizers) ? value.normalizers : []).map(normaliser);
      return (text) => steps.reduce((current, step) => step(current), text);
    }
    default:
      throw unsupported("normalizer", value.type);
  }
}

function preTokenizer(value: unknown): Split {
  const type = isRecord(value) ? value.type : undefined;
  const split = typeof type === "string" && Object.hasOwn(SPLITS, type) ? SPLITS[type] : undefined;
  if (split === undefined) throw unsupported("pre_tokenizer", type);
  return split;
}

function unsupported(part: string, type: unknown): LabError {
  return new LabError(
    "unsupported",
    `tokenizer.json: a word-level vocabulary with ${part} ${quote(type)} is not supported`,
    {
      subject: "tokenizer.json",
    },
  );
}
