/**
 * Copies between sets of tensors and their arenas: buffer copies, without program or dispatch. Without custom kernels,
 * where a tensor cannot be written, the same arenas are joined from their tensors in stock ops.
 */
import { customKernels } from "../runtime/custom-kernels.ts";
import { toTensor } from "../runtime/custom-op.ts";
import { type BufferCopy, copyBuffers, unwritten } from "../runtime/program.ts";
import { type Tensor, tf } from "../tf.ts";
import type { Arena, FlatLayout, Segment } from "./layout.ts";

/** One float32 tensor [arena.length] per arena. */
export type Flats = readonly Tensor[];

/** A set that may lack some tensors of the layout. */
export type PartialSet = Readonly<Record<string, Tensor | undefined>>;

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
export function copiesInto(arena: Arena, set: PartialSet, flat: tf.TensorInfo): BufferCopy[] {
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
 */
export function scatter(layout: FlatLayout, flats: Flats, own = false): Record<string, Tensor> {
  if (!customKernels()) {
    const parts = layout.arenas.flatMap(({ segments }, a) => segments.map((segment) => ({ segment, flat: flats[a] })));
    const inOrder = parts.sort((one, other) => one.segment.index - other.segment.index);
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
  for (const [name, tensor] of byIndex) set[name] = tensor;
  return set;
}

/** The values of every tensor of a set, in its order; one read-back per arena. */
export async function readSet(
  layout: FlatLayout,
  set: Readonly<Record<string, Tensor>>,
): Promise<Map<string, Float32Array>> {
  const flats = gather(layout, set);
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
