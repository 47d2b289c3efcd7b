/**
 * Computes the fingerprint of a checkpoint on a server from bytes that loading reads anyway. It equals that of a copy
 * on disk.
 */
import { type ByteFolder, type ByteSource, folderOf } from "../../bytes/source.ts";
import { openSafetensors } from "../../formats/safetensors.ts";
import { tensorsHash, weightsHash } from "./weights-hash.ts";

export interface PassingHash {
  /** The folder to load from; the given folder itself if no file needs to be observed. */
  readonly folder: ByteFolder;
  /** `weightsHash` of the content; samples that have not been read through `folder` yet are read now. */
  hash(): Promise<string>;
}

/** A sample of a tensor: bytes from `start` on, of which [from, to) have been read. */
interface Sample {
  readonly start: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  from: number;
  to: number;
}

/**
 * @param folder its weight files with an identity are observed while they are read, unless they are streams
 * @throws LabError naming a file whose header is wrong
 */
export async function passingHash(folder: ByteFolder): Promise<PassingHash> {
  const observed = new Map<string, { readonly outer: ByteSource; readonly content: ByteSource }>();
  for (const path of folder.paths) {
    const source = folder.get(path);
    if (source?.identity === undefined || source.sequential === true || !path.endsWith(".safetensors")) continue;
    observed.set(path, await observe(source));
  }
  if (observed.size === 0) return { folder, hash: () => weightsHash(folder) };
  const seen = (side: "outer" | "content"): ByteFolder =>
    folderOf(
      new Map(folder.paths.map((path) => [path, observed.get(path)?.[side] ?? (folder.get(path) as ByteSource)])),
    );
  return { folder: seen("outer"), hash: () => weightsHash(seen("content")) };
}

async function observe(source: ByteSource) {
  const { name, size, identity } = source;
  const samples: Sample[] = [];
  let recording = false;
  const file = await openSafetensors({
    name,
    size,
    read: async (start, end) => {
      if (!recording) return source.read(start, end);
      samples.push({ start, bytes: new Uint8Array(end - start), from: start, to: start });
      return new Uint8Array(end - start);
    },
  });
  recording = true;
  await tensorsHash(file);
  samples.sort((a, b) => a.start - b.start);
  const outer: ByteSource = {
    name,
    size,
    ...(identity === undefined ? {} : { identity }),
    read: async (start, end) => {
      const bytes = await source.read(start, end);
      for (let at = firstAfter(samples, start); at < samples.length; at++) {
        const sample = samples[at] as Sample;
        if (sample.start >= end) break;
        keep(sample, start, bytes);
      }
      return bytes;
    },
  };
  const content: ByteSource = {
    name,
    size,
    read: async (start, end) => {
      const sample = samples[firstAfter(samples, start)];
      const passed = sample?.start === start && sample.from === start && sample.to === end;
      return passed ? sample.bytes : source.read(start, end);
    },
  };
  return { outer, content };
}

/** Index of the first sample that ends after the byte. */
function firstAfter(samples: readonly Sample[], byte: number): number {
  let [low, high] = [0, samples.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { start, bytes } = samples[middle] as Sample;
    if (start + bytes.length > byte) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Copies the part of the sample that was read; a part that does not adjoin the kept one replaces it. */
function keep(sample: Sample, start: number, bytes: Uint8Array): void {
  const from = Math.max(sample.start, start);
  const to = Math.min(sample.start + sample.bytes.length, start + bytes.length);
  sample.bytes.set(bytes.subarray(from - start, to - start), from - sample.start);
  const joins = from <= sample.to && to >= sample.from;
  sample.from = joins ? Math.min(sample.from, from) : from;
  sample.to = joins ? Math.max(sample.to, to) : to;
}
