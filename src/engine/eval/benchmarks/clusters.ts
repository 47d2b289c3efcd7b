/** Standard errors of a ratio of sums whose rows come in clusters (sentences of one picture), without random draws. */

/** Sums over the rows of one picture: θ = Σ sum / Σ weight; for cIoU the pixels of intersection and union. */
export interface Cluster {
  readonly sum: number;
  readonly weight: number;
}

/** An estimate with the variance that its clusters give it; the variance is null for fewer than two clusters. */
export interface Estimate {
  readonly estimate: number;
  readonly variance: number | null;
}

/** Rows as clusters by picture. */
export function clustersOf(rows: readonly (Cluster & { readonly image: string })[]): Cluster[] {
  const clusters = new Map<string, { sum: number; weight: number }>();
  for (const { image, sum, weight } of rows) {
    const known = clusters.get(image);
    if (known === undefined) clusters.set(image, { sum, weight });
    else {
      known.sum += sum;
      known.weight += weight;
    }
  }
  return [...clusters.values()];
}

/** The ratio with its linearised variance. @param clusters with a positive total weight */
export function linearised(clusters: readonly Cluster[]): Estimate {
  const { estimate, errors } = linear(clusters);
  return { estimate, variance: varianceOf(errors) };
}

/** Difference b − a of two systems on the same clusters, in the same order. */
export function linearisedDifference(a: readonly Cluster[], b: readonly Cluster[]): Estimate {
  const [one, two] = [linear(a), linear(b)];
  const errors = two.errors.map((error, at) => error - (one.errors[at] as number));
  return { estimate: two.estimate - one.estimate, variance: varianceOf(errors) };
}

function linear(clusters: readonly Cluster[]): { readonly estimate: number; readonly errors: readonly number[] } {
  let [sum, weight] = [0, 0];
  for (const cluster of clusters) {
    sum += cluster.sum;
    weight += cluster.weight;
  }
  const estimate = sum / weight;
  return { estimate, errors: clusters.map((cluster) => (cluster.sum - estimate * cluster.weight) / weight) };
}

function varianceOf(errors: readonly number[]): number | null {
  const n = errors.length;
  return n < 2 ? null : (n / (n - 1)) * errors.reduce((sum, error) => sum + error * error, 0);
}
