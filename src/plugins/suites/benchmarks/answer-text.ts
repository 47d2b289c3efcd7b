/** Captions and phrases of answers, cleaned as GLaMM's evaluation scripts do. */
import { pythonStrip, pythonWords } from "../../../engine/bytes/text.ts";

/** A region caption without prompt, tags, `[SEG]`, outer quotes and needless white space. */
export function cleanRegionCaption(text: string): string {
  return untagged(answerIn(text));
}

/** Caption and phrases of a grounded answer, `<p> a cat </p> [SEG]`; phrase i belongs to mask i. */
export function parseGcgAnswer(text: string): { readonly caption: string; readonly phrases: readonly string[] } {
  const answer = answerIn(text.replaceAll("<s>", ""));
  const phrases = [...answer.matchAll(/<p>([^\n]*?)<\/p>/g)].map((match) => pythonStrip(match[1] as string));
  return { caption: untagged(answer), phrases };
}

/** What follows the prompt, on one line. */
function answerIn(text: string): string {
  return text.replaceAll("\n", "").replaceAll("  ", " ").split("ASSISTANT: ").at(-1) as string;
}

/** A `<` in the text removes everything up to the next `>`, as in the originals. */
function untagged(line: string): string {
  const words = pythonWords(line.replace(/<[^\n]*?>/g, "").replaceAll("[SEG]", ""));
  return pythonStrip(words.join(" ").replace(/^'+|'+$/g, ""));
}
