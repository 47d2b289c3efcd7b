/**
 * Uniform blocks of custom programs. The blocks of all dispatches of a submit are adjacent in pages, which are written
 * to
 * the queue once, right before the commands that read them. With a separate write for each of some 5,000 dispatches per
 * step, the host would spend more time on writes than on dispatches, and a GPU would make a copy per dispatch. The next
 * submit overwrites the same pages; the queue keeps the order.
 */
import { LabError } from "../../errors.ts";

/** Alignment of uniform buffer offsets that every WebGPU device accepts. */
export const UNIFORM_STEP = 256;
/** Blocks per page: more than the dispatches of a usual submit. */
export const PAGE_BLOCKS = 128;

/** Words of a text, separated by single spaces. */
type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;

/** Uniforms of type u32 by their names, in the order of upload. */
export function u32s<Names extends string>(names: Names): Readonly<Record<Words<Names>, "u32">> {
  return Object.fromEntries(names.split(" ").map((name) => [name, "u32"])) as Record<Words<Names>, "u32">;
}

/** The uniform block that a program declares. */
export interface UniformBlock {
  /** Name of the program, for errors. */
  readonly name: string;
  /** Fields of `u`, in the order of their values. */
  readonly uniforms: Readonly<Record<string, "u32" | "i32" | "f32">>;
}

/** Bytes of a block of this many values, at least 16. */
function blockBytes(values: readonly number[]): number {
  return Math.max(16, 4 * values.length);
}

/** @throws LabError("internal") if the number of values differs from the program's number of fields */
function putUniforms(view: DataView, at: number, program: UniformBlock, values: readonly number[]): void {
  const types = Object.values(program.uniforms);
  if (types.length !== values.length) {
    throw new LabError("internal", `${program.name} takes ${types.length} uniforms, not ${values.length}`);
  }
  types.forEach((type, index) => {
    const value = values[index] as number;
    if (type === "f32") view.setFloat32(at + 4 * index, value, true);
    else view.setInt32(at + 4 * index, value, true);
  });
}

/** The uniform block of a program, at least 16 bytes. @throws LabError("internal") for another number of values */
export function uniformBytes(program: UniformBlock, values: readonly number[]): ArrayBuffer {
  const bytes = new ArrayBuffer(blockBytes(values));
  putUniforms(new DataView(bytes), 0, program, values);
  return bytes;
}

interface Page {
  readonly buffer: GPUBuffer;
  readonly bytes: ArrayBuffer;
  readonly view: DataView;
}

/** Pages of one device, which live as long as it does. */
export class UniformPages {
  readonly #device: GPUDevice;
  readonly #queue: GPUQueue;
  readonly #pages: Page[] = [];
  /** Blocks placed since the last `write`. */
  #placed = 0;

  constructor(device: GPUDevice, queue: GPUQueue) {
    this.#device = device;
    this.#queue = queue;
  }

  /** Adds the block of a dispatch of the next submit to a page. */
  place(program: UniformBlock, values: readonly number[]): GPUBufferBinding {
    const size = blockBytes(values);
    if (size > UNIFORM_STEP)
      throw new LabError("internal", `${program.name} has more than ${UNIFORM_STEP / 4} uniforms`);
    const page = this.#page(Math.floor(this.#placed / PAGE_BLOCKS));
    const offset = (this.#placed % PAGE_BLOCKS) * UNIFORM_STEP;
    putUniforms(page.view, offset, program, values);
    this.#placed++;
    return { buffer: page.buffer, offset, size };
  }

  /** Writes the placed blocks. Call it before the commands that read them are submitted. */
  write(): void {
    for (const [at, { buffer, bytes }] of this.#pages.entries()) {
      const blocks = Math.min(PAGE_BLOCKS, this.#placed - at * PAGE_BLOCKS);
      if (blocks <= 0) break;
      this.#queue.writeBuffer(buffer, 0, bytes, 0, blocks * UNIFORM_STEP);
    }
    this.#placed = 0;
  }

  #page(at: number): Page {
    const known = this.#pages[at];
    if (known !== undefined) return known;
    const bytes = new ArrayBuffer(PAGE_BLOCKS * UNIFORM_STEP);
    const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
    const buffer = this.#device.createBuffer({ label: "uniforms", size: bytes.byteLength, usage });
    const page = { buffer, bytes, view: new DataView(bytes) };
    this.#pages.push(page);
    return page;
  }
}
