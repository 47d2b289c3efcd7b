/** Damage to Arrow streams that keeps the framing: integers of headers, contents of buffers, packed anew. */
import fc, { type Arbitrary } from "fast-check";
import * as fzstd from "fzstd";
import { flatReader } from "../../src/engine/data/arrow/arrow-schema.ts";
import { BYTE_DAMAGE, type Bytes, type Damage, joined, LIES, share, written } from "./bytes.ts";
import { bomb, type Codec, packed } from "./codecs.ts";
import { lz4Contents } from "./lz4.ts";

interface Message {
  /** In the metadata. */
  readonly start: number;
  readonly length: number;
  readonly body: number;
  readonly bodyLength: number;
}

/** The complete messages in the bytes. */
function messagesOf(bytes: Bytes): Message[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found: Message[] = [];
  let at = new TextDecoder("latin1").decode(bytes.subarray(0, 6)) === "ARROW1" ? 8 : 0;
  while (at + 8 <= bytes.length) {
    const continued = view.getInt32(at, true) === -1;
    const start = at + (continued ? 8 : 4);
    const length = view.getInt32(at + (continued ? 4 : 0), true);
    if (length < 8 || start + length > bytes.length) break;
    try {
      const flat = flatReader(bytes.subarray(start, start + length));
      const bodyLength = flat.long(flat.root(), 3);
      if (!(bodyLength >= 0 && start + length + bodyLength <= bytes.length)) break;
      found.push({ start, length, body: start + length, bodyLength });
      at = start + length + bodyLength;
    } catch {
      // An earlier damage changed this header; the rest cannot be framed.
      break;
    }
  }
  return found;
}

const pick = <T>(items: readonly T[], at: number): T | undefined => items[Math.floor(at * (items.length - 1))];

/** An integer anywhere in a header: lengths, counts, offsets, types. */
const header = fc.tuple(share, share, fc.constantFrom(...LIES), fc.constantFrom(1, 2, 4, 8)).map(
  ([which, where, value, size]): Damage => ({
    what: `header at ${which}: ${size} bytes of ${value} at ${where}`,
    apply: (bytes) => {
      const message = pick(messagesOf(bytes), which);
      if (message === undefined) return bytes;
      const at = message.start + (Math.floor(where * (message.length - size)) & -size);
      return written(bytes, at, value, size);
    },
  }),
);

type BufferEdit = (contents: Bytes, stored: Bytes, codec: Codec | undefined) => Bytes;

/** Buffer contents as stored: their length as 64 bits and a compressed frame, or the plain contents. */
function form(contents: Uint8Array, codec: Codec | undefined, frame?: Bytes): Bytes {
  if (codec === undefined) return new Uint8Array(contents);
  return joined(new Uint8Array(BigInt64Array.of(BigInt(contents.length)).buffer), frame ?? packed(codec, contents));
}

function contentsOf(stored: Bytes, codec: Codec | undefined): Bytes {
  if (codec === undefined || stored.length < 8) return stored;
  const frame = stored.slice(8);
  if (new DataView(stored.buffer, stored.byteOffset).getBigInt64(0, true) === -1n) return frame;
  return new Uint8Array(codec === "zstd" ? fzstd.decompress(frame) : lz4Contents(frame));
}

/** Rewrites one buffer of one batch; the others move, and the header gets the new offsets. */
function withBuffer(bytes: Bytes, which: number, edit: BufferEdit): Bytes {
  try {
    const batches = messagesOf(bytes).filter(({ bodyLength }) => bodyLength > 0);
    const message = batches[Math.floor(which * 7919) % Math.max(1, batches.length)];
    if (message === undefined) return bytes;
    const metadata = bytes.slice(message.start, message.body);
    const flat = flatReader(metadata);
    const root = flat.root();
    const kind = flat.view.getUint8(flat.field(root, 1));
    const top = flat.reference(root, 2);
    const batch = kind === 2 ? flat.reference(top, 1) : top;
    const vector = flat.vector(batch, 2, 16);
    const compression = flat.reference(batch, 3);
    const codecAt = compression === 0 ? 0 : flat.field(compression, 0);
    const codec = compression === 0 ? undefined : codecAt !== 0 && metadata[codecAt] === 1 ? "zstd" : "lz4";
    const chosen = Math.floor(which * (vector.length - 1));
    const parts: Uint8Array[] = [];
    let end = 0;
    for (let n = 0; n < vector.length; n++) {
      const place = vector.start + 16 * n;
      const from = message.body + Number(flat.view.getBigInt64(place, true));
      const own = bytes.slice(from, from + Number(flat.view.getBigInt64(place + 8, true)));
      const now = n === chosen ? edit(contentsOf(own, codec), own, codec) : own;
      flat.view.setBigInt64(place, BigInt(end), true);
      flat.view.setBigInt64(place + 8, BigInt(now.length), true);
      const padded = new Uint8Array((now.length + 7) & ~7);
      padded.set(now);
      parts.push(padded);
      end += padded.length;
    }
    flat.view.setBigInt64(flat.field(root, 3), BigInt(end), true);
    return joined(
      bytes.subarray(0, message.start),
      metadata,
      ...parts,
      bytes.subarray(message.body + message.bodyLength),
    );
  } catch {
    // An earlier damage left nothing that can be parsed.
    return bytes;
  }
}

const MIB = 2 ** 20;
const edits: Arbitrary<readonly [string, BufferEdit]> = fc.oneof(
  {
    arbitrary: BYTE_DAMAGE.map(
      ({ what, apply }) =>
        [`contents, ${what}`, (contents: Bytes, _: Bytes, codec?: Codec) => form(apply(contents), codec)] as const,
    ),
    weight: 6,
  },
  {
    arbitrary: BYTE_DAMAGE.map(
      ({ what, apply }) =>
        [
          `frame, ${what}`,
          (_: Bytes, stored: Bytes) => joined(stored.subarray(0, 8), apply(new Uint8Array(stored.subarray(8)))),
        ] as const,
    ),
    weight: 3,
  },
  fc
    .constantFrom(...LIES)
    .map((size) => [`says ${size} bytes`, (_: Bytes, stored: Bytes) => written(stored, 0, size, 8)] as const),
  fc
    .constantFrom(1, 64, 1024)
    .map(
      (size) =>
        [
          `a frame of ${size} MiB`,
          (contents: Bytes, _: Bytes, codec?: Codec) =>
            codec === undefined ? contents : form(contents, codec, bomb(codec, size * MIB)),
        ] as const,
    ),
  fc.constantFrom(8, 600).map(
    (size) =>
      [
        `an honest frame of ${size} MiB`,
        (contents: Bytes, _: Bytes, codec?: Codec) => {
          if (codec === undefined) return contents;
          const length = new Uint8Array(BigInt64Array.of(BigInt(size * MIB)).buffer);
          return joined(length, bomb(codec, size * MIB));
        },
      ] as const,
  ),
);

const buffer = fc.tuple(share, edits).map(
  ([which, [what, edit]]): Damage => ({
    what: `buffer at ${which}: ${what}`,
    apply: (bytes) => withBuffer(bytes, which, edit),
  }),
);

/** A damage that a reader meets only after accepting the framing. */
export const ARROW_DAMAGE: Arbitrary<Damage> = fc.oneof({ arbitrary: buffer, weight: 2 }, header);
