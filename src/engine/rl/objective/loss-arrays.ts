/**
 * The arrays that the loss is written for: tensors on the device, or double precision on the host. The loss is one
 * function of either (loss.ts), so training, metrics and *What if* share one formula.
 */
import { type Tensor, tf } from "../../gpu/tf.ts";

/** Operations on [N, T], [N, 1] or [1, 1] arrays, with broadcasting; the names and meanings are those of a tensor. */
export interface LossArray<A> {
  readonly shape: readonly number[];
  readonly size: number;
  add(other: A | number): A;
  sub(other: A | number): A;
  mul(other: A | number): A;
  div(other: A | number): A;
  maximum(other: A | number): A;
  minimum(other: A | number): A;
  greater(other: A | number): A;
  greaterEqual(other: A | number): A;
  less(other: A | number): A;
  lessEqual(other: A | number): A;
  logicalAnd(other: A): A;
  logicalOr(other: A): A;
  logicalNot(): A;
  neg(): A;
  abs(): A;
  sign(): A;
  exp(): A;
  expm1(): A;
  square(): A;
  sigmoid(): A;
  relu(): A;
  isFinite(): A;
  toFloat(): A;
  zerosLike(): A;
  onesLike(): A;
  clipByValue(low: number, high: number): A;
  /** These values where `condition` holds, else those of `other`. */
  where(condition: A, other: A): A;
  sum(axis?: number, keepDims?: boolean): A;
  reshape(shape: number[]): A;
}

/** What the loss needs beyond the operations of an array. */
export interface LossOperations<A> {
  /** Identity whose gradient is 0. */
  stop(x: A): A;
  /** All elements in descending order. */
  descending(x: A): A;
  /** 0 to count − 1. */
  range(count: number): A;
}

/** Identity whose gradient is 0; tfjs has no such operation. */
export function stopGradient(x: Tensor): Tensor {
  const detach = tf.customGrad((input) => ({
    value: (input as Tensor).clone(),
    gradFunc: (dy: Tensor) => tf.zerosLike(dy),
  }));
  return detach(x);
}

export const TENSORS: LossOperations<Tensor> = {
  stop: stopGradient,
  descending: (x) => tf.topk(x.reshape([-1]), x.size, true).values,
  range: (count) => tf.range(0, count, 1, "float32"),
};

/** A row-major [rows, columns] array in double precision; conditions are 1 or 0. */
export class Doubles implements LossArray<Doubles> {
  readonly shape: readonly [rows: number, columns: number];
  readonly values: Float64Array;

  constructor(shape: readonly [rows: number, columns: number], values: ArrayLike<number>) {
    this.shape = shape;
    this.values = values instanceof Float64Array ? values : Float64Array.from(values);
  }

  get size(): number {
    return this.values.length;
  }

  #each(change: (x: number) => number): Doubles {
    return new Doubles(this.shape, this.values.map(change));
  }

  #with(other: Doubles | number, join: (x: number, y: number) => number): Doubles {
    return typeof other === "number" ? this.#each((x) => join(x, other)) : broadcast(join, this, other);
  }

  add = (other: Doubles | number): Doubles => this.#with(other, (x, y) => x + y);
  sub = (other: Doubles | number): Doubles => this.#with(other, (x, y) => x - y);
  mul = (other: Doubles | number): Doubles => this.#with(other, (x, y) => x * y);
  div = (other: Doubles | number): Doubles => this.#with(other, (x, y) => x / y);
  maximum = (other: Doubles | number): Doubles => this.#with(other, Math.max);
  minimum = (other: Doubles | number): Doubles => this.#with(other, Math.min);
  greater = (other: Doubles | number): Doubles => this.#with(other, (x, y) => Number(x > y));
  greaterEqual = (other: Doubles | number): Doubles => this.#with(other, (x, y) => Number(x >= y));
  less = (other: Doubles | number): Doubles => this.#with(other, (x, y) => Number(x < y));
  lessEqual = (other: Doubles | number): Doubles => this.#with(other, (x, y) => Number(x <= y));
  logicalAnd = (other: Doubles): Doubles => this.#with(other, (x, y) => x * y);
  logicalOr = (other: Doubles): Doubles => this.#with(other, Math.max);
  logicalNot = (): Doubles => this.#each((x) => 1 - x);
  neg = (): Doubles => this.#each((x) => -x);
  abs = (): Doubles => this.#each(Math.abs);
  sign = (): Doubles => this.#each(Math.sign);
  exp = (): Doubles => this.#each(Math.exp);
  expm1 = (): Doubles => this.#each(Math.expm1);
  square = (): Doubles => this.#each((x) => x * x);
  sigmoid = (): Doubles => this.#each((x) => 1 / (1 + Math.exp(-x)));
  relu = (): Doubles => this.#each((x) => Math.max(0, x));
  isFinite = (): Doubles => this.#each((x) => Number(Number.isFinite(x)));
  toFloat = (): Doubles => this;
  zerosLike = (): Doubles => this.#each(() => 0);
  onesLike = (): Doubles => this.#each(() => 1);
  clipByValue = (low: number, high: number): Doubles => this.#each((x) => Math.min(high, Math.max(low, x)));

  where = (condition: Doubles, other: Doubles): Doubles =>
    broadcast((x, y, holds) => (holds === 1 ? x : y), this, other, condition);

  /** Over all elements, or with axis 1 over each row. */
  sum(axis?: number): Doubles {
    if (axis === undefined) return new Doubles([1, 1], [this.values.reduce((sum, x) => sum + x, 0)]);
    const [rows, columns] = this.shape;
    const sums = new Float64Array(rows);
    for (let n = 0; n < rows; n++) {
      for (let i = n * columns; i < (n + 1) * columns; i++) sums[n] = (sums[n] as number) + (this.values[i] as number);
    }
    return new Doubles([rows, 1], sums);
  }

  reshape(shape: number[]): Doubles {
    return new Doubles(shape as [number, number], this.values);
  }
}

/** `join` of the elements of two or three arrays; a side of 1 is repeated. */
function broadcast(join: (x: number, y: number, z: number) => number, x: Doubles, y: Doubles, z: Doubles = y): Doubles {
  const [rows, columns] = [0, 1].map((side) => Math.max(...[x, y, z].map(({ shape }) => shape[side] as number))) as [
    number,
    number,
  ];
  const values = new Float64Array(rows * columns);
  const stridesOf = ({ shape: [height, width] }: Doubles) => [height === 1 ? 0 : width, width === 1 ? 0 : 1] as const;
  const [[xn, xt], [yn, yt], [zn, zt]] = [stridesOf(x), stridesOf(y), stridesOf(z)];
  for (let n = 0; n < rows; n++) {
    for (let t = 0; t < columns; t++) {
      values[n * columns + t] = join(
        x.values[n * xn + t * xt] as number,
        y.values[n * yn + t * yt] as number,
        z.values[n * zn + t * zt] as number,
      );
    }
  }
  return new Doubles([rows, columns], values);
}

export const DOUBLES: LossOperations<Doubles> = {
  stop: (x) => x,
  descending: ({ size, values }) => new Doubles([1, size], values.slice().sort().reverse()),
  range: (count) =>
    new Doubles(
      [1, count],
      Float64Array.from({ length: count }, (_, at) => at),
    ),
};
