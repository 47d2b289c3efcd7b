import { type Measured, NO_REFERENCE, type TermSpec, type TermTools } from "./spec.ts";

/** METEOR of the generated caption against the caption of the row. */
export const METEOR = {
  name: "meteor",
  label: "METEOR",
  help: "METEOR of the generated caption against the caption of the row",
  measure: ({ caption, reference }, { meteor }: TermTools): Measured => {
    if (reference === null) return NO_REFERENCE;
    const measured = meteorOf(meteor, reference, caption ?? "");
    return caption === null ? { ...measured, note: "empty mask" } : measured;
  },
} as const satisfies TermSpec;

/** METEOR with its alignment, and a remark if a side has no words; an empty caption scores 0. */
export function meteorOf(meteor: TermTools["meteor"], reference: string, caption: string): Measured {
  const detail = meteor.score(reference, caption);
  const measured: Measured = { value: detail.score, meteor: detail };
  if (detail.hypothesis.length === 0) return { ...measured, note: "empty caption" };
  if (detail.reference.length === 0) return { ...measured, note: "empty reference" };
  return measured;
}
