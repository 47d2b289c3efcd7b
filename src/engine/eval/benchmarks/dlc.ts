/** DLC-Bench: positive and negative scores of objects as the benchmark averages them. */

/** Scores of one object, as `scoreAnswers` gives them. */
export interface DlcObject {
  /** Mean over the object's positive questions. */
  readonly positive: number;
  /** Mean over its negative questions; null where it has none. */
  readonly negative: number | null;
}

/** Means over objects. */
export interface DlcScores {
  readonly positive: number;
  readonly negative: number;
  /** (positive + negative) / 2: the printed average, which is not the mean of the objects' own scores. */
  readonly average: number;
}

/** @param objects at least one, at least one of them with negative questions */
export function dlcScores(objects: readonly DlcObject[]): DlcScores {
  const positive = mean(objects.map((one) => one.positive));
  const negative = mean(objects.flatMap((one) => one.negative ?? []));
  return { positive, negative, average: (positive + negative) / 2 };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
