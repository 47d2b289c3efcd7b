/**
 * Caption tokens in the manner of Stanford's PTBTokenizer 3.4.1 as the COCO caption tools run it: lower case,
 * punctuation dropped, brackets kept as words. These rules are the lab's, and reports say so.
 */
import { ABBREVIATION, NUMBER_ABBREVIATION, SENTENCE_STARTS } from "./ptb-words.ts";

const CLITIC = "['’](?:s|m|d|ll|re|ve)(?![A-Za-z])";
const WORD = "\\p{L}[\\p{L}\\p{M}\\p{Nd}]*";
const THING = "(?:[dDoOlL]['’](?=[A-Za-z0-9]))?[\\p{L}\\p{M}\\p{Nd}]+";
const JOINED = `${THING}(?:[-_‐‑]${THING})*`;

/**
 * Token patterns. The longest match wins; of equal ones, the first. Required context after a token counts as part of
 * its match, and the token is then the capture group.
 */
const PATTERNS: readonly RegExp[] = [
  // Tags, addresses.
  /<\/?[A-Za-z][\w:.-]*(?:\s+[A-Za-z][\w:.-]*\s*=\s*(?:"[^"]*"|'[^']*'))*\s*\/?>/uy,
  /<?[A-Za-z0-9][^\s"<>|(){}]*@(?:[^\s"<>|().{}]+\.)*[^\s"<>|().{}[\]]+>?/uy,
  /(?:https?|ftp):\/\/[^\s"<>|]*[^\s"<>|.!?,;:)]/iuy,
  /[@#][A-Za-z_]\w*/uy,
  // Words that are split.
  /('t)(?:is|was)/iuy,
  /(can)not(?![\p{L}\p{Nd}])|(gon)na(?![\p{L}\p{Nd}])|(wan)na(?![\p{L}\p{Nd}])/iuy,
  /(got)ta(?![\p{L}\p{Nd}])|(lem)me(?![\p{L}\p{Nd}])|(gim)me(?![\p{L}\p{Nd}])/iuy,
  /([A-Za-z]*[A-MO-Za-mo-z])[nN]['’][tT]/uy,
  new RegExp(`([A-Za-z]+)${CLITIC}`, "iuy"),
  new RegExp(CLITIC, "iuy"),
  /n['’]t(?![A-Za-z])/iuy,
  // Words with an apostrophe inside.
  /['’]n(?:['’]|(?=\s|$))|[djl]['’]|y['’](?=\p{L})|(?:dunkin|somethin|ol)['’]|['’](?:em|till?|cause|[2-9]0s)/iuy,
  /(?:cap['’]n|c['’]mon|li['’]l|nat['’]l|e['’]er)(?![\p{L}\p{Nd}])/iuy,
  /[A-HJ-XZn]['’]\p{L}{2,}/uy,
  /\p{L}+[aeiouyAEIOUY]['’][aeiouA-Z]\p{L}*/uy,
  /['’]\d\d(?=\s|$)/uy,
  // Abbreviations with their full stops, and any word with one before other punctuation.
  new RegExp(`((?:${WORD}(?:[.!?]${WORD})*|${JOINED})\\.)[,;:]`, "uy"),
  new RegExp(`(?:${ABBREVIATION})\\.`, "uy"),
  new RegExp(`((?:${NUMBER_ABBREVIATION})\\.)\\s?\\d`, "uy"),
  new RegExp(`[A-Za-z]\\.(?!\\s+(?:${SENTENCE_STARTS}|</?[A-Za-z][^>]*>)(?:\\s|$))`, "uy"),
  /[A-Za-z](?:\.[A-Za-z])+\.?|ph\.d\.?/iuy,
  // Numbers.
  /[-+]?(?:\d*(?:[.,:]\d+)+|\d+)/uy,
  /(?:\d{1,4}[- \u00a0])?\d{1,4}[/⁄]\d{1,4}/uy,
  /(?:\(\d{2,3}\)[ \u00a0]?|(?:\+\+?)?(?:\d{2,4}[- \u00a0])?\d{2,4}[- \u00a0])\d{3,4}[- \u00a0]?\d{3,5}/uy,
  // Words: hyphens join them; full stops may, and slashes join plain ones.
  new RegExp(`${WORD}(?:[.!?]${WORD})*`, "uy"),
  new RegExp(JOINED, "uy"),
  /[A-Za-z0-9]+(?:-[A-Za-z]+)*(?:\/[A-Za-z0-9]+(?:-[A-Za-z]+)*)+/uy,
  /[A-Za-z0-9][A-Za-z0-9.,]*(?:-(?:[A-Za-z](?:\.[A-Za-z])+\.|[A-Za-z0-9]+))+/uy,
  /[\p{L}\p{Nd}]+(?:\.[\p{L}\p{Nd}]+)*\.(?:bmp|csv|docx?|exe|gif|html?|jpe?g|json|mp3|pdf|png|ppt|tiff?|txt|zip|xml)(?![\p{L}\p{Nd}])/iuy,
  /[A-Z]+(?:[+&][A-Z]+)+|[Cc]\+\+|[CcFf]#/uy,
  /(?:anti|pro)-(?=\s)/iuy,
  // Signs; the names of brackets, written out.
  /-[lr][rsc]b-/iuy,
  /&(?:amp|lt|gt|quot|apos|nbsp|[A-Za-z](?:acute|grave|circ|uml|tilde|cedil|ring|slash)|#\d+);/uy,
  /[A-Z]*\$/uy,
  /[<>]?[:;=][-o*']?[()DPdpO\\{@|[\]](?![A-Za-z0-9])|[-^x=~<>']_[-^x=~<>']/uy,
  /[?!]+|\.{3}(?=\d)|\.{2,}(?!\d)|-{2,}|_+|#{2,}|@{2,}|\*{2,}|<<|>>/uy,
  /[\p{P}\p{S}\p{N}]/uy,
];

/** Replacements of tokens; an empty text drops the token, as for punctuation. */
const BECOMES = new Map([
  ["[", "-lsb-"],
  ["]", "-rsb-"],
  ["{", "-lcb-"],
  ["}", "-rcb-"],
  ["£", "#"],
  ["€", "$"],
  ["¢", "cents"],
  ["&amp;", "&"],
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&quot;", ""],
  ["&apos;", ""],
  ["&nbsp;", ""],
]);

const DROPPED = /^(?:[.?!,:;"'`“”‘’‛«»‹›–—‒―‐‑…-]|\.{2,}|-{2,4})$/u;
/** A token that is a clitic; its apostrophe becomes the plain one. */
const WHOLE_CLITIC = new RegExp(`^(?:${CLITIC}|n['’]t)$`, "u");
const FRACTION = /^[¼-¾⅓-⅞]$/u;

/**
 * Tokens of a caption, without those that the caption tools drop. A number that spans blanks ("1 1/2") is one token
 * with no-break spaces.
 */
export function ptbTokens(text: string): string[] {
  const plain = text.replace(/\u00ad|[\ufe00-\ufe0f]/g, "").replace(/[\r\n]+/g, " ");
  const tokens: string[] = [];
  let at = 0;
  while (at < plain.length) {
    const found = tokenAt(plain, at);
    // White space, and characters that the tokenizer deletes: all outside the basic plane.
    at += found?.length || ((plain.codePointAt(at) as number) > 0xffff ? 2 : 1);
    const token = found === undefined ? "" : written(found);
    if (token !== "" && !DROPPED.test(token)) tokens.push(token);
  }
  return tokens;
}

function written(found: string): string {
  const token = found.toLowerCase();
  if (FRACTION.test(token)) return token.normalize("NFKD").replace("⁄", "/");
  if (WHOLE_CLITIC.test(token)) return token.replace("’", "'");
  const known = BECOMES.get(token);
  if (known !== undefined) return known;
  // Brackets alone, or in emoticons and telephone numbers.
  const plain = /^(?:\W+|\(\d.*)$/u.test(token) ? token.replace("(", "-lrb-").replace(")", "-rrb-") : token;
  return plain.replace(/\s/g, "\u00a0");
}

function tokenAt(text: string, at: number): string | undefined {
  let [best, length]: [string | undefined, number] = [undefined, 0];
  for (const pattern of PATTERNS) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null || match[0].length <= length) continue;
    length = match[0].length;
    best = match.slice(1).find((group) => group !== undefined) ?? match[0];
  }
  return best !== undefined && (best.codePointAt(0) as number) > 0xffff ? undefined : best;
}
