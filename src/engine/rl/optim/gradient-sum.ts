/**
 * The gradient of a step, accumulated group by group. With custom kernels it is stored in the optimiser's arenas, so that
 * adding, checking and stepping take a few dispatches for any number of tensors.
 */
import { LabError } from "../../errors.ts";
import { type FlatLayout, runsOf, type Segment } from "../../gpu/flat/layout.ts";
import { copiesInto, type Flats, gather, scatter } from "../../gpu/flat/moves.ts";
import { addPass } from "../../gpu/flat/passes.ts";
import { customKernels } from "../../gpu/runtime/custom-kernels.ts";
import { copyBuffers } from "../../gpu/runtime/program.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { ParameterSet } from "../../model/weights/weights.ts";

/** Owns its tensors; tensors without a gradient are absent. */
export class GradientSum {
  readonly #layout: FlatLayout;
  readonly #names = new Set<string>();
  #flats: Tensor[] | undefined;
  /** The sum in stock ops, tensor by tensor. */
  #set: Record<string, Tensor> = {};

  /** @param layout layout of all trainable tensors; must outlive the sum */
  constructor(layout: FlatLayout) {
    this.#layout = layout;
  }

  get layout(): FlatLayout {
    return this.#layout;
  }

  /** Names of tensors with a gradient. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  get names(): readonly string[] {
    return [...this.#names];
  }

  /** Consumes the gradients. @throws LabError("internal") for a tensor that is not trained */
  add(more: ParameterSet): void {
    const strange = Object.keys(more).find((name) => this.#layout.segment(name) === undefined);
    if (strange !== undefined) throw new LabError("internal", `"${strange}" has a gradient but is not trained`);
    if (customKernels()) this.#addFlat(more);
    else for (const [name, gradient] of Object.entries(more)) this.#addStock(name, gradient);
    for (const name of Object.keys(more)) this.#names.add(name);
  }

  #addStock(name: string, gradient: Tensor): void {
    const before = this.#set[name];
    this.#set[name] = before === undefined ? gradient : tf.tidy(() => before.add(gradient));
    if (before !== undefined) tf.dispose([before, gradient]);
  }

  #addFlat(more: ParameterSet): void {
    const layout = this.#layout;
    if (this.#flats === undefined) {
      this.#flats = gather(layout, more, true).map((flat) => tf.keep(flat));
      tf.dispose(Object.values(more));
      return;
    }
    const sums = this.#flats;
    const incoming = gather(layout, more);
    const fresh = Object.fromEntries(Object.entries(more).filter(([name]) => !this.#names.has(name)));
    layout.arenas.forEach((arena, a) => {
      const [sum, own] = [sums[a] as Tensor, incoming[a] as Tensor];
      copyBuffers(copiesInto(arena, fresh, sum));
      for (const { begin, end } of runsOf(
        arena.segments,
        (name) => this.#names.has(name) && more[name] !== undefined,
      )) {
        addPass(sum, own, begin, end);
      }
    });
    tf.dispose([...incoming, ...Object.values(more)]);
  }

  /** Σ a·b over the elements present in both sums; both stay unchanged. */
  async dot(other: GradientSum): Promise<number> {
    const common = this.names.filter((name) => other.#names.has(name));
    if (common.length === 0) return 0;
    const product = tf.tidy(() => {
      const parts = this.#products(other, common).map((part) => part.sum());
      return parts.reduce((sum, part) => sum.add(part)) as Tensor;
    });
    const [value] = await product.data();
    product.dispose();
    return value as number;
  }

  #products(other: GradientSum, common: readonly string[]): Tensor[] {
    const [ours, theirs] = [this.#flats, other.#flats];
    if (ours === undefined || theirs === undefined) {
      return common.map((name) => (this.#set[name] as Tensor).mul(other.#set[name] as Tensor));
    }
    return this.#layout.arenas.flatMap(({ segments }, a) => {
      const stretches = withoutGaps(segments.filter(({ name }) => this.#names.has(name) && other.#names.has(name)));
      if (stretches.length === 0) return [];
      const all = (ours[a] as Tensor).mul(theirs[a] as Tensor);
      return stretches.map(({ begin, end }) => all.slice([begin], [end - begin]));
    });
  }

  /** This sum times `factor` plus `other` times `otherFactor`, in place; the caller keeps `other`. */
  merge(other: GradientSum, factor: number, otherFactor: number): void {
    if (other.#names.size === 0 && factor === 1) return;
    if (this.#flats === undefined && other.#flats === undefined) this.#mergeStock(other, factor, otherFactor);
    else this.#mergeFlat(other, factor, otherFactor);
    for (const name of other.#names) this.#names.add(name);
  }

  #mergeStock(other: GradientSum, factor: number, otherFactor: number): void {
    const names = new Set([...this.#names, ...other.#names]);
    const before = this.#set;
    this.#set = {};
    for (const name of names) {
      const [one, two] = [before[name], other.#set[name]];
      this.#set[name] = tf.tidy(() => {
        const scaled = [one?.mul(factor), two?.mul(otherFactor)].filter((part) => part !== undefined);
        return scaled.reduce((sum, part) => sum.add(part)) as Tensor;
      });
    }
    tf.dispose(Object.values(before));
  }

  #mergeFlat(other: GradientSum, factor: number, otherFactor: number): void {
    const scaled = (flats: Flats | undefined, by: number): Tensor[] =>
      this.#layout.arenas.map(({ length }, a) => {
        const flat = flats?.[a];
        return tf.keep(flat === undefined ? tf.zeros([length]) : flat.mul(by));
      });
    const [sums, incoming] = [scaled(this.#flats, factor), scaled(other.#flats, otherFactor)];
    this.#layout.arenas.forEach(({ segments }, a) => {
      const [into, from] = [sums[a] as Tensor, incoming[a] as Tensor];
      const fresh = segments.filter(({ name }) => other.#names.has(name) && !this.#names.has(name));
      copyBuffers(fresh.map(({ offset, size }) => ({ from, fromAt: offset, into, intoAt: offset, count: size })));
      for (const { begin, end } of runsOf(segments, (name) => other.#names.has(name) && this.#names.has(name))) {
        addPass(into, from, begin, end);
      }
    });
    tf.dispose([...incoming, ...(this.#flats ?? [])]);
    this.#flats = sums;
  }

  /**
   * The arenas, owned by the sum; undefined if it is empty or was computed with stock ops. Values of absent tensors are
   * undefined.
   */
  get flats(): Flats | undefined {
    return this.#flats;
  }

  /** The sums by name; owned by the caller. */
  tensors(): Record<string, Tensor> {
    if (this.#flats === undefined) return Object.fromEntries(Object.entries(this.#set).map(([n, t]) => [n, t.clone()]));
    const all = scatter(this.#layout, this.#flats, true);
    const absent = Object.keys(all).filter((name) => !this.#names.has(name));
    for (const name of absent) {
      all[name]?.dispose();
      delete all[name];
    }
    return all;
  }

  dispose(): void {
    tf.dispose([...(this.#flats ?? []), ...Object.values(this.#set)]);
    this.#flats = undefined;
    this.#set = {};
    this.#names.clear();
  }
}

/** Ranges of adjacent segments; gaps between tensors hold arbitrary old values of the buffer. */
function withoutGaps(segments: readonly Segment[]): { readonly begin: number; readonly end: number }[] {
  const stretches: { begin: number; end: number }[] = [];
  for (const { offset, size } of segments) {
    const last = stretches.at(-1);
    if (last?.end === offset) last.end += size;
    else stretches.push({ begin: offset, end: offset + size });
  }
  return stretches;
}
