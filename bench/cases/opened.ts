/** A case with its inputs in place, ready to be timed. */
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { type JaxArray, type JaxLibrary, jaxPeer, toJax } from "../baselines/jax.ts";
import { type OrtLibrary, type OrtPeer, ortPeer } from "../baselines/ort.ts";
import { tensorBaseline } from "../baselines/tensors.ts";
import type { Baseline } from "../row.ts";
import type { Calls } from "../turns.ts";
import type { Case } from "./case.ts";

export interface OpenedCase {
  readonly baselines: Readonly<Partial<Record<Baseline, Calls>>>;
  /** Of onnxruntime-web's result: root mean square of its difference from ours, relative to ours. */
  readonly ortError?: number | undefined;
  dispose(): Promise<void>;
}

export interface Peers {
  readonly jax?: JaxLibrary | undefined;
  readonly ort?: OrtLibrary | undefined;
  /** Reports a peer that cannot run this case. */
  readonly leftOut: (what: string, why: string) => void;
}

/** Draws the inputs and gives each baseline the same values. */
export async function openCase(one: Case, peers: Peers): Promise<OpenedCase> {
  const inputs = one.inputs.map((shape, i) => tf.randomNormal([...shape], 0, 1, "float32", i + 1));
  const dy = one.gradient === true ? slopesOf(one, inputs) : undefined;
  const call = callOf(one, inputs, dy);
  const baselines: Partial<Record<Baseline, Calls>> = {
    own: tensorBaseline(true, call),
    ...(one.alone === true ? {} : { stock: tensorBaseline(false, call) }),
  };
  let arrays: JaxArray[] = [];
  if (peers.jax !== undefined && one.jax !== undefined) {
    arrays = await jaxInputs(peers.jax, one, dy === undefined ? inputs : [...inputs, dy]);
    const slopes = dy === undefined ? undefined : arrays.at(-1);
    baselines.jaxjs = jaxPeer(peers.jax, one.jax, arrays.slice(0, inputs.length), slopes);
  }
  const ort = await openOrtPeer(one, inputs, call, peers);
  if (ort !== undefined) baselines.ort = ort.peer.run;
  return {
    baselines,
    ortError: ort?.error,
    async dispose() {
      for (const array of arrays) array.dispose();
      await ort?.peer.dispose();
      tf.dispose(dy === undefined ? inputs : [...inputs, dy]);
    },
  };
}

/** A random gradient of the case's result. */
function slopesOf({ run }: Case, inputs: readonly Tensor[]): Tensor {
  return tf.tidy(() => {
    const { shape } = run(...inputs) as Tensor;
    return tf.randomNormal([...shape], 0, 1, "float32", inputs.length + 1);
  });
}

/** All compute the result and all gradients, and nothing else, as a layer of a training step does. */
function callOf({ run }: Case, inputs: readonly Tensor[], dy: Tensor | undefined): () => Tensor[] {
  if (dy === undefined) return () => tf.tidy(() => [run(...inputs)].flat());
  return () =>
    tf.tidy(() => {
      const { value, grads } = tf.engine().gradients(() => run(...inputs) as Tensor, [...inputs], dy);
      return [value, ...grads];
    });
}

async function jaxInputs(jax: JaxLibrary, { jaxLayout }: Case, inputs: readonly Tensor[]): Promise<JaxArray[]> {
  const arrays: JaxArray[] = [];
  for (const input of inputs) {
    const turned = tf.tidy(() => jaxLayout?.(input) ?? input.clone());
    arrays.push(await toJax(jax, turned));
    turned.dispose();
  }
  return arrays;
}

async function openOrtPeer(
  { ort: operator, gradient }: Case,
  inputs: readonly Tensor[],
  call: () => Tensor[],
  { ort, leftOut }: Peers,
): Promise<{ readonly peer: OrtPeer; readonly error: number } | undefined> {
  if (ort === undefined || operator === undefined || gradient === true) return undefined;
  const turned = takeOut(() => operator.inputs?.(...inputs) ?? inputs.map((x) => x.clone()));
  try {
    const peer = await ortPeer(ort, operator, turned);
    const theirs = await peer.values();
    return { peer, error: relativeError(await firstValues(call, operator.result), theirs) };
  } catch (thrown) {
    leftOut("onnxruntime-web", `${operator.type}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    return undefined;
  } finally {
    tf.dispose(turned.filter((x) => x !== null));
  }
}

/** Runs in a tidy and keeps the results, nulls included. */
function takeOut(make: () => (Tensor | null)[]): (Tensor | null)[] {
  let results: (Tensor | null)[] = [];
  tf.tidy(() => {
    results = make();
    return results.filter((x) => x !== null);
  });
  return results;
}

async function firstValues(call: () => Tensor[], layout: (result: Tensor) => Tensor = (x) => x): Promise<Float32Array> {
  const first = tf.tidy(() => layout(call()[0] as Tensor));
  const values = Float32Array.from(await first.data());
  first.dispose();
  return values;
}

/** Root mean square of the difference over that of `ours`; Infinity for another number of values. */
export function relativeError(ours: Float32Array, theirs: Float32Array): number {
  if (ours.length !== theirs.length) return Number.POSITIVE_INFINITY;
  let [apart, all] = [0, 0];
  for (const [i, value] of ours.entries()) {
    apart += (value - (theirs[i] as number)) ** 2;
    all += value ** 2;
  }
  return Math.sqrt(apart / all);
}
