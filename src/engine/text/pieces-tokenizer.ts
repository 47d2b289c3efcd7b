/**
 * A folder with only `tokenizer.model`, the way Hugging Face's slow tokenizers use it: added tokens are cut out of a text
 * first and what lies between them is encoded on its own; on the way back, tokens beyond the pieces stand between blanks.
 * InternLM2's and Llama's classes differ in where they put blanks around the special tokens that have a role.
 */
import type { RawAddedToken } from "./added-tokens.ts";
import { cleanUp } from "./clean-up.ts";
import { namedTokens } from "./named-tokens.ts";
import { openSentencePiece, type SentencePiece } from "./sentencepiece.ts";
import { BLANK_MARK } from "./sentencepiece-normalise.ts";
import { splitAdded } from "./split-added.ts";
import type { TokenizerCore } from "./tokenizer.ts";

/**
 * @param data bytes of the model file
 * @param added tokens of tokenizer_config.json and added_tokens.json
 */
export function openPieces(
  data: Uint8Array,
  name: string,
  added: readonly RawAddedToken[],
  config: Readonly<Record<string, unknown>>,
): TokenizerCore {
  const pieces = openSentencePiece(data, name);
  const roles = new Set(namedTokens(config));
  const listed = new Map(added.map((token) => [token.content, token] as const));
  // Roles that are pieces, such as <s>, are cut out of a text like added tokens.
  const inherent = [...roles].filter((token) => !listed.has(token) && pieces.find(token) !== undefined);
  const cuttable = [...added, ...inherent.map((content) => plainToken(content, pieces.find(content) as number))];
  const ids = new Map(cuttable.map((token) => [token.content, token.id] as const));
  const names = new Map(cuttable.map((token) => [token.id, token.content] as const));
  const nameOf = (id: number): string | undefined => names.get(id) ?? pieces.piece(id);
  const special = new Set([...roles, ...added.filter((token) => token.special).map((token) => token.content)]);
  /** Tokens that stand alone between blanks in decoded text. */
  const apart = (token: string): boolean => {
    const found = listed.get(token);
    return found !== undefined && !roles.has(token) && (!found.special || found.id >= pieces.size);
  };
  const style = styleOf(config);
  const largest = cuttable.reduce((most, token) => Math.max(most, token.id), pieces.size - 1);

  return {
    vocabSize: largest + 1,
    find: (token) => ids.get(token) ?? pieces.find(token),
    encode: (text) => encode(pieces, splitAdded(style.prefixOnce ? marked(text) : text, cuttable), style),
    decode(sequence, keepSpecial) {
      const known = sequence.map(nameOf).filter((token) => token !== undefined);
      const kept = keepSpecial ? known : known.filter((token) => !special.has(token));
      const parts: string[] = [];
      let run: string[] = [];
      const close = (): void => {
        const text = run.length === 0 ? "" : style.join(pieces, run, special);
        if (text !== "") parts.push(text);
        run = [];
      };
      for (const token of kept) {
        if (apart(token)) {
          close();
          parts.push(token);
        } else run.push(token);
      }
      close();
      const text = parts.join(" ");
      return config.clean_up_tokenization_spaces === true ? cleanUp(text) : text;
    },
  };
}

/** What the tokenizer classes do differently. */
interface Style {
  /** The blank in front goes to the whole text once, not to everything between added tokens. */
  readonly prefixOnce: boolean;
  readonly join: (pieces: SentencePiece, run: readonly string[], special: ReadonlySet<string>) => string;
}

function styleOf(config: Readonly<Record<string, unknown>>): Style {
  if (String(config.tokenizer_class).startsWith("InternLM2")) return { prefixOnce: false, join: joinInternlm };
  const legacy = config.legacy !== false;
  return { prefixOnce: !legacy, join: (pieces, run, special) => joinLlama(pieces, run, special, legacy) };
}

function encode(pieces: SentencePiece, split: readonly (string | number)[], style: Style): number[] {
  const out = split.flatMap((part) => (typeof part === "number" ? [part] : pieces.encode(part, !style.prefixOnce)));
  const blank = pieces.find(BLANK_MARK);
  // A text that begins with an added token needs no blank in front.
  return style.prefixOnce && out[0] === blank && typeof split[1] === "number" && out[1] === split[1]
    ? out.slice(1)
    : out;
}

function marked(text: string): string {
  return text === "" ? "" : BLANK_MARK + text.replaceAll(BLANK_MARK, " ");
}

function joinInternlm(pieces: SentencePiece, run: readonly string[], special: ReadonlySet<string>): string {
  let text = "";
  let waiting: string[] = [];
  let afterSpecial = false;
  for (const token of run) {
    if (special.has(token)) {
      text += (afterSpecial ? "" : " ") + pieces.decode(waiting) + token;
      waiting = [];
      afterSpecial = true;
      continue;
    }
    waiting.push(token);
    afterSpecial = false;
  }
  const tidied = cleanUp(text + pieces.decode(waiting));
  // One blank in front is always there to be taken off.
  const prefixed = tidied.startsWith(" ") || run[0]?.startsWith(BLANK_MARK) === true ? tidied : ` ${tidied}`;
  return prefixed.slice(1);
}

function joinLlama(
  pieces: SentencePiece,
  given: readonly string[],
  special: ReadonlySet<string>,
  legacy: boolean,
): string {
  const run = given.map((token, at) => (at === 0 && token.startsWith(BLANK_MARK) ? token.slice(1) : token));
  let text = "";
  let waiting: string[] = [];
  let afterSpecial = false;
  run.forEach((token, at) => {
    if (special.has(token)) {
      text += (legacy && !afterSpecial && at > 0 ? " " : "") + pieces.decode(waiting, legacy) + token;
      waiting = [];
      afterSpecial = true;
      return;
    }
    if (afterSpecial && at === 1 && !token.startsWith(BLANK_MARK)) text += " ";
    waiting.push(token);
    afterSpecial = false;
  });
  return text + pieces.decode(waiting, legacy);
}

function plainToken(content: string, id: number): RawAddedToken {
  return { id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false };
}
