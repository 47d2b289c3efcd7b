/** Words of a caption between white space, at least 1: its length where rows are grouped by length. */
export function wordCount(caption: string): number {
  return Math.max(1, caption.trim().split(/\s+/).length);
}
