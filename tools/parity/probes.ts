import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { Probe } from "../../src/engine/model/probe.ts";

/** Keeps clones of the intermediate tensors that a forward pass passes to its probe. */
export class Captured {
  private readonly tensors = new Map<string, Tensor>();

  readonly probe: Probe = (name, value) => {
    this.tensors.get(name)?.dispose();
    this.tensors.set(name, tf.keep(value.clone()));
  };

  get names(): readonly string[] {
    return [...this.tensors.keys()];
  }

  has(name: string): boolean {
    return this.tensors.has(name);
  }

  /** A result computed from a captured tensor; undefined if there is none of that name. */
  async with<T>(name: string, use: (tensor: Tensor) => Promise<T>): Promise<T | undefined> {
    const tensor = this.tensors.get(name);
    return tensor === undefined ? undefined : await use(tensor);
  }

  /** The values of a captured array; `turn` gives a channels-last array channels-first. */
  async read(name: string, turn: boolean): Promise<Float32Array> {
    const tensor = this.tensors.get(name);
    if (tensor === undefined) return new Float32Array(0);
    const out = turn ? tensor.transpose([0, 3, 1, 2]) : tensor.clone();
    const values = Float32Array.from(await out.data());
    out.dispose();
    return values;
  }

  clear(): void {
    for (const tensor of this.tensors.values()) tensor.dispose();
    this.tensors.clear();
  }

  dispose(): void {
    this.clear();
  }
}
