/**
 * Caption tokens in the manner of Stanford's PTBTokenizer 3.4.1 as the COCO caption tools run it: lower case,
 * punctuation dropped, brackets kept as words. These rules are the lab's; reports call the tokens "PTB rules, own".
 */

/** Words that are split in two: the part after the bar is a separate token. */
const SPLIT = new Map(
  "can|not gon|na got|ta wan|na lem|me gim|me more|'n d'|ye 't|is 't|was whad|dd|ya wha|t|cha"
    .split(" ")
    .map((word) => [word.replaceAll("|", ""), word.split("|")] as const),
);

const ABBREVIATIONS =
  "dr|mr|mrs|ms|prof|gen|rep|sen|gov|lt|sgt|capt|col|rev|st|ave|blvd|rd|mt|ft|jr|sr|inc|corp|co|ltd|bros|vs|etc|no|nos|vol|dept|est|fig|approx|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec";

const LETTER = "\\p{L}\\p{M}\\p{N}_";
const CLITIC = "(?:s|m|d|ll|re|ve)";

/** Token patterns in order of preference, each at the place that is reached. */
const PATTERNS: readonly RegExp[] = [
  // Tags, addresses.
  /<\/?[a-z][a-z0-9_:.-]*(?:\s+[a-z][a-z0-9_:.-]*\s*=\s*(?:"[^"]*"|'[^']*'))*\s*\/?>/uy,
  /<[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+>/uy,
  /(?:https?|ftp):\/\/[^\s"<>|]*[^\s"<>|.!?,;:)]/uy,
  /www\.[^\s"<>|]*[^\s"<>|.!?,;:)]/uy,
  /[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+/uy,
  new RegExp(`[@#][a-z_][${LETTER}]*`, "uy"),
  // Words that fall apart.
  /'t(?=(?:is|was)(?![\p{L}\p{N}']))/uy,
  /'n'/uy,
  new RegExp(`[${LETTER}]+?(?=n[’']t(?![${LETTER}]))`, "uy"),
  new RegExp(`n[’']t(?![${LETTER}])`, "uy"),
  new RegExp(`[’']${CLITIC}(?![${LETTER}])`, "uy"),
  // Abbreviations with their full stops.
  new RegExp(`(?:${ABBREVIATIONS})\\.(?![${LETTER}])`, "uy"),
  /(?:e\.g|i\.e|a\.m|p\.m)\./uy,
  /\p{L}(?:\.\p{L})+\.?(?![\p{L}\p{N}])/uy,
  // Numbers, with signs inside.
  /[+-]?\d+(?:[.,:]\d+)+(?![\p{L}\p{N}])/uy,
  // Words with hyphens, slashes and apostrophes inside.
  new RegExp(
    `[${LETTER}]+(?:(?:[-/]|[’'](?!${CLITIC}(?![${LETTER}])|n'|\\d))(?=[${LETTER}])[${LETTER}]+|[.,](?=\\d)(?<=\\d[.,])\\d+)*`,
    "uy",
  ),
  /\.{2,}|-{2,}/uy,
  /[\p{P}\p{S}]/uy,
];

/** What single characters become; an empty text is dropped, as punctuation is. */
const CHARACTERS = new Map([
  ["(", "-lrb-"],
  [")", "-rrb-"],
  ["[", "-lsb-"],
  ["]", "-rsb-"],
  ["{", "-lcb-"],
  ["}", "-rcb-"],
]);

const DROPPED = /^(?:[.?!,:;"'`“”‘’„«»–—…-]|\.{2,}|-{2,})$/u;

/** Tokens of a caption, those dropped by the caption tools left out. */
export function ptbTokens(text: string): string[] {
  const plain = text.toLowerCase().replace(/[\r\n]+/g, " ");
  const tokens: string[] = [];
  let at = 0;
  while (at < plain.length) {
    const match = matchAt(plain, at);
    // White space, and characters that the tokenizer deletes.
    if (match === undefined) {
      at += (plain.codePointAt(at) as number) > 0xffff ? 2 : 1;
      continue;
    }
    at += match.length;
    const parts = SPLIT.get(match) ?? [CHARACTERS.get(match) ?? match];
    tokens.push(...parts.filter((part) => !DROPPED.test(part)));
  }
  return tokens;
}

/** Pictographs are no tokens. */
const DELETED = /^\p{Extended_Pictographic}$/u;

function matchAt(text: string, at: number): string | undefined {
  for (const pattern of PATTERNS) {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined && found !== "") return DELETED.test(found) ? undefined : found;
  }
  return undefined;
}
