/** Answers with grounded phrases: `<p> a cat </p> [SEG]`, read as the GCG evaluation scripts do. */
import { pythonStrip } from "../../bytes/python-space.ts";
import { tidy } from "./region-text.ts";

export interface GcgAnswer {
  readonly caption: string;
  /** In order of appearance; tied to the masks by place only. */
  readonly phrases: readonly string[];
  /** Number of `[SEG]` in the answer. */
  readonly masks: number;
}

/** Caption and phrases of an answer. A `<` in the text takes all up to the next `>` with it, as in the original. */
export function parseGcgAnswer(text: string): GcgAnswer {
  const line = text.replaceAll("<s>", "").replaceAll("\n", "").replaceAll("  ", " ");
  const answer = line.split("ASSISTANT: ").at(-1) as string;
  const phrases = [...answer.matchAll(/<p>([^\n]*?)<\/p>/g)].map((match) => pythonStrip(match[1] as string));
  const caption = tidy(answer.replace(/<[^\n]*?>/g, "").replaceAll("[SEG]", ""));
  return { caption, phrases, masks: text.split("[SEG]").length - 1 };
}
