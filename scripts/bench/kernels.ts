/** Each own kernel against the stock ops it replaces and, where it has one, against jax-js. */
import { switchOwnKernels } from "../../src/engine/gpu/own-kernels.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { type Case, cases } from "./cases.ts";
import { decoderCase } from "./decoder.ts";
import { type JaxLibrary, jaxContender, toJax } from "./jax.ts";
import { type BenchRow, benchRow, inTurn, wallClock } from "./measure.ts";
import { updateCase } from "./update.ts";

/** Milliseconds a case may take for its rounds. */
const BUDGET = 4000;

/** A contender that runs tfjs code, with our kernels or without, and waits for the last result. */
function tensorContender(own: boolean, call: () => Tensor[]): (calls: number) => Promise<void> {
  return async (calls) => {
    switchOwnKernels(own);
    let last: Tensor[] = [];
    for (let i = 0; i < calls; i++) {
      tf.dispose(last);
      last = call();
    }
    // The queue works in order, so the first result's read-back may come before the last is done.
    await last.at(-1)?.data();
    tf.dispose(last);
    switchOwnKernels(true);
  };
}

function normal(shape: readonly number[], seed: number): Tensor {
  return tf.randomNormal([...shape], 0, 1, "float32", seed);
}

function callOf({ run, gradient }: Case, tensors: readonly Tensor[]): () => Tensor[] {
  if (gradient !== true) return () => tf.tidy(() => [run(...tensors)].flat());
  const loss = (...given: Tensor[]): Tensor => (run(...given) as Tensor).square().sum();
  return () => tf.tidy(() => tf.grads(loss)([...tensors]));
}

/**
 * @param rounds measurements of each contender, taken in turn
 * @param peak floating-point operations a second of the adapter
 * @param only measures cases whose name contains this
 */
export async function* kernelRows(
  adapter: string,
  rounds: number,
  peak: number,
  jax: JaxLibrary | undefined,
  only = "",
  clock = wallClock,
): AsyncGenerator<BenchRow> {
  for (const one of cases()) {
    if (!one.name.includes(only)) continue;
    const tensors = one.inputs.map((shape, i) => normal(shape, i + 1));
    const call = callOf(one, tensors);
    const arrays =
      jax === undefined || one.jax === undefined
        ? []
        : await Promise.all((one.jaxInputs ?? one.inputs).map((shape, i) => jaxInput(jax, shape, i + 1)));
    const peer = jax !== undefined && one.jax !== undefined ? { jaxjs: jaxContender(jax, one.jax, arrays) } : {};
    const own = tensorContender(true, call);
    const times = await inTurn({ own, stock: tensorContender(false, call), ...peer }, rounds, BUDGET, clock);
    for (const array of arrays) array.dispose();
    tf.dispose(tensors);
    yield rowOf("kernels", one.name, adapter, times, one.flops, peak);
  }
  for (const { name, open } of [decoderCase, updateCase]) {
    if (!name.includes(only)) continue;
    const { own, jaxRun, dispose }: OpenCase = await open(jax);
    const peer = jaxRun === undefined ? {} : { jaxjs: jaxRun };
    const contenders = { own: tensorContender(true, own), stock: tensorContender(false, own), ...peer };
    const times = await inTurn(contenders, rounds, 2 * BUDGET, clock);
    dispose();
    yield rowOf("kernels", name, adapter, times, undefined, peak);
  }
}

/** A case that brings its own state along. */
interface OpenCase {
  /** One call; the last result ends it. */
  readonly own: () => Tensor[];
  readonly jaxRun?: ((calls: number) => Promise<void>) | undefined;
  readonly dispose: () => void;
}

async function jaxInput(jax: JaxLibrary, shape: readonly number[], seed: number): ReturnType<typeof toJax> {
  const tensor = normal(shape, seed);
  const array = await toJax(jax, tensor);
  tensor.dispose();
  return array;
}

function rowOf(
  suite: string,
  name: string,
  adapter: string,
  times: Awaited<ReturnType<typeof inTurn>>,
  flops: number | undefined,
  peak: number,
): BenchRow {
  const { own = [], stock = [], ...others } = times;
  const row = benchRow({ suite, case: name, adapter }, own, stock, others);
  return flops === undefined ? row : { ...row, peak_fraction: flops / (row.own_ms / 1000) / peak };
}
