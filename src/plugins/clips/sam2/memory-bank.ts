/**
 * The memory of finished frames (docs/spec/video.md#7-bank): every conditioning frame, the maps of the last tracked
 * frames, and the pointers of some more. Its size does not grow with the clip.
 */
import type { TensorToWrite } from "../../../engine/formats/safetensors.ts";
import { type Tensor, tf } from "../../../engine/gpu/tf.ts";
import type { Weights } from "../../../engine/model/weights/weights.ts";
import { pointerTimes } from "./frame-masks.ts";
import type { MemoryConstants, MemoryKeys } from "./memory-attention.ts";
import { SAM } from "./video-shapes.ts";

/** Range of frames whose pointers are read, the current one included. */
export const POINTER_FRAMES = 16;

/** The memory of one frame. */
interface FrameMemory {
  readonly frame: number;
  /** [B, cells, M]. */
  readonly map: Tensor;
  /** [B, C]. */
  readonly pointer: Tensor;
}

interface Remembered {
  readonly frame: number;
  readonly tensor: Tensor;
}

/** A tensor of a stored bank. */
export type StoredTensor = Omit<TensorToWrite, "data"> & { readonly data: Float32Array };

type Part = "conditioning.map" | "conditioning.pointer" | "recent.map" | "recent.pointer";
const PARTS: readonly Part[] = ["conditioning.map", "conditioning.pointer", "recent.map", "recent.pointer"];

/** Position of a frame in its clip. */
export interface FramePlace {
  readonly frame: number;
  /** Frames of the clip. */
  readonly total: number;
  /** Whether tracking runs from later to earlier frames. */
  readonly reverse: boolean;
}

export class MemoryBank {
  private readonly parts: Record<Part, Remembered[]> = {
    "conditioning.map": [],
    "conditioning.pointer": [],
    "recent.map": [],
    "recent.pointer": [],
  };

  /** Bytes held. */
  get bytes(): number {
    return PARTS.flatMap((part) => this.parts[part]).reduce((sum, { tensor }) => sum + 4 * tensor.size, 0);
  }

  /** Whether a frame is a conditioning frame. */
  has(frame: number): boolean {
    return this.parts["conditioning.map"].some((item) => item.frame === frame);
  }

  /** The memory map of a frame, [B, cells, M], while the bank holds it. */
  mapOf(frame: number): Tensor | undefined {
    return [...this.parts["conditioning.map"], ...this.parts["recent.map"]].find((item) => item.frame === frame)
      ?.tensor;
  }

  /** Takes ownership of the tensors of a conditioning frame. */
  condition(memory: FrameMemory): void {
    this.add("conditioning.map", memory.frame, memory.map);
    this.add("conditioning.pointer", memory.frame, memory.pointer);
  }

  /**
   * Takes ownership of the tensors of a tracked frame, and frees those that no later frame reads.
   * @param maps number of the model's time codes
   */
  remember(memory: FrameMemory, maps: number): void {
    this.add("recent.map", memory.frame, memory.map, maps - 1);
    this.add("recent.pointer", memory.frame, memory.pointer, POINTER_FRAMES - 1);
  }

  /** Forgets tracked frames, before tracking changes its direction. */
  forgetRecent(): void {
    for (const part of ["recent.map", "recent.pointer"] as const) {
      for (const { tensor } of this.parts[part].splice(0)) tensor.dispose();
    }
  }

  /**
   * The memories that a frame attends to, in the order of the published code; call it in a tidy. The maps of all
   * conditioning frames are read, whatever their distance; their pointers only if they are not ahead in the tracking
   * direction.
   */
  keys(w: Weights, constants: MemoryConstants, { frame, total, reverse }: FramePlace): MemoryKeys {
    const codes = w.get(`${SAM}.maskmem_tpos_enc`);
    const [maps, , , dim] = codes.shape as [number, number, number, number];
    const behind = (other: number): number => (reverse ? other - frame : frame - other);
    const near = (part: Part, most: number): Remembered[] =>
      this.parts[part].filter((item) => behind(item.frame) >= 1 && behind(item.frame) <= most);
    const conditioning = this.parts["conditioning.map"];
    const recent = near("recent.map", maps - 1).sort((a, b) => behind(b.frame) - behind(a.frame));
    const times = [...conditioning.map(() => maps - 1), ...recent.map((item) => behind(item.frame) - 1)];
    const mapPositions = times.map((time) =>
      constants.memoryPosition.add(codes.slice([time, 0, 0, 0], [1, 1, 1, dim]).reshape([1, 1, dim])),
    );
    const reach = Math.min(total, POINTER_FRAMES) - 1;
    const pointers = [
      ...this.parts["conditioning.pointer"].filter((item) => behind(item.frame) >= 0),
      ...near("recent.pointer", reach).sort((a, b) => behind(a.frame) - behind(b.frame)),
    ];
    const cut = pointers.map(({ tensor }) => tensor.reshape([tensor.shape[0] as number, -1, dim]));
    const tokens = (cut[0]?.shape[1] as number | undefined) ?? 0;
    const ages = pointers.map((item) => behind(item.frame) / Math.max(reach, 1));
    const codesOfTime = pointerTimes(w, ages);
    return {
      maps: tf.concat(
        [...conditioning, ...recent].map(({ tensor }) => tensor),
        1,
      ),
      mapPositions: tf.concat(mapPositions, 1),
      pointers: tf.concat(cut, 1),
      pointerPositions:
        codesOfTime === undefined
          ? undefined
          : tf.tile(codesOfTime.reshape([1, -1, 1, dim]), [1, 1, tokens, 1]).reshape([1, -1, dim]),
    };
  }

  /** All tensors of the bank, read back and named by part and frame. */
  async save(): Promise<StoredTensor[]> {
    const all = PARTS.flatMap((part) => this.parts[part].map((item) => ({ name: `${part}.${item.frame}`, ...item })));
    return await Promise.all(
      all.map(async ({ name, tensor }) => ({
        name,
        shape: tensor.shape,
        data: (await tensor.data()) as Float32Array,
      })),
    );
  }

  /** Restores the tensors from `save`; others are ignored. */
  restore(tensors: readonly StoredTensor[]): void {
    for (const { name, shape, data } of tensors) {
      const part = PARTS.find((known) => name.startsWith(`${known}.`));
      if (part !== undefined) this.add(part, Number(name.slice(part.length + 1)), tf.tensor(data, [...shape]));
    }
  }

  dispose(): void {
    for (const part of PARTS) for (const { tensor } of this.parts[part].splice(0)) tensor.dispose();
  }

  /** Conditioning frames stay in the order of the clip, tracked frames in the order in which they were added. */
  private add(part: Part, frame: number, tensor: Tensor, most = Number.POSITIVE_INFINITY): void {
    const list = this.parts[part];
    list.push({ frame, tensor });
    if (part.startsWith("conditioning")) list.sort((a, b) => a.frame - b.frame);
    while (list.length > most) list.shift()?.tensor.dispose();
  }
}
