/** Category names as the Osprey evaluation compares them: word sets after its clean-up (S-IoU). */
import { pythonStrip, pythonWords } from "../../bytes/python-space.ts";

/** A model's answer after the clean-up: end token cut, the second piece where there is a colon, punctuation blank. */
export function cleanAnswer(answer: string): string {
  const [head = ""] = pythonStrip(answer).split("</s>");
  const trimmed = pythonStrip(head);
  const pieces = trimmed.split(":");
  return (pieces.length > 1 ? (pieces[1] as string) : trimmed).replace(/[.:,]/g, " ");
}

/** A category name with underscores and colons as blanks. */
export function cleanCategory(category: string): string {
  return category.replace(/[_:]/g, " ");
}

/** Intersection over union of the sets of lower-case words, 0..1; null where neither text has a word. */
export function wordIou(a: string, b: string): number | null {
  const [one, two] = [wordsOf(a), wordsOf(b)];
  const both = [...one].filter((word) => two.has(word)).length;
  const either = one.size + two.size - both;
  return either === 0 ? null : both / either;
}

function wordsOf(text: string): Set<string> {
  return new Set(pythonWords(text.toLowerCase()));
}
