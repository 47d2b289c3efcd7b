/**
 * Tokenizers of a checkpoint folder with one interface: byte-level BPE and the other library models, SentencePiece, or
 * word-level for tiny models (docs/spec/sa2va.md#61-special-tokens).
 */

import { Tokenizer as LibraryTokenizer } from "@huggingface/tokenizers";
import * as z from "zod/mini";
import { PLUGIN_TOKENIZERS } from "../../plugins/tokenizers.ts";
import { checkShape, isRecord, readJson } from "../bytes/json.ts";
import type { ByteFolder } from "../bytes/source.ts";
import { badInput, LabError, quote, thrownText } from "../errors.ts";
import {
  addedPattern,
  cleanUp,
  LARGEST_ID,
  namedToken,
  parseAddedTokens,
  type RawAddedToken,
  spellsAdded,
  splitAdded,
  type TextRange,
  type TokenizerCore,
  WORD,
} from "./added-tokens.ts";
import { patternProblem, QWEN2_SPLIT } from "./pattern-checks.ts";
import { openWordLevel } from "./word-level.ts";

// Converts `vocab.json` and `merges.txt` of a slow Qwen2 tokenizer to the equivalent tokenizer.json
// (docs/spec/sa2va.md#61-special-tokens).

/**
 * @param vocab vocab.json: id by token
 * @param merges text of merges.txt, one pair per line after an optional version line
 * @throws LabError("bad-input") naming the line or token that is wrong
 */
function byteLevelDefinition(vocab: Readonly<Record<string, unknown>>, merges: string): Record<string, unknown> {
  for (const [token, id] of Object.entries(vocab)) {
    if (typeof id !== "number" || !Number.isInteger(id) || id < 0) {
      throw badInput(`vocab.json gives the token "${token}" no valid id`, "vocab.json");
    }
  }
  const lines = merges.split("\n").map((line) => line.replace(/\r$/, ""));
  const pairs = lines
    .map((line, at) => [line, at] as const)
    .filter(([line, at]) => line !== "" && !(at === 0 && line.startsWith("#version")))
    .map(([line, at]) => pairOf(line, at, vocab));
  return {
    version: "1.0",
    normalizer: { type: "NFC" },
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: QWEN2_SPLIT }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: "",
      end_of_word_suffix: "",
      fuse_unk: false,
      byte_fallback: false,
      vocab,
      merges: pairs,
    },
  };
}

function pairOf(line: string, at: number, vocab: Readonly<Record<string, unknown>>): [string, string] {
  const [left, right, ...rest] = line.split(" ");
  if (left === undefined || right === undefined || rest.length > 0) {
    throw badInput(`merges.txt: line ${at + 1} is not a pair of tokens`, "merges.txt");
  }
  if (vocab[left + right] === undefined) {
    throw badInput(
      `merges.txt: line ${at + 1} makes ${quote(left + right)}, which vocab.json does not have`,
      "merges.txt",
    );
  }
  return [left, right];
}

// Checks the steps of a tokenizer.json before the library runs them.

/** Maximum steps of a definition, and maximum factor by which all of them together may lengthen a text. */
const STEPS = 64;
const GROWTH = 1000;

type Step = Readonly<Record<string, unknown>>;

/** Steps in order, including those of nested sequences under any of their names, which the library does not check. */
function steps(part: unknown): readonly Step[] {
  if (Array.isArray(part)) return part.flatMap(steps);
  if (!isRecord(part)) return [];
  const inner = [part.normalizers, part.pretokenizers, part.decoders].flatMap(steps);
  return part.type === "Sequence" ? inner : [part, ...inner];
}

/** A byte becomes at most two bytes of UTF-8; a replacement may apply to every character. */
function factor(step: Step): number {
  if (step.type === "ByteLevel") return 4;
  return typeof step.content === "string" ? Math.max(1, step.content.length) : 1;
}

/** Whether the library can apply a step's pattern; otherwise it would skip the step. */
function hasPattern({ type, pattern }: Step): boolean {
  if (type !== "Replace" && type !== "Split") return true;
  return isRecord(pattern) && typeof (pattern.Regex ?? pattern.String) === "string";
}

/**
 * @throws LabError when a step lacks the pattern it needs, or the steps are too many or would lengthen a text too much
 */
function checkSteps(definition: Step): void {
  const bad = (cause: string): LabError => badInput(`tokenizer.json ${cause}; it is not loaded`, "tokenizer.json");
  const all = [...steps(definition.normalizer), ...steps(definition.pre_tokenizer)];
  if (all.length > STEPS) throw bad(`has ${all.length} steps`);
  if (all.reduce((product, step) => product * factor(step), 1) > GROWTH) {
    throw bad("may make a text more than a thousand times longer");
  }
  const every = [...all, ...steps(definition.decoder)];
  const without = every.find((step) => !hasPattern(step));
  if (without !== undefined) throw bad(`has a step ${String(without.type)} without a Regex or String to look for`);
  for (const { type, pattern } of every) {
    const regex = isRecord(pattern) && typeof pattern.Regex === "string" ? pattern.Regex : undefined;
    const problem = regex === undefined ? undefined : patternProblem(regex);
    if (problem === undefined) continue;
    throw bad(`has a step ${String(type)} whose pattern ${quote(regex)} ${problem}, so a text could take it hours`);
  }
}

// The token, if any, with which a tokenizer starts every text. Hugging Face specifies it in three places.

/** Classes that start texts with the bos token unless their configuration differs. */
const BEGINNING = /^(InternLM2?|Llama|CodeLlama)Tokenizer/;

/** A folder's settings for the start of texts. */
type SequenceStart = { readonly token: string } | "nothing" | "unsaid";

/**
 * Rules in order: `add_bos_token` if present; the template of tokenizer.json's post-processor; the class.
 * @param postProcessor `post_processor` of tokenizer.json
 * @throws LabError("bad-input") when texts must start with a token that has no name
 */
export function sequenceStart(config: Readonly<Record<string, unknown>>, postProcessor: unknown): SequenceStart {
  const template = templateStart(postProcessor);
  const switched = typeof config.tokenizer_class === "string" && BEGINNING.test(config.tokenizer_class);
  // Only classes that have the switch respect it; a plain library tokenizer follows its template.
  if (config.add_bos_token === false && (switched || template === undefined)) return "nothing";
  const byClass = template === undefined && switched;
  if (config.add_bos_token !== true && !byClass) return template === undefined ? "unsaid" : { token: template };
  const bos = namedToken(config, "bos_token") ?? template;
  if (bos !== undefined) return { token: bos };
  throw badInput(
    "tokenizer_config.json asks for a bos token in front of texts but names no bos_token",
    "tokenizer_config.json",
  );
}

/** The special token that a template puts before a single text. */
function templateStart(value: unknown): string | undefined {
  if (!isRecord(value)) return undefined;
  if (value.type === "Sequence" && Array.isArray(value.processors)) {
    return value.processors.map(templateStart).find((token) => token !== undefined);
  }
  if (value.type !== "TemplateProcessing" || !Array.isArray(value.single)) return undefined;
  const first: unknown = value.single[0];
  const special = isRecord(first) ? first.SpecialToken : undefined;
  return isRecord(special) && typeof special.id === "string" ? special.id : undefined;
}

// Checks the vocabulary of a tokenizer.json before texts are encoded.

/**
 * @param model `model` of tokenizer.json; a vocabulary that is a list of scored pieces needs no check
 * @throws LabError("bad-input") when two tokens share an id, or when a merge uses or makes a token that the vocabulary
 * lacks, because decoded texts would have wrong or missing letters
 */
function checkVocabulary(model: Readonly<Record<string, unknown>>): void {
  const { vocab, merges } = model;
  if (!isRecord(vocab)) return;
  const names = new Map<unknown, string>();
  for (const [token, id] of Object.entries(vocab)) {
    const other = names.get(id);
    if (other !== undefined) throw damaged(`${quote(other)} and ${quote(token)} the same id ${id}`, token);
    names.set(id, token);
  }
  const prefix = typeof model.continuing_subword_prefix === "string" ? model.continuing_subword_prefix.length : 0;
  for (const merge of Array.isArray(merges) ? (merges as readonly (string | readonly string[])[]) : []) {
    const [left = "", right = ""] = typeof merge === "string" ? merge.split(" ") : merge;
    for (const token of [left, right, left + right.slice(prefix)]) {
      if (!Object.hasOwn(vocab, token)) throw damaged(`${quote(token)} no id, which its merges need`, token);
    }
  }
}

function damaged(what: string, token: string): LabError {
  return badInput(`tokenizer.json gives ${what}`, token);
}

/** Ids used in prompts. */
interface SpecialIds {
  readonly eos: number;
  /** The end id if the tokenizer has no padding token. */
  readonly pad: number;
  readonly bos: number | undefined;
  readonly imageStart: number;
  readonly imageEnd: number;
  /** One visual token; its embedding is overwritten. */
  readonly imageContext: number;
  readonly seg: number;
  readonly regionStart: number;
  readonly regionEnd: number;
}

/** Texts around and for the visual tokens of a picture. */
export interface VisualMarks {
  readonly start: string;
  readonly context: string;
  readonly end: string;
}

/**
 * The visual tokens of the families, InternVL's first, because the vocabulary of its language models has those of
 * Qwen-VL as well.
 */
export const VISUAL_TOKENS: readonly VisualMarks[] = [
  { start: "<img>", context: "<IMG_CONTEXT>", end: "</img>" },
  { start: "<|vision_start|>", context: "<|image_pad|>", end: "<|vision_end|>" },
];

export interface Tokenizer {
  /**
   * Ids of a text, without start or end tokens; added tokens in it are recognised.
   * @param literal ranges that are plain text, whatever tokens they spell: text from the data and the user
   */
  encode(text: string, literal?: readonly TextRange[]): number[];
  /** Whether a text spells an added token, which `encode` recognises outside literal ranges. */
  spellsAdded(text: string): boolean;
  /** Ids that every text starts with; undefined if the files do not specify them. */
  readonly start: readonly number[] | undefined;
  /** Text of ids; bytes that are not UTF-8 become U+FFFD. */
  decode(ids: readonly number[], options?: { readonly keepSpecial?: boolean }): string;
  /** @throws LabError("bad-input") when the vocabulary has no such token */
  id(token: string): number;
  find(token: string): number | undefined;
  /** Largest id + 1; the model's embedding may have more rows. */
  readonly vocabSize: number;
  readonly special: SpecialIds;
  readonly visual: VisualMarks;
}

/** Files that may hold the vocabulary. */
const VOCABULARIES = ["tokenizer.json", ...PLUGIN_TOKENIZERS.map(({ file }) => file), "vocab.json"] as const;

/** The file that holds the vocabulary of a folder. */
export function vocabularyFile(folder: ByteFolder): string {
  return VOCABULARIES.find((path) => folder.get(path) !== undefined) ?? VOCABULARIES[0];
}

/**
 * Loads the vocabulary from tokenizer.json, else from a SentencePiece tokenizer.model, else from vocab.json with
 * merges.txt; roles and added tokens come from tokenizer_config.json, special_tokens_map.json and added_tokens.json.
 * @throws LabError naming the file or the token that is missing
 */
export async function openTokenizer(folder: ByteFolder): Promise<Tokenizer> {
  const roles = (await readRecord(folder, "special_tokens_map.json", RECORD)) ?? {};
  const config = { ...roles, ...((await readRecord(folder, "tokenizer_config.json", CONFIG)) ?? {}) };
  const ids = (await readRecord(folder, "added_tokens.json", RECORD)) ?? {};
  const definition = (await readRecord(folder, "tokenizer.json", DEFINITION)) ?? (await readSlowFiles(folder));
  const lists = { decoder: config.added_tokens_decoder, ids };
  if (definition === undefined) {
    const format = PLUGIN_TOKENIZERS.find(({ file }) => folder.get(file) !== undefined);
    const source = format && folder.get(format.file);
    if (format === undefined || source === undefined) {
      throw badInput(`The model folder has no tokenizer: none of ${VOCABULARIES.join(", ")}`, VOCABULARIES[0]);
    }
    const added = parseAddedTokens(lists);
    return withSpecials(format.open(await source.read(0, source.size), format.file, added, config), config, undefined);
  }
  const added = parseAddedTokens({ ...lists, library: definition.added_tokens });
  const complete = { ...definition, added_tokens: added };
  const model = isRecord(definition.model) ? definition.model : {};
  checkVocabulary(model);
  const core =
    model.type === "WordLevel" ? openWordLevel(complete, added, config) : openLibrary(complete, added, config);
  return withSpecials(core, config, definition.post_processor);
}

/** Reads a slow Qwen2 tokenizer's two files, unless there is a vocabulary that a plug-in reads. */
async function readSlowFiles(folder: ByteFolder): Promise<Record<string, unknown> | undefined> {
  const other = PLUGIN_TOKENIZERS.some(({ file }) => folder.get(file) !== undefined);
  const vocab = other ? undefined : await readRecord(folder, "vocab.json", VOCABULARY);
  if (vocab === undefined) return undefined;
  const merges = folder.get("merges.txt");
  if (merges === undefined) throw badInput("The model folder has a vocab.json but no merges.txt", "merges.txt");
  return byteLevelDefinition(vocab, new TextDecoder().decode(await merges.read(0, merges.size)));
}

async function readRecord<T extends z.ZodMiniType<Record<string, unknown>>>(
  folder: ByteFolder,
  path: string,
  schema: T,
): Promise<Record<string, unknown> | undefined> {
  const source = folder.get(path);
  return source === undefined ? undefined : checkShape(await readJson(source), schema, path);
}

const RECORD = z.record(z.string(), z.unknown());
const VOCABULARY = z.record(z.string(), z.number().check(z.int(), z.gte(0), z.lte(LARGEST_ID)));
const CONFIG = z.looseObject({ tokenizer_class: z.optional(z.nullable(z.string())) });
const PART = z.optional(z.nullable(z.looseObject({ type: z.string() })));
/** The parts of tokenizer.json that are checked here; the library checks the rest. */
const DEFINITION = z.looseObject({
  model: z.looseObject({
    type: z.optional(z.nullable(z.string())),
    vocab: z.union([VOCABULARY, z.array(z.tuple([z.string(), z.number()]))]),
    merges: z.optional(z.array(z.union([z.string(), z.tuple([z.string(), z.string()])]))),
  }),
  added_tokens: z.optional(z.nullable(z.array(RECORD))),
  normalizer: PART,
  pre_tokenizer: PART,
  post_processor: PART,
  decoder: PART,
});

/** Runs the library and converts its errors, which name neither file nor cause. */
function guarded<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new LabError("unsupported", `tokenizer.json ${what}: ${thrownText(cause)}`, {
      subject: "tokenizer.json",
      cause,
    });
  }
}

function openLibrary(
  definition: Record<string, unknown>,
  added: readonly RawAddedToken[],
  config: Record<string, unknown>,
): TokenizerCore {
  checkSteps(definition);
  const library = guarded("is of a kind that cannot be loaded", () => new LibraryTokenizer(definition, config));
  const model = isRecord(definition.model) ? definition.model : {};
  if (model.type === "Unigram" && model.byte_fallback === true) {
    throw new LabError("unsupported", "tokenizer.json is a unigram model with byte pieces, which cannot be loaded", {
      subject: "tokenizer.json",
    });
  }
  const vocabulary = new Map<string, number>(library.get_vocab(true));
  for (const { content, id } of added) vocabulary.set(content, id);
  const names = new Map([...vocabulary].map(([token, id]) => [id, token] as const));
  const largest = [...vocabulary.values()].reduce((most, id) => Math.max(most, id), -1);
  const special = new Set(added.filter((token) => token.special).map((token) => token.id));
  const own = byteFallbackDecoder(definition.decoder);
  const tidy = config.clean_up_tokenization_spaces === true;
  const { normalizer, pre_tokenizer: preTokenizer, model: pieces } = library;
  const early = added.filter((token) => normalizer === null || !token.normalized);
  // The other tokens are searched in the normalised text.
  const late = added.filter((token) => normalizer !== null && token.normalized);
  const latePattern = addedPattern(late);
  const normalised = late.map((token) => ({ ...token, content: normalizer?.(token.content) ?? token.content }));
  /** @param section place among the parts of the text; the library may put a blank in front of the first one */
  const encodePart = (part: string, section: number): number[] => {
    const words = preTokenizer?.(part, { section_index: section }) ?? [part];
    // A character without a token is left out if the vocabulary has no token for unknown characters.
    return (pieces?.(words) ?? []).flatMap((token) => vocabulary.get(token) ?? pieces?.unk_token_id ?? []);
  };
  const encode = (text: string, literal: readonly TextRange[] = []): number[] => {
    // Literal ranges do not survive normalisation.
    const [first, then] = spellsAdded(text, latePattern, literal) ? [added, []] : [early, normalised];
    return splitAdded(text, first, literal, WORD).flatMap((part, section) =>
      typeof part === "number"
        ? [part]
        : splitAdded(normalizer?.(part) ?? part, then, [], WORD).flatMap((piece, at) =>
            typeof piece === "number" ? [piece] : encodePart(piece, section + at),
          ),
    );
  };
  return {
    added: addedPattern(added),
    vocabSize: largest + 1,
    find: (token) => vocabulary.get(token),
    encode: (text, literal) => guarded("cannot encode a text", () => encode(text, literal)),
    decode(ids, keepSpecial) {
      // An id may have a row in the embedding but no token.
      const known = ids.filter((id) => names.has(id));
      // The library refuses an empty list.
      if (known.length === 0) return "";
      if (own === undefined) {
        const options = { skip_special_tokens: !keepSpecial, clean_up_tokenization_spaces: tidy };
        return guarded("cannot decode", () => library.decode(known, options));
      }
      const kept = known.filter((id) => keepSpecial || !special.has(id));
      const text = own(kept.map((id) => names.get(id) as string));
      return tidy ? cleanUp(text) : text;
    },
  };
}

function withSpecials(
  core: TokenizerCore,
  config: Readonly<Record<string, unknown>>,
  postProcessor: unknown,
): Tokenizer {
  const id = (token: string): number => {
    const found = core.find(token);
    if (found === undefined) {
      throw badInput(`The tokenizer has no token ${quote(token)}, so it is not one of a Sa2VA checkpoint`, token);
    }
    return found;
  };
  const eosToken = namedToken(config, "eos_token");
  if (eosToken === undefined) throw badInput("tokenizer_config.json names no eos_token", "tokenizer_config.json");
  const eos = id(eosToken);
  const padToken = namedToken(config, "pad_token");
  const bosToken = namedToken(config, "bos_token");
  const start = sequenceStart(config, postProcessor);
  const visual =
    VISUAL_TOKENS.find((marks) => core.find(marks.context) !== undefined) ?? (VISUAL_TOKENS[0] as VisualMarks);
  return {
    spellsAdded: (text) => core.added?.test(text) === true,
    encode: core.encode,
    start: start === "unsaid" ? undefined : start === "nothing" ? [] : [id(start.token)],
    decode: (ids, options = {}) => core.decode(ids, options.keepSpecial ?? false),
    id,
    find: core.find,
    vocabSize: core.vocabSize,
    visual,
    special: {
      eos,
      pad: padToken === undefined ? eos : id(padToken),
      bos: bosToken === undefined ? undefined : id(bosToken),
      imageStart: id(visual.start),
      imageEnd: id(visual.end),
      imageContext: id(visual.context),
      seg: id("[SEG]"),
      regionStart: id("<vp>"),
      regionEnd: id("</vp>"),
    },
  };
}

// The decoder of tokenizer.json for vocabularies with byte pieces (Llama, Phi-3). Hugging Face's JavaScript library
// decodes runs of bytes leniently; the original writes one U+FFFD for every byte of a run that is not UTF-8.

/** Maps tokens to tokens; a chain of steps ends in one text. */
type DecodeStep = (tokens: string[]) => string[];

type Decode = (tokens: readonly string[]) => string;

/** @returns undefined for a decoder without byte pieces or with an unknown step */
function byteFallbackDecoder(decoder: unknown): Decode | undefined {
  const parts = isRecord(decoder) && decoder.type === "Sequence" ? decoder.decoders : [decoder];
  if (!Array.isArray(parts) || !parts.some((part) => isRecord(part) && part.type === "ByteFallback")) return undefined;
  const steps = parts.map(stepOf);
  if (steps.some((step) => step === undefined)) return undefined;
  return (tokens) => (steps as DecodeStep[]).reduce((current, step) => step(current), [...tokens]).join("");
}

function stepOf(value: unknown): DecodeStep | undefined {
  if (!isRecord(value)) return undefined;
  switch (value.type) {
    case "ByteFallback":
      return joinBytes;
    case "Fuse":
      return (tokens) => [tokens.join("")];
    case "Replace": {
      const from = isRecord(value.pattern) ? value.pattern.String : undefined;
      const to = value.content;
      if (typeof from !== "string" || typeof to !== "string") return undefined;
      return (tokens) => tokens.map((token) => token.replaceAll(from, () => to));
    }
    case "Strip": {
      const { content, start, stop } = value;
      if (typeof content !== "string" || typeof start !== "number" || typeof stop !== "number") return undefined;
      return (tokens) => tokens.map((token) => strip(token, content, start, stop));
    }
    case "Metaspace": {
      const mark = typeof value.replacement === "string" ? value.replacement : "\u2581";
      const prefixed = value.prepend_scheme !== "never" && value.add_prefix_space !== false;
      const unmark = (token: string, at: number): string => {
        const own = at === 0 && prefixed && token.startsWith(mark) ? token.slice(mark.length) : token;
        return own.replaceAll(mark, " ");
      };
      return (tokens) => tokens.map(unmark);
    }
    default:
      return undefined;
  }
}

function joinBytes(tokens: readonly string[]): string[] {
  const out: string[] = [];
  let bytes: number[] = [];
  const flush = (): void => {
    if (bytes.length > 0) out.push(textOf(bytes));
    bytes = [];
  };
  for (const token of tokens) {
    const hex = /^<0x([0-9A-Fa-f]{2})>$/.exec(token)?.[1];
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else {
      flush();
      out.push(token);
    }
  }
  flush();
  return out;
}

function textOf(bytes: readonly number[]): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch (thrown) {
    if (thrown instanceof TypeError) return "\ufffd".repeat(bytes.length);
    throw thrown;
  }
}

/** Strips at most this many occurrences of a letter from either end. */
function strip(text: string, letter: string, start: number, stop: number): string {
  let [from, to] = [0, text.length];
  for (let count = 0; count < start && text.startsWith(letter, from); count++) from += letter.length;
  for (let count = 0; count < stop && to > from && text.endsWith(letter) && text[to - 1] === letter; count++) to--;
  return text.slice(from, to);
}
