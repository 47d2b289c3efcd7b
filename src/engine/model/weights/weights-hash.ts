/** A fingerprint of a model folder that does not read gigabytes. */
import { sha256Hex } from "../../bytes/hash.ts";
import { inOrder } from "../../bytes/pace.ts";
import { type ByteFolder, type ByteSource, folderOf } from "../../bytes/source.ts";
import { openSafetensors, type Safetensors } from "../../formats/safetensors.ts";

/** Bytes sampled at three places of every tensor; a smaller tensor is read as a whole. */
const SAMPLE = 1024;
/** Samples read at a time: a file answers each only after a few milliseconds. */
const AT_ONCE = 32;

/**
 * SHA-256 over config.json and, for every safetensors file, the names, types and shapes of its tensors and three pieces
 * of each tensor. Two checkpoints that differ in any trained tensor get different fingerprints, wherever it is in the
 * file. It does not prove that every byte is the same. A source with a known identity is not read.
 * @param onRead called with the share of a file's tensors that was read
 * @throws LabError naming a file whose header is wrong
 */
export async function weightsHash(folder: ByteFolder, onRead?: (path: string, share: number) => void): Promise<string> {
  const parts: string[] = [];
  for (const path of folder.paths) {
    const source = folder.get(path);
    if (source === undefined) continue;
    if (path.endsWith(".safetensors"))
      parts.push(`${path} ${await fileHash(source, (share) => onRead?.(path, share))}`);
    else if (path.endsWith("config.json")) parts.push(`${path} ${await sha256Hex(await source.read(0, source.size))}`);
  }
  return textHash(parts.join("\n"));
}

async function fileHash(source: ByteSource, onRead: (share: number) => void): Promise<string> {
  if (source.identity !== undefined) return textHash(`${source.size} ${source.identity}`);
  return tensorsHash(await openSafetensors(source), onRead);
}

/**
 * Hash over names, types, shapes and samples of the tensors of one file; begins to read the samples in byte order.
 * @param onRead called with the share of the tensors that was read
 */
async function tensorsHash(file: Safetensors, onRead?: (share: number) => void): Promise<string> {
  const { names } = file;
  const samples = async (name: string): Promise<Uint8Array<ArrayBuffer>[]> => {
    const { dtype, shape, bytes } = file.info(name);
    const places =
      bytes <= 3 * SAMPLE
        ? [[0, bytes] as const]
        : [0, Math.floor((bytes - SAMPLE) / 2), bytes - SAMPLE].map((at) => [at, at + SAMPLE] as const);
    const read = places.map(([start, end]) => file.readRawRange(name, start, end));
    return [new TextEncoder().encode(`${name} ${dtype} ${shape.join(",")}\n`), ...(await Promise.all(read))];
  };
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let done = 0;
  for await (const settled of inOrder(names.length, AT_ONCE, (index) => samples(names[index] as string))) {
    if ("thrown" in settled) throw settled.thrown;
    pieces.push(...settled.value);
    onRead?.(++done / names.length);
  }
  return sha256Hex(new Uint8Array(await new Blob(pieces).arrayBuffer()));
}

function textHash(text: string): Promise<string> {
  return sha256Hex(new TextEncoder().encode(text));
}

// Computes the fingerprint of a checkpoint on a server from bytes that loading reads anyway. It equals that of a
// copy on disk.

interface PassingHash {
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
