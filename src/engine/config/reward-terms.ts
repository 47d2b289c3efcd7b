/**
 * The one table of reward terms: weights, matrix, labels and docs come from it. A term is a row here and its function in
 * rewards/composer/terms.ts.
 */

interface TermRow {
  /** As screens show it. */
  readonly label: string;
  /** One sentence without a full stop. */
  readonly help: string;
  /** A cost from 0 to 1, which is subtracted. */
  readonly cost?: true;
}

/** In the order of the matrix. */
export const REWARD_TERMS = {
  iou: { label: "IoU", help: "IoU of the given and the predicted mask" },
  meteor: { label: "METEOR", help: "METEOR of the generated caption against the caption of the row" },
  judge: { label: "Judge", help: "Score of the judge. Without a judge, METEOR takes its weight" },
  confidence: { label: "Mask confidence", help: "Mean probability inside the predicted mask" },
  box: { label: "Box IoU", help: "IoU of the two bounding boxes" },
  centre: { label: "Centre", help: "1 minus the distance of the two mask centres, divided by the picture's diagonal" },
  user: { label: "Custom reward", help: "The function on the Rewards screen" },
  length: { label: "Length cost", help: "Penalty for words beyond the free length", cost: true },
  repetition: { label: "Repetition cost", help: "Penalty for repeated word sequences", cost: true },
  leak: { label: "Leak cost", help: "Penalty when a leak word occurs", cost: true },
} as const satisfies Readonly<Record<string, TermRow>>;

export type TermName = keyof typeof REWARD_TERMS;

export const TERMS = Object.keys(REWARD_TERMS) as readonly TermName[];

export function termRow(term: TermName): TermRow {
  return REWARD_TERMS[term];
}

type CostName = { [T in TermName]: (typeof REWARD_TERMS)[T] extends { cost: true } ? T : never }[TermName];

/** Name of the setting with the weight of a term in a loop. */
export type WeightKey<Loop extends number = number> = {
  [T in TermName]: `loop${Loop}${Capitalize<T>}${T extends CostName ? "Cost" : ""}`;
}[TermName];
