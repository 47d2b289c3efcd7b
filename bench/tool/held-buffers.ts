/**
 * What held a device's memory at its peak: every buffer that was alive, or destroyed and still used by the GPU, by the
 * function that asked for it last.
 *
 * Touches private members of tfjs-backend-webgpu 4.22.0, as src/engine/gpu/runtime/pool.ts does.
 */
import { heldBytes, workInFlight } from "../../src/engine/gpu/runtime/counters.ts";
import { tf } from "../../src/engine/gpu/tf.ts";

/** Buffers of one state and one maker at the peak. */
export interface HeldBuffers {
  /** In use; free in the backend's pool; destroyed, but the GPU may still use it. */
  readonly state: "used" | "free" | "unfinished";
  /** Names of the functions of src/engine/model, policy, rl or loading that asked for the buffer, innermost first. */
  readonly maker: string;
  readonly buffers: number;
  readonly bytes: number;
}

interface Pool {
  readonly freeBuffers: ReadonlyMap<string, readonly GPUBuffer[]>;
  readonly numBytesUsed: number;
  acquireBuffer(...given: unknown[]): GPUBuffer;
}

/** Functions of a stack shown for a maker. */
const SHOWN = 3;

export interface HeldReport {
  /** Most bytes of the pool's buffers in use at a time. */
  readonly used: number;
  /** What was held at the peak, largest first. */
  readonly held: readonly HeldBuffers[];
  /** Bytes of the largest buffer that each maker asked for. */
  readonly largest: ReadonlyMap<string, number>;
}

/** Starts to watch the buffers of a device that was just opened. @returns reports on what was held so far */
export function watchBuffers(device: GPUDevice): () => HeldReport {
  Error.stackTraceLimit = 60;
  const pool = (tf.backend() as unknown as { readonly bufferManager: Pool }).bufferManager;
  const inFlight = workInFlight();
  const makers = new Map<GPUBuffer, string>();
  const destroyed = new Set<GPUBuffer>();
  const largest = new Map<string, number>();
  let most = 0;
  let used = 0;
  let atPeak: readonly HeldBuffers[] = [];
  const look = (): void => {
    for (const buffer of destroyed) {
      if (inFlight?.isFinished(buffer) !== true) continue;
      destroyed.delete(buffer);
      makers.delete(buffer);
    }
    const held = heldBytes();
    if (held <= most) return;
    most = held;
    const free = new Set([...pool.freeBuffers.values()].flat());
    const groups = new Map<string, { -readonly [K in keyof HeldBuffers]: HeldBuffers[K] }>();
    for (const [buffer, maker] of makers) {
      const state = destroyed.has(buffer) ? "unfinished" : free.has(buffer) ? "free" : "used";
      const key = `${state} ${maker}`;
      const group = groups.get(key) ?? { state, maker, buffers: 0, bytes: 0 };
      group.buffers++;
      group.bytes += buffer.size;
      groups.set(key, group);
    }
    atPeak = [...groups.values()].sort((a, b) => b.bytes - a.bytes);
  };
  const create: GPUDevice["createBuffer"] = device.createBuffer.bind(device);
  device.createBuffer = (descriptor) => {
    const buffer: GPUBuffer = create(descriptor);
    makers.set(buffer, makerOf(new Error().stack));
    const destroy: GPUBuffer["destroy"] = buffer.destroy.bind(buffer);
    buffer.destroy = () => {
      if (makers.has(buffer)) destroyed.add(buffer);
      return destroy();
    };
    look();
    return buffer;
  };
  const acquire = pool.acquireBuffer.bind(pool);
  pool.acquireBuffer = (...given) => {
    const buffer = acquire(...given);
    used = Math.max(used, pool.numBytesUsed);
    const maker = makerOf(new Error().stack);
    makers.set(buffer, maker);
    largest.set(maker, Math.max(largest.get(maker) ?? 0, buffer.size));
    return buffer;
  };
  return () => ({ used, held: atPeak, largest: new Map(largest) });
}

function makerOf(stack = ""): string {
  const names = stack.split("\n").flatMap((line) => {
    const [, name, file] = /at (?:async )?(\S+) .*\/src\/engine\/(?:model|policy|rl|loading)\/(\S+?):/.exec(line) ?? [];
    return name === undefined ? [] : [`${name} (${file})`];
  });
  return names.slice(0, SHOWN).join(" < ") || "elsewhere";
}
