import type { ScoredRollout } from "../types.ts";

/**
 * Means over the draws that have a value. Details come from the first draw; the note lists a term's value for each
 * text.
 * @param draws [draw][rollout], at least one
 * @param texts texts in the same order; null where there was nothing to describe
 */
export function meanScores(
  draws: readonly (readonly ScoredRollout[])[],
  texts: readonly (readonly (string | null)[])[],
): readonly ScoredRollout[] {
  const [first = []] = draws;
  if (draws.length === 1) return first;
  return first.map(({ terms }, n): ScoredRollout => {
    const said = texts.map((own) => own[n] ?? null);
    return {
      reward: meanOf(draws.map((scored) => scored[n]?.reward ?? null)),
      terms: terms.map((term) => {
        const values = draws.map((scored) => scored[n]?.terms.find(({ name }) => name === term.name)?.value ?? null);
        if (values.every((value) => value === term.value)) return term;
        const note = said.map((text, at) => `“${text ?? ""}” ${values[at]?.toFixed(3) ?? "missing"}`).join(", ");
        return { ...term, value: meanOf(values), note: `mean over ${values.length} captions′: ${note}` };
      }),
    };
  });
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}
