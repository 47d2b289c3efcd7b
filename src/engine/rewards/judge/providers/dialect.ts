/**
 * Optional fields of a chat request and how servers refuse them. Only a refusal reveals what a server lacks: the field
 * that it names takes its next form from then on, and every other field stays.
 */
import type { ChatRequest } from "./provider.ts";
import type { ServerError } from "./server-error.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Option {
  /** Forms in the order in which they are tried; a field without a next form is left out. */
  readonly forms: readonly ((request: ChatRequest, limit: number) => Fields)[];
  /** Names of the field in the words of servers. */
  readonly said: RegExp;
}

/**
 * The least valuable first: if words name several fields, as for two that exclude each other, only the first is changed
 * before the request is repeated.
 */
const OPTIONS = {
  seed: { forms: [() => ({ seed: 0 })], said: /\b(?:random_)?seed\b/i },
  top_p: { forms: [() => ({ top_p: 1 })], said: /\btop[-_ ]?p\b|\bnucleus/i },
  temperature: { forms: [() => ({ temperature: 0 })], said: /\btemperature\b/i },
  format: {
    forms: [
      ({ schema }) =>
        schema === null
          ? {}
          : { response_format: { type: "json_schema", json_schema: { name: "verdict", strict: true, schema } } },
      ({ schema }) => (schema === null ? {} : { response_format: { type: "json_object" } }),
    ],
    said: /\bresponse[-_ ]?(?:formats?|schema)\b|\bjson[-_ ]?(?:schema|object|mode)\b|\bschemas?\b|\bgrammar\b|\bstructured[-_ ]?outputs?\b|\bguided/i,
  },
  limit: {
    forms: [(_, limit) => ({ max_tokens: limit }), (_, limit) => ({ max_completion_tokens: limit })],
    said: /\bmax[-_ ]?(?:completion[-_ ]?|output[-_ ]?|new[-_ ]?)?tokens\b/i,
  },
  stream: { forms: [() => ({ stream: false })], said: /[`'"]stream[`'"]|\bstream:/i },
} as const satisfies Readonly<Record<string, Option>>;

type Name = keyof typeof OPTIONS;
const NAMES = Object.keys(OPTIONS) as readonly Name[];

/** What a server is known to accept. */
export interface Dialect extends Record<Name, number> {
  /** Highest limit of a reply in tokens that the server accepts. */
  cap: number;
}

/** The dialect of a server of which nothing is known: all fields in their first form. */
export function fullDialect(): Dialect {
  return { seed: 0, top_p: 0, temperature: 0, format: 0, limit: 0, stream: 0, cap: Number.POSITIVE_INFINITY };
}

/** Maximum tokens of the reply in this dialect. */
export function replyLimit(dialect: Dialect, request: ChatRequest): number {
  return Math.min(dialect.cap, request.maxTokens);
}

/** The optional fields of a request. */
export function optionalFields(dialect: Dialect, request: ChatRequest): Fields {
  return Object.assign({}, ...NAMES.map((name) => formOf(name, dialect, request)));
}

function formOf(name: Name, dialect: Dialect, request: ChatRequest): Fields {
  return (OPTIONS[name] as Option).forms[dialect[name]]?.(request, replyLimit(dialect, request)) ?? {};
}

/**
 * Changes the dialect after a refusal.
 * @param used the dialect of the refused request
 * @returns whether a repeat makes sense
 */
export function adapt(dialect: Dialect, used: Dialect, error: ServerError, request: ChatRequest): boolean {
  const name = refusedField(used, error, request);
  if (name === null) return false;
  if (name === "limit") {
    const cap = capIn(error.said);
    if (cap !== null && cap < replyLimit(used, request)) {
      dialect.cap = Math.min(dialect.cap, cap);
      return true;
    }
    if (refusesValue(error.said)) return false;
  }
  // A concurrent call may have changed it already.
  if (dialect[name] === used[name]) dialect[name]++;
  return true;
}

/** Whether the size of a reply or of the whole context is refused, which only the user can change. */
export function refusesValue(said: string): boolean {
  return (
    CONTEXT.test(said) ||
    (OPTIONS.limit.said.test(said) &&
      /too (?:large|high|big|long|many|small|low)|exceed|greater|at least|at most|must be (?:[a-z]+ than|at|in|between|positive)|between|range/i.test(
        said,
      ))
  );
}

const CONTEXT =
  /context[-_ ]?(?:length|size)|maximum context|exceeds?\b.{0,40}\bcontext|prompt is too long|too many (?:input )?tokens/i;

/**
 * Whether the format may be what a server refuses without a name.
 * @returns the dialect with its next form, or null if there is none
 */
export function lessFormat(used: Dialect, request: ChatRequest): Dialect | null {
  if (Object.keys(formOf("format", used, request)).length === 0) return null;
  return { ...used, format: used.format + 1 };
}

function refusedField(used: Dialect, { said, fields }: ServerError, request: ChatRequest): Name | null {
  if (CONTEXT.test(said)) return null;
  const sent = NAMES.filter((name) => Object.keys(formOf(name, used, request)).length > 0);
  const keyOf = (name: Name): string => Object.keys(formOf(name, used, request))[0] as string;
  const named = sent.find((name) => fields.includes(keyOf(name)));
  if (named !== undefined) return named;
  const words = said.replace(ACCEPTED, " ");
  return sent.find((name) => OPTIONS[name].said.test(words)) ?? null;
}

/** The part of a sentence that lists what the server does accept. */
const ACCEPTED =
  /(?<!\b(?:not|never|be)\s|n't\s|n’t\s)\b(?:allowed|supported|valid|permitted|accepted|known|available|expected)\b[^.;:[\n]{0,40}?(?:\bare\b|\bone of\b|[:[])[^;\n]*?(?=\.\s|;|\n|$)/gi;

/** The highest limit that a refusal names; null without one. */
function capIn(said: string): number | null {
  for (const pattern of CAPS) {
    const found = pattern.exec(said)?.[1]?.replaceAll(",", "");
    if (found !== undefined && Number(found) >= 1) return Number(found);
  }
  return null;
}

const CAPS = [
  /\d+ > (\d[\d,]*)/,
  /[[(]\s*\d+\s*,\s*(\d+)\s*[\])]/,
  /between \d+ and (\d[\d,]*)/i,
  /(?:at most|up to|(?:less|lower) than or equal to|<=|≤|not exceed|no more than)[^\d.]{0,20}(\d[\d,]*)/i,
  /maximum(?: allowed)?(?: value| number| limit)?(?: of| is|:)?[^\d.]{0,40}(\d[\d,]*)/i,
];
