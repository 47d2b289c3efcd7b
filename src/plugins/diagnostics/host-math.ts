/** The same computations in double precision on the host, written as plainly as possible. */

export type Numbers = Float64Array<ArrayBuffer>;

/** Repeatable numbers between −1 and 1 that single precision holds exactly. */
export function drawn(count: number, seed: number): Float32Array<ArrayBuffer> {
  return Float32Array.from(
    { length: count },
    (_, i) => Math.sin(12.9898 * (i + 1) + 78.233 * seed) * Math.cos(0.37 * i),
  );
}

export const exact = (values: ArrayLike<number>): Numbers => Float64Array.from(values);

/** x [M, K] times w [N, K] transposed, [M, N]. */
export function product(x: Numbers, w: Numbers, k: number): Numbers {
  const [m, n] = [x.length / k, w.length / k];
  const y = new Float64Array(m * n);
  for (let row = 0; row < m; row++) {
    for (let column = 0; column < n; column++) {
      let sum = 0;
      for (let i = 0; i < k; i++) sum += (x[row * k + i] as number) * (w[column * k + i] as number);
      y[row * n + column] = sum;
    }
  }
  return y;
}

/**
 * The transposed matrix.
 * @param columns number of columns of the given matrix
 */
export function turned(x: Numbers, columns: number): Numbers {
  const rows = x.length / columns;
  return Float64Array.from(x, (_, i) => x[(i % rows) * columns + Math.floor(i / rows)] as number);
}

export function sum(a: Numbers, b: Numbers, factor = 1): Numbers {
  return a.map((value, i) => value + factor * (b[i % b.length] as number));
}

/** Each row divided by the root of its mean square, times the weight. */
export function rmsNorm(x: Numbers, weight: Numbers, eps: number): Numbers {
  return byRow(x, weight.length, (row) => {
    const scale = 1 / Math.sqrt(row.reduce((total, value) => total + value * value, 0) / row.length + eps);
    return row.map((value, i) => value * scale * (weight[i] as number));
  });
}

export function layerNorm(x: Numbers, weight: Numbers, bias: Numbers, eps: number): Numbers {
  return byRow(x, weight.length, (row) => {
    const mean = row.reduce((total, value) => total + value, 0) / row.length;
    const variance = row.reduce((total, value) => total + (value - mean) ** 2, 0) / row.length;
    const scale = 1 / Math.sqrt(variance + eps);
    return row.map((value, i) => (value - mean) * scale * (weight[i] as number) + (bias[i] as number));
  });
}

export function swiglu(gate: Numbers, up: Numbers): Numbers {
  return gate.map((value, i) => (value / (1 + Math.exp(-value))) * (up[i] as number));
}

/** The log-softmax of each row. */
export function logSoftmax(logits: Numbers, width: number): Numbers {
  return byRow(logits, width, (row) => {
    const top = row.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
    const total = Math.log(row.reduce((all, value) => all + Math.exp(value - top), 0)) + top;
    return row.map((value) => value - total);
  });
}

export interface AttentionSizes {
  readonly heads: number;
  /** Number of key heads; each serves heads / keyHeads adjacent query heads. */
  readonly keyHeads: number;
  readonly length: number;
  readonly width: number;
  readonly causal: boolean;
}

/** softmax(q kᵀ · scale) v, [heads, length, width]; k and v are [keyHeads, length, width]. */
export function attention(q: Numbers, k: Numbers, v: Numbers, scale: number, sizes: AttentionSizes): Numbers {
  const { heads, keyHeads, length, width, causal } = sizes;
  const size = length * width;
  const out = new Float64Array(heads * size);
  for (let head = 0; head < heads; head++) {
    const other = Math.floor((head * keyHeads) / heads) * size;
    const scores = product(q.slice(head * size, (head + 1) * size), k.slice(other, other + size), width);
    const hidden = scores.map((score, i) =>
      causal && i % length > Math.floor(i / length) ? -Infinity : score * scale,
    );
    const weights = logSoftmax(hidden, length).map(Math.exp);
    out.set(product(weights, turned(v.slice(other, other + size), width), length), head * size);
  }
  return out;
}

/** Slope of f at x along a direction, by a central difference. */
export function slope(f: (x: Numbers) => number, x: Numbers, direction: Numbers): number {
  const step = 1e-5;
  return (f(sum(x, direction, step)) - f(sum(x, direction, -step))) / (2 * step);
}

/** Σ a · b. */
export function inner(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Array.from(a).reduce((total, value, i) => total + value * (b[i] as number), 0);
}

function byRow(x: Numbers, width: number, f: (row: Numbers) => Numbers): Numbers {
  const out = new Float64Array(x.length);
  for (let at = 0; at < x.length; at += width) out.set(f(x.slice(at, at + width)), at);
  return out;
}
