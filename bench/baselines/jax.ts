/** jax-js as a baseline: its WebGPU backend on the same adapter, every function under `jit`. */
import type * as Jax from "@jax-js/jax";
import type { Tensor } from "../../src/engine/gpu/tf.ts";

export type JaxLibrary = typeof Jax;
export type JaxArray = Jax.Array;

/** A function of jax-js arrays, which it consumes. */
export type JaxFunction = (jax: JaxLibrary, ...inputs: JaxArray[]) => JaxArray;

/** The iterator helpers that jax-js uses and Node 20 lacks. */
function addIteratorHelpers(): void {
  const prototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())) as object;
  const helpers = {
    *map<T, R>(this: Iterable<T>, f: (value: T, index: number) => R) {
      let i = 0;
      for (const value of this) yield f(value, i++);
    },
    *filter<T>(this: Iterable<T>, f: (value: T, index: number) => boolean) {
      let i = 0;
      for (const value of this) if (f(value, i++)) yield value;
    },
    toArray<T>(this: Iterable<T>) {
      return [...this];
    },
    some<T>(this: Iterable<T>, f: (value: T) => boolean) {
      for (const value of this) if (f(value)) return true;
      return false;
    },
    every<T>(this: Iterable<T>, f: (value: T) => boolean) {
      for (const value of this) if (!f(value)) return false;
      return true;
    },
  };
  for (const [name, value] of Object.entries(helpers)) {
    if (!(name in prototype)) Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  }
}

/** jax-js on WebGPU, or undefined when it offers no such device here. Needs `navigator.gpu`. */
export async function openJax(): Promise<JaxLibrary | undefined> {
  addIteratorHelpers();
  const jax = await import("@jax-js/jax");
  const devices = await jax.init("webgpu");
  if (!devices.includes("webgpu")) return undefined;
  jax.defaultDevice("webgpu");
  return jax;
}

/** Copies a tensor's values. */
export async function toJax(jax: JaxLibrary, tensor: Tensor): Promise<JaxArray> {
  const values = await tensor.data();
  const array = tensor.dtype === "int32" ? Int32Array.from(values) : Float32Array.from(values);
  return jax.numpy.array(array).reshape([...tensor.shape]);
}

/**
 * Forces jax-js to compute. It is lazy: a result that is disposed of unread is never computed, so a benchmark must
 * request every result.
 */
export async function settle(arrays: readonly JaxArray[]): Promise<void> {
  await Promise.all(arrays.map((array) => array.blockUntilReady()));
}

/**
 * The function under `jit` as a baseline; the caller still owns the arrays.
 * @param dy a gradient of the result with as many elements: the result and the gradients of all inputs are computed
 */
export function jaxPeer(
  jax: JaxLibrary,
  run: JaxFunction,
  inputs: readonly JaxArray[],
  dy?: JaxArray,
): (calls: number) => Promise<void> {
  const forward = (...given: JaxArray[]): JaxArray => run(jax, ...given);
  const both = (slope: JaxArray, ...given: JaxArray[]): JaxArray[] => {
    const [y, back] = jax.vjp(forward, given);
    return [y.ref, ...(back(slope) as JaxArray[])];
  };
  const jitted = jax.jit(dy === undefined ? forward : both) as (...given: JaxArray[]) => JaxArray | JaxArray[];
  const given = dy === undefined ? inputs : [dy, ...inputs];
  return async (calls) => {
    const results: JaxArray[] = [];
    for (let i = 0; i < calls; i++) results.push(...[jitted(...given.map((input) => input.ref))].flat());
    await settle(results);
    const last = results.pop();
    for (const array of results) array.dispose();
    await last?.data();
  };
}
