/** Captions and phrases of answers, cleaned as GLaMM's evaluation scripts do. */
import { pythonStrip, pythonWords } from "../../bytes/python-space.ts";

/** A region caption without tags, `[SEG]`, outer quotes and needless white space. */
export function cleanRegionCaption(text: string): string {
  return untagged(text.replaceAll("<s>", "").replaceAll("\n", ""));
}

/** Caption and phrases of a grounded answer, `<p> a cat </p> [SEG]`; phrase i belongs to mask i. */
export function parseGcgAnswer(text: string): { readonly caption: string; readonly phrases: readonly string[] } {
  const line = text.replaceAll("<s>", "").replaceAll("\n", "").replaceAll("  ", " ");
  const answer = line.split("ASSISTANT: ").at(-1) as string;
  const phrases = [...answer.matchAll(/<p>([^\n]*?)<\/p>/g)].map((match) => pythonStrip(match[1] as string));
  return { caption: untagged(answer), phrases };
}

/** A `<` in the text removes everything up to the next `>`, as in the originals. */
function untagged(line: string): string {
  const words = pythonWords(line.replace(/<[^\n]*?>/g, "").replaceAll("[SEG]", ""));
  return pythonStrip(words.join(" ").replace(/^'+|'+$/g, ""));
}
