/**
 * Whether a pattern of a tokenizer.json takes bounded time. Patterns run by backtracking, so one that can match a text
 * in many ways may take hours; published patterns and patterns with few ways are accepted.
 */
import { quote } from "../errors.ts";

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const NEWLINES = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const MARKS = " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*";
const O200K_HEAD = "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
const O200K_TAIL = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";

/** How Qwen2 and Qwen3 split a text before byte-pair encoding. */
export const QWEN2_SPLIT = `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|${MARKS}|${NEWLINES}`;

/** Patterns of published tokenizers that the rules below would refuse, although texts match them in few ways. */
const PUBLISHED: ReadonlySet<string> = new Set([
  QWEN2_SPLIT,
  // Qwen3.5.
  `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|${NEWLINES}`,
  // Llama 3, cl100k (GPT-4, Phi-4).
  `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|${MARKS}|${NEWLINES}`,
  `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|${MARKS}|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+`,
  `'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|${MARKS}|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+`,
  `'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+`,
  // InternLM 2.5 and 3 in their converted form.
  `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,2}|${MARKS}|${NEWLINES}`,
  // o200k (GPT-4o), Mistral's Tekken.
  `${O200K_HEAD}*${O200K_TAIL}+${CONTRACTIONS}?|${O200K_HEAD}+${O200K_TAIL}*${CONTRACTIONS}?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${NEWLINES}`,
  `${O200K_HEAD}*${O200K_TAIL}+|${O200K_HEAD}+${O200K_TAIL}*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${NEWLINES}`,
  // DeepSeek V2 and V3.
  `[!"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_\`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|${NEWLINES}`,
]);

/** Maximum ways to match a given part of a text, and maximum characters of a pattern. */
const MAX_WAYS = 256;
const MAX_LENGTH = 2000;

/** Why a pattern may take too long, as the rest of a sentence; undefined if it is accepted. */
export function patternProblem(pattern: string): string | undefined {
  // JSON files hold line breaks and tabs of a pattern as themselves or as escapes.
  if (PUBLISHED.has(pattern.replaceAll("\r", "\\r").replaceAll("\n", "\\n"))) return undefined;
  if (pattern.length > MAX_LENGTH) return `has ${pattern.length} characters, more than ${MAX_LENGTH}`;
  try {
    const parser = new Parser(pattern);
    for (const { ways, repeated } of parser.alternatives(0)) {
      if (ways > MAX_WAYS) throw new Doubt(`matches a text in more than ${MAX_WAYS} ways`);
      for (const [at, one] of repeated.entries()) {
        const other = repeated.slice(at + 1).find((next) => overlap(one, next));
        if (other !== undefined) throw new Doubt(`repeats ${quote(one)} and ${quote(other)}, which share characters`);
      }
    }
    parser.expectEnd();
  } catch (thrown) {
    if (thrown instanceof Doubt) return thrown.message;
    throw thrown;
  }
  return undefined;
}

/** The rest of a sentence. */
class Doubt extends Error {}

interface Matches {
  /** Ways to match a part of a text, apart from the lengths of repetitions. */
  readonly ways: number;
  /** Characters and classes that are repeated without a bound. */
  readonly repeated: readonly string[];
}

const NOTHING: Matches = { ways: 1, repeated: [] };
/** A repetition of more characters counts as one without a bound. */
const SHORT = 8;
const MAX_DEPTH = 8;
/** Escapes of one character; of the others (back references, calls, positions) the time is not known. */
const CLASS_ESCAPE =
  /^\\(?:[pP]\{\^?[\w ]+\}|[pP]\w|x\{[\da-f]+\}|x[\da-f]{2}|u\{[\da-f]+\}|u[\da-f]{4}|[dDsSwWhHnrtfv]|[^\w\s])/i;

class Parser {
  private readonly pattern: string;
  private at = 0;

  constructor(pattern: string) {
    this.pattern = pattern;
  }

  /** The alternatives up to a closing bracket or the end. */
  alternatives(depth: number): Matches[] {
    if (depth > MAX_DEPTH) throw new Doubt(`nests groups deeper than ${MAX_DEPTH}`);
    const found = [this.sequence(depth)];
    while (this.take("|")) found.push(this.sequence(depth));
    return found;
  }

  expectEnd(): void {
    if (this.at < this.pattern.length) throw new Doubt("closes a group that it did not open");
  }

  private sequence(depth: number): Matches {
    let [ways, repeated] = [1, [] as string[]];
    while (this.at < this.pattern.length && !"|)".includes(this.pattern[this.at] as string)) {
      const item = this.item(depth);
      ways *= item.ways;
      repeated = [...repeated, ...item.repeated];
    }
    return { ways, repeated };
  }

  private item(depth: number): Matches {
    const { pattern, at } = this;
    const char = pattern[at] as string;
    if (char === "^" || char === "$") {
      this.at++;
      return NOTHING;
    }
    if (char === "(") return this.group(depth);
    const atom = char === "[" ? this.bracket() : char === "\\" ? this.escape() : this.plain();
    const [least, most] = this.quantifier() ?? [1, 1];
    if (most > SHORT) return { ways: 1, repeated: [atom] };
    return { ways: most - least + 1, repeated: [] };
  }

  private group(depth: number): Matches {
    const [head] = /^\((?:\?(?:[:>]|<?[=!]|[imsx]+:|<[A-Za-z]\w*>)|(?!\?))/.exec(this.pattern.slice(this.at)) ?? [];
    if (head === undefined) throw new Doubt("has a group of an unknown kind");
    this.at += head.length;
    const inner = this.alternatives(depth + 1);
    if (!this.take(")")) throw new Doubt("does not close a group");
    const ways = inner.reduce((sum, one) => sum + one.ways, 0);
    const repeated = inner.flatMap((one) => one.repeated);
    const look = /[=!]$/.test(head);
    if (look && repeated.length > 0) throw new Doubt("looks ahead or back any number of characters");
    const [least, most] = this.quantifier() ?? [1, 1];
    if (most > 1) throw new Doubt("repeats a group");
    return { ways: ways + most - least, repeated };
  }

  /** Least and most repetitions. Lazy and possessive forms differ only in their order. */
  private quantifier(): readonly [number, number] | undefined {
    const [text, one, low, comma, high] =
      /^(?:([*+?])|\{(\d*)(,?)(\d*)\})[?+]?/.exec(this.pattern.slice(this.at)) ?? [];
    if (text === undefined || (one === undefined && `${low}${high}` === "")) return undefined;
    this.at += text.length;
    if (/^[*+?{]/.test(this.pattern.slice(this.at))) throw new Doubt("repeats a repetition");
    if (one !== undefined) return one === "?" ? [0, 1] : [one === "+" ? 1 : 0, Number.POSITIVE_INFINITY];
    const least = Number(low);
    const most = comma === "" ? least : high === "" ? Number.POSITIVE_INFINITY : Number(high);
    return [least, most];
  }

  private escape(): string {
    const [atom] = CLASS_ESCAPE.exec(this.pattern.slice(this.at)) ?? [];
    if (atom === undefined) throw new Doubt(`has the escape ${quote(this.pattern.slice(this.at, this.at + 2))}`);
    this.at += atom.length;
    return atom;
  }

  private plain(): string {
    const char = String.fromCodePoint(this.pattern.codePointAt(this.at) as number);
    if ("*+?".includes(char)) throw new Doubt("repeats nothing");
    this.at += char.length;
    return char;
  }

  /** A class in brackets, with the classes in it. */
  private bracket(): string {
    const start = this.at;
    let depth = 0;
    for (; this.at < this.pattern.length; this.at++) {
      const char = this.pattern[this.at];
      if (char === "\\") this.at++;
      else if (char === "[") depth++;
      else if (char === "]" && --depth === 0) {
        this.at++;
        return this.pattern.slice(start, this.at);
      }
    }
    throw new Doubt("does not close a class");
  }

  private take(char: string): boolean {
    if (this.pattern[this.at] !== char) return false;
    this.at++;
    return true;
  }
}

/** Whether two atoms match a common character, as far as that is known: otherwise true. */
function overlap(one: string, other: string): boolean {
  const [a, b] = [charactersOf(one), charactersOf(other)];
  return a === undefined || b === undefined || a.some((yes, at) => yes === 1 && b[at] === 1);
}

/** Code points that are compared: the basic plane, and every sixteenth above it. */
const BASIC = 2 ** 16;
const ABOVE = (0x110000 - BASIC) / 16;

/** One for each of the compared code points that an atom matches with or without case; undefined for an unknown atom. */
function charactersOf(atom: string): Uint8Array | undefined {
  // Classes that name single characters above the basic plane, which the comparison would miss.
  if (/\\[ux]\{|[\u{10000}-\u{10ffff}]/u.test(atom)) return undefined;
  let patterns: RegExp[];
  try {
    patterns = ["u", "iu"].map((flags) => new RegExp(`^${atom === "." ? "[^]" : atom}$`, flags));
  } catch {
    // Oniguruma's classes differ from JavaScript's.
    return undefined;
  }
  return Uint8Array.from({ length: BASIC + ABOVE }, (_, at) => {
    const char = String.fromCodePoint(at < BASIC ? at : BASIC + 16 * (at - BASIC));
    return patterns.some((pattern) => pattern.test(char)) ? 1 : 0;
  });
}
