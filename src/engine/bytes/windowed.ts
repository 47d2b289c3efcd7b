import type { ByteSource } from "./source.ts";

/** Bytes per window, and number of windows kept. */
const WINDOW = 2 ** 20;
const KEPT = 24;
/** A read that starts this close behind the previous one counts as its continuation. */
const NEAR = 2 ** 16;

/**
 * The same source, read in windows of 1 MiB if reads follow one another or the kept windows can hold all of it.
 * Scattered reads of a larger source, and ranges longer than a window, pass through unchanged.
 */
export function windowed(source: ByteSource): ByteSource {
  const windows = new Map<number, Promise<Uint8Array<ArrayBuffer>>>();
  let last = 0;
  const windowAt = (start: number): Promise<Uint8Array<ArrayBuffer>> => {
    const bytes = windows.get(start) ?? source.read(start, Math.min(source.size, start + WINDOW));
    // Re-inserting makes the map a queue from least to most recently used.
    windows.delete(start);
    windows.set(start, bytes);
    if (windows.size > KEPT) windows.delete(windows.keys().next().value as number);
    // A failed read is tried again.
    bytes.catch(() => windows.delete(start));
    return bytes;
  };
  return {
    ...source,
    read: async (start, end) => {
      const inside = start >= 0 && start < end && end <= source.size && end - start <= WINDOW;
      const follows = start >= last && start - last <= NEAR;
      if (inside) last = end;
      const first = start - (start % WINDOW);
      if (!inside || !(follows || windows.has(first) || source.size <= KEPT * WINDOW)) return source.read(start, end);
      const head = await windowAt(first);
      if (end <= first + WINDOW) return head.slice(start - first, end - first);
      const tail = await windowAt(first + WINDOW);
      const bytes = new Uint8Array(end - start);
      bytes.set(head.subarray(start - first), 0);
      bytes.set(tail.subarray(0, end - first - WINDOW), first + WINDOW - start);
      return bytes;
    },
  };
}
