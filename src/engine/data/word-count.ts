/** Number of white-space-separated words of a caption, at least 1; the caption's length for grouping rows. */
export function wordCount(caption: string): number {
  return Math.max(1, caption.trim().split(/\s+/).length);
}

/** Letters of scripts that are written without spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;

/**
 * Whether a caption is in such a script and its words are not separated either. Scores that compare words, such as
 * METEOR, then take the whole caption for one word.
 */
export function lacksWordSpaces(caption: string): boolean {
  const letters = caption.match(/\p{L}/gu)?.length ?? 0;
  const unspaced = caption.match(UNSPACED)?.length ?? 0;
  return unspaced > 0 && unspaced >= letters / 2 && unspaced >= 2 * wordCount(caption);
}

/** The consequence for a loop's reward, as the end of a sentence. */
export const WITHOUT_WORD_SPACES =
  "written without spaces between words, so METEOR takes a caption for one word and is 0 unless captions are equal; use a judge or a custom reward, or separate the words by spaces";
