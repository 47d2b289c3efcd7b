/** How a reward term came about; every field is something the inspector can show. */
export interface RewardTerm {
  /** "iou", "meteor", "judge", … */
  readonly name: string;
  /** Raw value before weighting; null = missing (a failed judge), never 0 in its place. */
  readonly value: number | null;
  readonly weight: number;
  readonly iou?: { readonly intersection: number; readonly union: number };
  readonly meteor?: MeteorDetail;
  /** Why the value is missing, or a remark such as "empty mask". */
  readonly note?: string;
}

export interface MeteorDetail {
  readonly hypothesis: readonly string[];
  readonly reference: readonly string[];
  /** [hypothesis index, reference index, stage]. */
  readonly matches: readonly (readonly [number, number, "exact" | "stem" | "synonym"])[];
  readonly chunks: number;
  readonly precision: number;
  readonly recall: number;
  readonly fMean: number;
  readonly penalty: number;
  readonly score: number;
}
