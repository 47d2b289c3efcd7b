/**
 * A folder with only `tokenizer.model`, read like Hugging Face's slow tokenizers: added tokens are cut out of a text
 * first, and the text between them is encoded separately. In decoding, tokens outside the pieces are surrounded by
 * blanks. The classes of InternLM2 and Llama differ in the blanks around special tokens with a role.
 */
import {
  addedPattern,
  cleanUp,
  furtherSpecialTokens,
  namedToken,
  namedTokens,
  type RawAddedToken,
  splitAdded,
  type TokenizerCore,
} from "../../engine/text/added-tokens.ts";
import { openSentencePiece, type SentencePiece } from "./sentencepiece.ts";
import { BLANK_MARK } from "./sentencepiece-normalise.ts";

/**
 * @param data bytes of the model file
 * @param added tokens of tokenizer_config.json and added_tokens.json
 */
function openPieces(
  data: Uint8Array,
  name: string,
  added: readonly RawAddedToken[],
  config: Readonly<Record<string, unknown>>,
): TokenizerCore {
  const pieces = openSentencePiece(data, name);
  const roles = namedTokens(config);
  const further = new Set(furtherSpecialTokens(config));
  const special = new Set([...roles, ...further]);
  const listed = new Map(added.map((token) => [token.content, token] as const));
  // Roles that are pieces, such as <s>, are cut out of a text like added tokens.
  const inherent = [...roles].filter((token) => !listed.has(token) && pieces.find(token) !== undefined);
  const cuttable = [...added, ...inherent.map((content) => plainToken(content, pieces.find(content) as number))];
  const ids = new Map(cuttable.map((token) => [token.content, token.id] as const));
  const names = new Map(cuttable.map((token) => [token.id, token.content] as const));
  const nameOf = (id: number): string | undefined => names.get(id) ?? pieces.piece(id);
  const dropped = new Set([...special, ...added.filter((token) => token.special).map((token) => token.content)]);
  /** Tokens that are surrounded by blanks in decoded text: added ones, unless they have a role or are pieces. */
  const apart = (token: string): boolean => {
    const found = listed.get(token);
    return found !== undefined && (!special.has(token) || (further.has(token) && found.id >= pieces.size));
  };
  const style = styleOf(config);
  const unknown = namedToken(config, "unk_token") ?? "<unk>";
  /** This text follows other text, so it gets no blank in front but keeps one that it starts with. */
  const encodeAsIs = (text: string): number[] => {
    if (!/^[\u2581 ]/.test(text)) return pieces.encode(text, false);
    return pieces.encode(unknown + text, false).slice(pieces.encode(unknown, false).length);
  };
  const largest = cuttable.reduce((most, token) => Math.max(most, token.id), pieces.size - 1);

  return {
    added: addedPattern(cuttable),
    vocabSize: largest + 1,
    find: (token) => ids.get(token) ?? pieces.find(token),
    encode(text, literal = []) {
      // The mark in front shifts everything by one position.
      const moved = style.prefixOnce && text !== "" ? 1 : 0;
      const ranges = literal.map(({ start, end }) => ({ start: start + moved, end: end + moved }));
      const split = splitAdded(style.prefixOnce ? marked(text) : text, cuttable, ranges);
      const encoded = style.prefixOnce ? encodeAsIs : (part: string) => pieces.encode(part);
      const out = split.flatMap((part) => (typeof part === "number" ? [part] : encoded(part)));
      // A text that starts with a token that has a role needs no blank in front.
      const [blank, next] = [out[0], out[1]];
      const begins = style.prefixOnce && blank !== undefined && nameOf(blank) === BLANK_MARK && next === split[1];
      return begins && special.has(nameOf(next as number) ?? "") ? out.slice(1) : out;
    },
    decode(sequence, keepSpecial) {
      const known = sequence.map(nameOf).filter((token) => token !== undefined);
      const kept = keepSpecial ? known : known.filter((token) => !dropped.has(token));
      const parts: string[] = [];
      let run: string[] = [];
      for (const token of kept) {
        if (!apart(token)) {
          run.push(token);
          continue;
        }
        const before = run.length === 0 ? "" : style.join(pieces, run, special);
        parts.push(...(before === "" ? [token] : [before, token]));
        run = [];
      }
      // Unlike the other runs, the last one counts even if its text is empty.
      if (run.length > 0) parts.push(style.join(pieces, run, special));
      const text = parts.join(" ");
      return config.clean_up_tokenization_spaces === true ? cleanUp(text) : text;
    },
  };
}

/** Listed in `tokenizers.ts`. */
export const sentencePiece = { file: "tokenizer.model", open: openPieces } as const;

/** Differences between the tokenizer classes. */
interface Style {
  /** The whole text gets one blank in front, instead of one for every part between added tokens. */
  readonly prefixOnce: boolean;
  readonly join: (pieces: SentencePiece, run: readonly string[], special: ReadonlySet<string>) => string;
}

function styleOf(config: Readonly<Record<string, unknown>>): Style {
  const { tokenizer_class: named } = config;
  if (typeof named === "string" && named.startsWith("InternLM2")) return { prefixOnce: false, join: joinInternlm };
  const legacy = config.legacy !== false;
  return { prefixOnce: !legacy, join: (pieces, run, special) => joinLlama(pieces, run, special, legacy) };
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
  // The published class adds a blank in front of every text and removes it again, so none is added here.
  return cleanUp(text + pieces.decode(waiting));
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
