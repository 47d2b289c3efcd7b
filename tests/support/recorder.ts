/**
 * Records what a process sends to its WebGPU device, for another implementation to repeat
 * (tests/oracle/naga_replay.py): one JSON array per line, with the bytes in a file beside it.
 */
import { closeSync, openSync, writeSync } from "node:fs";

/** Methods of the classes that the package `webgpu` exports. */
interface Classes {
  readonly GPUDevice: { readonly prototype: GPUDevice };
  readonly GPUQueue: { readonly prototype: GPUQueue };
  readonly GPUBuffer: { readonly prototype: GPUBuffer };
  readonly GPUCommandEncoder: { readonly prototype: GPUCommandEncoder };
  readonly GPUComputePassEncoder: { readonly prototype: GPUComputePassEncoder };
  readonly GPUComputePipeline: { readonly prototype: GPUComputePipeline };
}

type Line = readonly unknown[];
type Method = (this: unknown, ...given: never[]) => unknown;

/**
 * Starts a record, RECORD.jsonl and RECORD.bin. Lines: `buffer id size`, `write id offset at bytes`, `destroy id`,
 * `layout id types`, `pipeline id name code entry constants layout`, `group id layout entries`, `submit commands`, `read
 * id offset at bytes name`; `at` is a place in the file of bytes. Commands: `run pipeline group grid`, `copy from at to
 * at bytes`, `clear id offset bytes`. A pipeline without a layout of its own has one under its own id.
 * @param classes those that the package `webgpu` exports; all devices of the process are recorded
 * @param name names the reads from now on; while it is undefined, commands and reads are left out
 * @returns ends the record
 */
export function recordCalls(classes: object, record: string, name: () => string | undefined): () => void {
  const of = classes as Classes;
  const files = [openSync(`${record}.jsonl`, "w"), openSync(`${record}.bin`, "w")] as const;
  let [recording, at, last] = [true, 0, 0];
  const ids = new WeakMap<object, number>();
  const idOf = (object: object): number => {
    const known = ids.get(object) ?? ++last;
    ids.set(object, known);
    return known;
  };
  const put = (...line: Line): void => {
    if (recording) writeSync(files[0], `${JSON.stringify(line)}\n`);
  };
  /** Place and number of the bytes. */
  const putBytes = (given: ArrayBuffer | ArrayBufferView): [number, number] => {
    const own = ArrayBuffer.isView(given) ? given : new Uint8Array(given);
    const place = at;
    if (recording) at += writeSync(files[1], new Uint8Array(own.buffer, own.byteOffset, own.byteLength));
    return [place, own.byteLength];
  };
  /** Has `told` called with the result and the arguments of each call of a method. */
  const after = <T extends object, K extends keyof T>(
    { prototype }: { readonly prototype: T },
    call: K,
    told: (own: T, result: never, ...given: never[]) => void,
  ): void => {
    const method = prototype[call] as Method;
    prototype[call] = function (this: T, ...given: never[]) {
      const result = method.apply(this, given);
      told(this, result as never, ...given);
      return result;
    } as T[K];
  };

  const mapped = new WeakMap<GPUBuffer, { readonly offset: number; readonly range: ArrayBuffer }[]>();
  after(of.GPUDevice, "createBuffer", (_, buffer: GPUBuffer) => put("buffer", idOf(buffer), buffer.size));
  after(of.GPUBuffer, "destroy", (buffer) => put("destroy", idOf(buffer)));
  after(of.GPUBuffer, "getMappedRange", (buffer, range: ArrayBuffer, offset: number | undefined = 0) => {
    if ((buffer.usage & GPUBufferUsage.MAP_READ) !== 0) {
      const what = name();
      if (what !== undefined) put("read", idOf(buffer), offset, ...putBytes(range), what);
    } else {
      mapped.set(buffer, [...(mapped.get(buffer) ?? []), { offset, range }]);
    }
  });
  const { unmap } = of.GPUBuffer.prototype;
  of.GPUBuffer.prototype.unmap = function () {
    for (const { offset, range } of mapped.get(this) ?? []) put("write", idOf(this), offset, ...putBytes(range));
    mapped.delete(this);
    return unmap.call(this);
  };
  after(
    of.GPUQueue,
    "writeBuffer",
    (_, __, buffer: GPUBuffer, offset: number, data: BufferSource, from: number | undefined = 0, size?: number) => {
      const unit = "BYTES_PER_ELEMENT" in data ? (data.BYTES_PER_ELEMENT as number) : 1;
      const bytes = ArrayBuffer.isView(data) ? data : new Uint8Array(data);
      const end = size === undefined ? bytes.byteLength : (from + size) * unit;
      const part = new Uint8Array(bytes.buffer, bytes.byteOffset + from * unit, end - from * unit);
      put("write", idOf(buffer), offset, ...putBytes(part));
    },
  );

  const codes = new WeakMap<object, string>();
  const layouts = new WeakMap<object, object>();
  const pipeline = (made: object, descriptor: GPUComputePipelineDescriptor): void => {
    const { label = "", compute, layout } = descriptor;
    const own = typeof layout === "string" ? null : idOf(layouts.get(layout) as object);
    const code = codes.get(compute.module);
    put("pipeline", idOf(made), label, code, compute.entryPoint, compute.constants ?? {}, own);
  };
  after(of.GPUDevice, "createShaderModule", (_, module: object, { code }: GPUShaderModuleDescriptor) => {
    codes.set(module, code);
  });
  after(of.GPUDevice, "createBindGroupLayout", (_, layout: object, descriptor: GPUBindGroupLayoutDescriptor) => {
    put(
      "layout",
      idOf(layout),
      [...descriptor.entries].map(({ binding, buffer }) => [binding, buffer?.type]),
    );
  });
  after(of.GPUDevice, "createPipelineLayout", (_, layout: object, descriptor: GPUPipelineLayoutDescriptor) => {
    layouts.set(layout, [...descriptor.bindGroupLayouts][0] as object);
  });
  after(of.GPUDevice, "createComputePipeline", (_, made: object, descriptor: GPUComputePipelineDescriptor) =>
    pipeline(made, descriptor),
  );
  const { createComputePipelineAsync } = of.GPUDevice.prototype;
  of.GPUDevice.prototype.createComputePipelineAsync = async function (descriptor) {
    const made = await createComputePipelineAsync.call(this, descriptor);
    pipeline(made, descriptor);
    return made;
  };
  after(of.GPUComputePipeline, "getBindGroupLayout", (own, layout: object) => {
    ids.set(layout, idOf(own));
  });
  after(of.GPUDevice, "createBindGroup", (_, group: object, { layout, entries }: GPUBindGroupDescriptor) => {
    const bound = [...entries].map(({ binding, resource }) => {
      const { buffer, offset = 0, size } = resource as GPUBufferBinding;
      return [binding, idOf(buffer), offset, size ?? buffer.size - offset];
    });
    put("group", idOf(group), idOf(layout), bound);
  });

  const commands = new WeakMap<object, Line[]>();
  const current = new WeakMap<object, { pipeline?: object; group?: object }>();
  const add = (encoder: object, ...line: Line): void => void commands.get(encoder)?.push(line);
  after(of.GPUDevice, "createCommandEncoder", (_, encoder: object) => commands.set(encoder, []));
  after(of.GPUCommandEncoder, "beginComputePass", (encoder, pass: object) => {
    commands.set(pass, commands.get(encoder) as Line[]);
    current.set(pass, {});
  });
  after(of.GPUComputePassEncoder, "setPipeline", (pass, _, chosen: object) => {
    current.set(pass, { ...current.get(pass), pipeline: chosen });
  });
  after(of.GPUComputePassEncoder, "setBindGroup", (pass, _, __: number, group: object) => {
    current.set(pass, { ...current.get(pass), group });
  });
  after(of.GPUComputePassEncoder, "dispatchWorkgroups", (pass, _, x: number, y = 1 as never, z = 1 as never) => {
    const { pipeline: chosen, group } = current.get(pass) as { pipeline: object; group: object };
    add(pass, "run", idOf(chosen), idOf(group), [x, y, z]);
  });
  after(
    of.GPUCommandEncoder,
    "copyBufferToBuffer",
    (encoder, _, from: GPUBuffer, fromAt: number, to: GPUBuffer, toAt: number, size: number) =>
      add(encoder, "copy", idOf(from), fromAt, idOf(to), toAt, size),
  );
  after(of.GPUCommandEncoder, "clearBuffer", (encoder, _, buffer: GPUBuffer, offset = 0 as never, size?: number) =>
    add(encoder, "clear", idOf(buffer), offset, size ?? buffer.size - offset),
  );
  after(of.GPUCommandEncoder, "finish", (encoder, buffer: object) => {
    commands.set(buffer, commands.get(encoder) as Line[]);
  });
  after(of.GPUQueue, "submit", (_, __, buffers: Iterable<GPUCommandBuffer>) => {
    if (name() !== undefined)
      put(
        "submit",
        [...buffers].flatMap((buffer) => commands.get(buffer) ?? []),
      );
  });

  return () => {
    recording = false;
    for (const file of files) closeSync(file);
  };
}
