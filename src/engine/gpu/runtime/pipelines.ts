/** Our compute programs: their shader text and their pipelines, compiled once per device. */
import { LabError } from "../../errors.ts";
import { builtInForms } from "../forms/active.ts";

// Uniform blocks of custom programs. The blocks of all dispatches of a submit are adjacent in pages, which are
// written to the queue once, right before the commands that read them. With a separate write for each of some
// 5,000 dispatches per step, the host would spend more time on writes than on dispatches, and a GPU would make a
// copy per dispatch. The next submit overwrites the same pages; the queue keeps the order.

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

export type BufferType = "f32" | "vec4<f32>" | "i32" | "u32" | "vec2<u32>" | "vec4<u32>";

/** A compute shader with read-only inputs, outputs and one uniform block; create one object per distinct code. */
export interface GpuProgram extends UniformBlock {
  /** Unique; pipelines are cached under it. */
  readonly name: string;
  /** Names and element types of the inputs, in the order they are passed. */
  readonly inputs: Readonly<Record<string, BufferType>>;
  readonly outputs: Readonly<Record<string, BufferType>>;
  readonly workgroup: readonly [number, number];
  /** WGSL extensions to enable, such as "subgroups"; the device must have been created with them. */
  readonly enable?: readonly string[];
  /** Threads of every subgroup; needs the extension "subgroup_size_control". Any number if absent. */
  readonly subgroupSize?: number;
  /** Functions and workgroup variables; may be empty. */
  readonly header?: string;
  /** Body of the entry point; may use `group`, `local`, `groups` (vec3u), `u` and the buffers. */
  readonly body: string;
}

const made = new Map<string, GpuProgram>();

/**
 * The program of a key in the spelling of this class of adapter, made at its first use.
 * @param key unique among all callers
 */
export function programOnce(key: string, make: () => GpuProgram): GpuProgram {
  const literal = builtInForms().bounds === "literal";
  const spelled = literal ? `${key}${LITERAL}` : key;
  const known = made.get(spelled);
  if (known !== undefined) return known;
  const program = make();
  const named = literal ? { ...program, name: program.name + LITERAL } : program;
  made.set(spelled, named);
  return named;
}

/** End of the name of a program whose bounds are literals. */
const LITERAL = "-literal";

/**
 * WGSL of a loop bound that is known when the program is written: a literal on a card, a product with a uniform on a
 * software adapter (`BuiltIn.bounds`). The loop runs the same number of times in both. Programs that use it are made by
 * `programOnce`.
 * @param extent a whole number
 * @param positive uniform of the program that is at least 1 in every dispatch
 */
export function bound(extent: number, positive: string): string {
  return builtInForms().bounds === "literal" ? `${extent}u` : `${extent}u * min(u.${positive}, 1u)`;
}

/**
 * Steps of a loop that its body writes out, as with `bound`: all of `steps` on a card, where not every compiler unrolls, one
 * on a software adapter, which compiles for longer than it runs.
 */
export function writtenOut(steps: number): number {
  return builtInForms().bounds === "literal" ? steps : 1;
}

/** A pipeline, with the layout for its bind groups. */
interface Compiled {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

const compiled = new WeakMap<GPUDevice, Map<string, Compiled>>();

/** The WGSL extension of subgroup matrices; its programs can also use `subgroup`, the index of their subgroup. */
export const SUBGROUP_MATRICES = "chromium_experimental_subgroup_matrix";

/** The shader text of a program. */
export function shaderSource(program: GpuProgram): string {
  const subgroup = program.enable?.includes(SUBGROUP_MATRICES) ? ", @builtin(subgroup_id) subgroup: u32" : "";
  const fields = Object.entries(program.uniforms).map(([name, type]) => `${name}: ${type},`);
  let binding = 1;
  const buffer = (access: string, name: string, type: BufferType): string =>
    `@group(0) @binding(${binding++}) var<storage, ${access}> ${name}: array<${type}>;`;
  return [
    ...(program.enable ?? []).map((extension) => `enable ${extension};`),
    `struct Uniforms { ${fields.join(" ")} }`,
    "@group(0) @binding(0) var<uniform> u: Uniforms;",
    ...Object.entries(program.inputs).map(([name, type]) => buffer("read", name, type)),
    ...Object.entries(program.outputs).map(([name, type]) => buffer("read_write", name, type)),
    program.header ?? "",
    `@compute @workgroup_size(${program.workgroup.join(", ")})${program.subgroupSize === undefined ? "" : ` @subgroup_size(${program.subgroupSize})`}`,
    "fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,",
    `  @builtin(num_workgroups) groups: vec3u${subgroup}) {`,
    program.body,
    "}",
  ].join("\n");
}

function describe(
  device: GPUDevice,
  program: GpuProgram,
): { readonly layout: GPUBindGroupLayout; readonly descriptor: GPUComputePipelineDescriptor } {
  const kinds: GPUBufferBindingType[] = [
    "uniform",
    ...Object.keys(program.inputs).map(() => "read-only-storage" as const),
    ...Object.keys(program.outputs).map(() => "storage" as const),
  ];
  const entries = kinds.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } }));
  const layout = device.createBindGroupLayout({ label: program.name, entries });
  const module = device.createShaderModule({ label: program.name, code: shaderSource(program) });
  const pipelineLayout = device.createPipelineLayout({ bindGroupLayouts: [layout] });
  return {
    layout,
    descriptor: { label: program.name, layout: pipelineLayout, compute: { module, entryPoint: "main" } },
  };
}

function compiledOn(device: GPUDevice): Map<string, Compiled> {
  const cache = compiled.get(device) ?? new Map<string, Compiled>();
  compiled.set(device, cache);
  return cache;
}

/** The pipeline of a program on a device; compiled once. */
export function compile(device: GPUDevice, program: GpuProgram): Compiled {
  const cache = compiledOn(device);
  const known = cache.get(program.name);
  if (known !== undefined) return known;
  const { layout, descriptor } = describe(device, program);
  const made = { pipeline: device.createComputePipeline(descriptor), layout };
  cache.set(program.name, made);
  return made;
}

/**
 * Compiles programs in the background, if the driver can. A program that is needed earlier is compiled as usual.
 * Resolves when all are compiled or have failed, and never rejects: the device reports a compile error, at the latest
 * when the program is used.
 */
export async function compileAhead(device: GPUDevice, programs: readonly GpuProgram[]): Promise<void> {
  const cache = compiledOn(device);
  const ahead = async (program: GpuProgram): Promise<void> => {
    const { layout, descriptor } = describe(device, program);
    const pipeline = await device.createComputePipelineAsync(descriptor);
    if (!cache.has(program.name)) cache.set(program.name, { pipeline, layout });
  };
  await Promise.allSettled(programs.filter(({ name }) => !cache.has(name)).map(ahead));
}
