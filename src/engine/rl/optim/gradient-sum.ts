/**
 * The gradient of a step, accumulated group by group in the optimiser's arenas, so that adding, checking and stepping take
 * a few dispatches for any number of tensors.
 */
import { LabError } from "../../errors.ts";
import { type FlatLayout, type Flats, gather, type Segment, scatter } from "../../gpu/flat/layout.ts";
import { addPass } from "../../gpu/flat/passes.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { ParameterSet } from "../../model/weights/weights.ts";

/** Owns its tensors; tensors without a gradient are absent. */
export class GradientSum {
  readonly #layout: FlatLayout;
  readonly #names = new Set<string>();
  #flats: Flats | undefined;

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
    if (this.#flats === undefined) this.#own(gather(this.#layout, more, true));
    else {
      const incoming = gather(this.#layout, more);
      const change = (name: string) => (more[name] === undefined ? "keep" : this.#names.has(name) ? "add" : "copy");
      this.#own(addPass(this.#layout, this.#flats, incoming, change));
      tf.dispose(incoming);
    }
    tf.dispose(Object.values(more));
    for (const name of Object.keys(more)) this.#names.add(name);
  }

  /** Frees what `flats` replaces. */
  #own(flats: Flats): void {
    for (const flat of flats) tf.keep(flat);
    tf.dispose((this.#flats ?? []).filter((flat) => !flats.includes(flat)));
    this.#flats = flats;
  }

  /** Σ a·b over the elements present in both sums; both stay unchanged. */
  async dot(other: GradientSum): Promise<number> {
    const [ours, theirs] = [this.#flats, other.#flats];
    if (ours === undefined || theirs === undefined) return 0;
    const product = tf.tidy(() => {
      const parts = this.#layout.arenas.flatMap(({ segments }, a) => {
        const stretches = withoutGaps(segments.filter(({ name }) => this.#names.has(name) && other.#names.has(name)));
        if (stretches.length === 0) return [];
        const all = (ours[a] as Tensor).mul(theirs[a] as Tensor);
        return stretches.map(({ begin, end }) => all.slice([begin], [end - begin]).sum());
      });
      return parts.length === 0 ? tf.scalar(0) : parts.reduce((sum, part) => sum.add(part));
    });
    const [value] = await product.data();
    product.dispose();
    return value as number;
  }

  /** This sum times `factor` plus `other` times `otherFactor`, in place; the caller keeps `other`. */
  merge(other: GradientSum, factor: number, otherFactor: number): void {
    if (other.#names.size === 0 && factor === 1) return;
    const scaled = (flats: Flats | undefined, by: number): Tensor[] =>
      this.#layout.arenas.map(({ length }, a) => flats?.[a]?.mul(by) ?? tf.zeros([length]));
    const [sums, incoming] = [scaled(this.#flats, factor), scaled(other.#flats, otherFactor)];
    const change = (name: string) => (!other.#names.has(name) ? "keep" : this.#names.has(name) ? "add" : "copy");
    const merged = addPass(this.#layout, sums, incoming, change);
    this.#own(merged);
    tf.dispose([...incoming, ...sums.filter((flat) => !merged.includes(flat))]);
    for (const name of other.#names) this.#names.add(name);
  }

  /** The arenas, owned by the sum; undefined if it is empty. Values of absent tensors are undefined. */
  get flats(): Flats | undefined {
    return this.#flats;
  }

  /** The sums by name; owned by the caller. */
  tensors(): Record<string, Tensor> {
    if (this.#flats === undefined) return {};
    const all = scatter(this.#layout, this.#flats, true);
    const absent = Object.keys(all).filter((name) => !this.#names.has(name));
    for (const name of absent) {
      all[name]?.dispose();
      delete all[name];
    }
    return all;
  }

  dispose(): void {
    tf.dispose([...(this.#flats ?? [])]);
    this.#flats = undefined;
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
