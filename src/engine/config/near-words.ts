/** Known words that a mistyped word may mean: at most two inserted, removed or replaced letters away. */
export function nearWords(word: string, known: readonly string[]): readonly string[] {
  return known.filter((other) => Math.abs(other.length - word.length) <= 2 && edits(other, word) <= 2);
}

/** Letters to insert, remove or replace between two words. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, replaced));
    }
    row = next;
  }
  return row[b.length] as number;
}
