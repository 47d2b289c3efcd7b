/** Number of white-space-separated words of a caption, at least 1; the caption's length for grouping rows. */
export function wordCount(caption: string): number {
  return Math.max(1, caption.trim().split(/\s+/).length);
}
