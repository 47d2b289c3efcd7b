/**
 * A parameter set as one long vector. The optimiser's element-wise arithmetic then takes a handful of dispatches instead
 * of a dozen per tensor, which for small models is most of an update (docs/spec/webgpu.md#62-one-training-step).
 */
import { LabError } from "../../src/engine/errors.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { ParameterSet } from "../../src/engine/model/weights/weights.ts";

/** Name of the vector for the optimiser. */
export const PACKED = "all";

export interface PackedPlace {
  readonly name: string;
  readonly shape: readonly number[];
  /** First element in the vector. */
  readonly offset: number;
  readonly size: number;
}

/** Tensors joined at a time: stock concatenation binds every input at once, and adapters offer few bindings. */
const FAN_IN = 6;

/** Positions of the tensors in the given order. */
export function packedLayout(set: ParameterSet, names: readonly string[]): readonly PackedPlace[] {
  let offset = 0;
  return names.map((name) => {
    const tensor = set[name];
    if (tensor === undefined) throw new LabError("internal", `The parameter set has no tensor "${name}"`);
    const place = { name, shape: tensor.shape, offset, size: tensor.size };
    offset += tensor.size;
    return place;
  });
}

/** The vector; tensors that are absent from `set` count as zero. Owned by the caller. */
export function pack(layout: readonly PackedPlace[], set: Readonly<Record<string, Tensor | undefined>>): Tensor {
  return tf.tidy(() => {
    let parts: Tensor[] = layout.map(({ name, size }) => set[name]?.reshape([-1]) ?? tf.zeros([size]));
    while (parts.length > 1) {
      const joined: Tensor[] = [];
      for (let at = 0; at < parts.length; at += FAN_IN) {
        const some = parts.slice(at, at + FAN_IN);
        joined.push(some.length === 1 ? (some[0] as Tensor) : tf.concat(some, 0));
      }
      parts = joined;
    }
    return (parts[0] as Tensor).clone();
  });
}

/** Tensors cut from one piece of the vector; some backends copy all of a slice's source. */
const PIECE = 16;

/** The tensors of a vector; owned by the caller. */
export function unpack(layout: readonly PackedPlace[], flat: Tensor): Record<string, Tensor> {
  const set: Record<string, Tensor> = {};
  for (let at = 0; at < layout.length; at += PIECE) {
    const places = layout.slice(at, at + PIECE);
    const from = (places[0] as PackedPlace).offset;
    const length = places.reduce((sum, place) => sum + place.size, 0);
    const piece = flat.slice([from], [length]);
    for (const { name, shape, offset, size } of places) {
      set[name] = tf.tidy(() => piece.slice([offset - from], [size]).reshape([...shape]));
    }
    piece.dispose();
  }
  return set;
}
