/**
 * Places many tensors one after another in a few long ones (arenas), so that a pass over all of them is one dispatch
 * instead of one per tensor. Small tensors share an arena and are copied in and out; each large one is an arena of its
 * own.
 *
 * A pass processes chunks. A chunk belongs to one tensor, and a tensor's sums add its chunks in order, whatever else
 * the arena holds. Gaps between tensors are never read.
 */

import { customKernels, toTensor } from "../runtime/custom-op.ts";
import { type BufferCopy, copyBuffers, unwritten } from "../runtime/program.ts";
import { type Tensor, tf } from "../tf.ts";

/** Maximum elements per chunk. */
export const CHUNK = 1024;
/** Tensors of at least this size get their own arena: their pass costs more than its dispatch. */
const ALONE = 2 ** 18;
/** Maximum elements of a shared arena. It bounds the memory that is held twice during a pass. */
const CAPACITY = 2 ** 22;
/** Tensors start at multiples of this. */
const ALIGNMENT = 16;

export interface Segment {
  readonly name: string;
  readonly shape: readonly number[];
  readonly size: number;
  /** Index among all segments of the layout, also used in every table. */
  readonly index: number;
  /** First element within the arena. */
  readonly offset: number;
}

interface Arena {
  readonly segments: readonly Segment[];
  /** Elements, including gaps between tensors. */
  readonly length: number;
  /** Index of its first chunk among all chunks. */
  readonly firstChunk: number;
  readonly chunks: number;
}

/** Position of every tensor of a set. Owns small tables on the device, made when a pass first needs them. */
export class FlatLayout {
  readonly arenas: readonly Arena[];
  /** Segments and chunks of all arenas together. */
  readonly count: number;
  readonly chunks: number;
  readonly #byName = new Map<string, Segment>();
  #chunkTables: Tensor[] = [];
  #segmentTable: Tensor | undefined;

  /** @param shapes of float32 tensors by name; empty tensors take no space */
  constructor(shapes: Iterable<readonly [string, readonly number[]]>) {
    const groups: Segment[][] = [];
    let shared: Segment[] = [];
    let index = 0;
    for (const [name, shape] of shapes) {
      const size = tf.util.sizeFromShape([...shape]);
      if (size < ALONE && endOf(shared) + size > CAPACITY) shared = [];
      const own = size >= ALONE ? [] : shared;
      const segment = { name, shape, size, index: index++, offset: endOf(own) };
      if (own.length === 0) groups.push(own);
      own.push(segment);
      this.#byName.set(name, segment);
    }
    let firstChunk = 0;
    this.arenas = groups.map((segments): Arena => {
      const chunks = segments.reduce((sum, { size }) => sum + Math.ceil(size / CHUNK), 0);
      const arena = { segments, length: Math.max(1, endOf(segments)), firstChunk, chunks };
      firstChunk += chunks;
      return arena;
    });
    this.count = index;
    this.chunks = firstChunk;
  }

  static of(set: Readonly<Record<string, Tensor>>): FlatLayout {
    return new FlatLayout(Object.entries(set).map(([name, { shape }]) => [name, shape] as const));
  }

  segment(name: string): Segment | undefined {
    return this.#byName.get(name);
  }

  /** [chunks, 3] per arena, int32: first element, elements, segment. Owned by the layout. */
  chunkTable(arena: number): Tensor {
    this.#makeTables();
    return this.#chunkTables[arena] as Tensor;
  }

  /** [segments, 2], int32: index of the first chunk, chunks. Owned by the layout. */
  segmentTable(): Tensor {
    this.#makeTables();
    return this.#segmentTable as Tensor;
  }

  /** The tables made so far. */
  get tables(): readonly Tensor[] {
    return this.#segmentTable === undefined ? [] : [...this.#chunkTables, this.#segmentTable];
  }

  #makeTables(): void {
    if (this.#segmentTable !== undefined) return;
    const bySegment = new Int32Array(2 * this.count);
    this.#chunkTables = this.arenas.map(({ segments, firstChunk, chunks }) => {
      const rows: number[] = [];
      for (const { index, offset, size } of segments) {
        bySegment.set([firstChunk + rows.length / 3, Math.ceil(size / CHUNK)], 2 * index);
        for (let at = 0; at < size; at += CHUNK) rows.push(offset + at, Math.min(CHUNK, size - at), index);
      }
      return tf.keep(tf.tensor2d(Int32Array.from(rows), [chunks, 3], "int32"));
    });
    this.#segmentTable = tf.keep(tf.tensor2d(bySegment, [this.count, 2], "int32"));
  }

  dispose(): void {
    tf.dispose([...this.tables]);
    this.#chunkTables = [];
    this.#segmentTable = undefined;
  }
}

function endOf(segments: readonly Segment[]): number {
  const last = segments[segments.length - 1];
  return last === undefined ? 0 : Math.ceil((last.offset + last.size) / ALIGNMENT) * ALIGNMENT;
}

/** Ranges of adjacent wanted segments, in elements of their arena. */
export function runsOf(
  segments: readonly Segment[],
  wanted: (name: string) => boolean,
): { readonly begin: number; readonly end: number }[] {
  const runs: { begin: number; end: number }[] = [];
  let open = false;
  for (const { name, offset, size } of segments) {
    const last = runs[runs.length - 1];
    if (!wanted(name)) open = false;
    else if (open && last !== undefined) last.end = offset + size;
    else {
      runs.push({ begin: offset, end: offset + size });
      open = true;
    }
  }
  return runs;
}

// Copies between sets of tensors and their arenas: buffer copies, without program or dispatch. Without custom kernels,
// where a tensor cannot be written, the same arenas are joined from their tensors in stock ops.

/** One float32 tensor [arena.length] per arena. */
export type Flats = readonly Tensor[];

/** A set that may lack some tensors of the layout. */
type PartialSet = Readonly<Record<string, Tensor | undefined>>;

/** A tensor that fills its arena can be used as the arena itself. */
function alone({ segments, length }: Arena): boolean {
  return segments.length === 1 && segments[0]?.size === length;
}

/** The elements of a tensor in an arena, in stock ops. */
export function partOf(flat: Tensor, { offset, size }: Segment): Tensor {
  return flat.slice([offset], [size]);
}

/** An arena of values computed tensor by tensor in stock ops, from the parts of other arenas; gaps hold 0. */
export function bySegment(
  { segments, length }: Arena,
  flats: Flats,
  valuesOf: (segment: Segment, parts: readonly Tensor[]) => Tensor,
): Tensor {
  return tf.tidy(() => {
    const pieces: Tensor[] = [];
    let end = 0;
    const fill = (to: number): void => {
      if (to > end) pieces.push(tf.zeros([to - end]));
    };
    for (const segment of segments.filter(({ size }) => size > 0)) {
      fill(segment.offset);
      const values = valuesOf(
        segment,
        flats.map((flat) => partOf(flat, segment)),
      );
      pieces.push(values.toFloat().reshape([segment.size]));
      end = segment.offset + segment.size;
    }
    fill(length);
    return tf.concat(pieces);
  });
}

/** Copies that put the tensors of a set into an arena. The elements of absent tensors keep their values. */
function copiesInto(arena: Arena, set: PartialSet, flat: tf.TensorInfo): BufferCopy[] {
  return arena.segments.flatMap(({ name, offset, size }): BufferCopy[] => {
    const from = set[name];
    return from === undefined ? [] : [{ from, fromAt: 0, into: flat, intoAt: offset, count: size }];
  });
}

/**
 * The arenas of a set, owned by the caller. A tensor that fills its arena is shared, not copied, so the result must not
 * be written unless `own` is true. Elements of absent tensors are undefined.
 */
export function gather(layout: FlatLayout, set: PartialSet, own = false): Tensor[] {
  if (!customKernels()) {
    return layout.arenas.map((arena) => bySegment(arena, [], ({ name, size }) => set[name] ?? tf.zeros([size])));
  }
  const copies: BufferCopy[] = [];
  const flats = layout.arenas.map((arena) => {
    const only = alone(arena) && !own ? set[arena.segments[0]?.name as string] : undefined;
    if (only !== undefined) return only.reshape([arena.length]);
    const flat = toTensor(unwritten([arena.length]));
    copies.push(...copiesInto(arena, set, flat));
    return flat;
  });
  copyBuffers(copies);
  return flats;
}

/**
 * The tensors of the arenas by name, owned by the caller. One that fills its arena is shared with it unless `own` is
 * true.
 * @param wanted which tensors; all by default
 */
export function scatter(
  layout: FlatLayout,
  flats: Flats,
  own = false,
  wanted: (name: string) => boolean = () => true,
): Record<string, Tensor> {
  if (!customKernels()) {
    const parts = layout.arenas.flatMap(({ segments }, a) => segments.map((segment) => ({ segment, flat: flats[a] })));
    const inOrder = parts
      .filter(({ segment }) => wanted(segment.name))
      .sort((one, other) => one.segment.index - other.segment.index);
    return Object.fromEntries(
      inOrder.map(({ segment, flat }) => [
        segment.name,
        tf.tidy(() => partOf(flat as Tensor, segment).reshape([...segment.shape])),
      ]),
    );
  }
  const copies: BufferCopy[] = [];
  const set: Record<string, Tensor> = {};
  const byIndex: [string, Tensor][] = [];
  layout.arenas.forEach((arena, a) => {
    const flat = flats[a] as Tensor;
    for (const { name, shape, size, offset, index } of arena.segments) {
      if (!wanted(name)) continue;
      if (alone(arena) && !own) {
        byIndex[index] = [name, flat.reshape([...shape])];
        continue;
      }
      const tensor = toTensor(unwritten(shape));
      copies.push({ from: flat, fromAt: offset, into: tensor, intoAt: 0, count: size });
      byIndex[index] = [name, tensor];
    }
  });
  copyBuffers(copies);
  // The array has holes where a tensor is not wanted.
  byIndex.forEach(([name, tensor]) => {
    set[name] = tensor;
  });
  return set;
}

/** The values of every tensor of a set, in its order; one read-back per arena. */
export async function readSet(
  layout: FlatLayout,
  set: Readonly<Record<string, Tensor>>,
): Promise<Map<string, Float32Array>> {
  // Copies, because a read-back leaves the values with its tensor.
  const flats = gather(layout, set, true);
  const values = new Map(Object.keys(set).map((name) => [name, new Float32Array(0)]));
  try {
    for (const [a, { segments }] of layout.arenas.entries()) {
      const read = (await (flats[a] as Tensor).data()) as Float32Array;
      for (const { name, offset, size } of segments) values.set(name, read.slice(offset, offset + size));
    }
  } finally {
    tf.dispose(flats);
  }
  return values;
}
