/** Deflated members of zip archives, unpacked from their start and no further than reads need. */
import { Inflate } from "fflate";
import { crc32 } from "../../engine/bytes/hash.ts";
import { inTurn, type Pace, paced } from "../../engine/bytes/pace.ts";
import { type ByteSource, checkRange } from "../../engine/bytes/source.ts";
import { LabError, thrownText } from "../../engine/errors.ts";

/** Maximum bytes of all kept members, which the member in use may exceed. */
const KEPT = 2 ** 25;
/** A member up to this size is unpacked whole, and thereby checked, at its first read. */
const WHOLE = 2 ** 22;
/** Packed bytes read at a time, and unpacked at a time: these become at most 17 MB. */
const WINDOW = 2 ** 20;
const PIECE = 2 ** 14;

export interface DeflatedMember {
  readonly name: string;
  /** Unpacked bytes and their CRC-32, as the directory states them. */
  readonly size: number;
  readonly crc: number;
  /** The packed bytes. */
  readonly packed: () => Promise<ByteSource>;
  readonly bad: (what: string) => LabError;
}

/** Unpacks members; the most recently used ones are kept. */
export interface Unpacker {
  /**
   * Bytes [start, end) of a member.
   * @throws LabError("bad-input") when it is damaged, or larger or smaller than stated; "cancelled"
   */
  read(member: DeflatedMember, start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * @param signal ends the unpacking
 * @param onBytes receives the bytes of each unpacked piece, for tests
 */
export function unpacker(signal?: AbortSignal, onBytes: (bytes: number) => void = () => undefined): Unpacker {
  const kept = new Map<DeflatedMember, Prefix>();
  const pace = paced("unpacking an archive", signal);
  // Members that are larger than the cache are unpacked one after another, so that only one is in memory.
  const large = inTurn();
  const prefixOf = (member: DeflatedMember): Prefix => {
    const prefix = kept.get(member) ?? new Prefix(member, onBytes);
    // Re-inserting makes the map a queue from least to most recently used.
    kept.delete(member);
    kept.set(member, prefix);
    let total = 0;
    for (const { size } of kept.keys()) total += size;
    for (const oldest of kept.keys()) {
      if (total <= KEPT || oldest === member) break;
      kept.delete(oldest);
      total -= oldest.size;
    }
    return prefix;
  };
  return {
    async read(member, start, end) {
      checkRange(member.name, member.size, start, end);
      const work = async (): Promise<Uint8Array<ArrayBuffer>> => {
        const prefix = prefixOf(member);
        try {
          return await prefix.read(start, end, pace);
        } catch (thrown) {
          if (kept.get(member) === prefix) kept.delete(member);
          throw thrown;
        }
      };
      return member.size > KEPT ? large(work) : work();
    },
  };
}

/** The unpacked bytes of a member so far. */
class Prefix {
  private readonly member: DeflatedMember;
  private readonly inflate: Inflate;
  private readonly inOrder = inTurn();
  private packed: ByteSource | undefined;
  private bytes: Uint8Array<ArrayBuffer>;
  private filled = 0;
  private crc = 0;
  /** Packed bytes unpacked so far. */
  private at = 0;
  private window: { readonly start: number; readonly bytes: Uint8Array } = { start: 0, bytes: new Uint8Array() };

  constructor(member: DeflatedMember, onBytes: (bytes: number) => void) {
    this.member = member;
    // The stated size is allocated only once that many bytes have arrived.
    this.bytes = new Uint8Array(Math.min(member.size, 2 ** 20));
    this.inflate = new Inflate((chunk) => {
      onBytes(chunk.length);
      this.add(chunk);
    });
  }

  async read(start: number, end: number, pace: Pace): Promise<Uint8Array<ArrayBuffer>> {
    const { size } = this.member;
    await this.inOrder(() => this.fill(size <= WHOLE ? size : end, pace));
    return this.bytes.slice(start, end);
  }

  /** Unpacks until this many bytes are there; all packed bytes for the last one, because more may follow than stated. */
  private async fill(end: number, pace: Pace): Promise<void> {
    const { size, crc, bad } = this.member;
    this.packed ??= await this.member.packed();
    const { size: packedSize } = this.packed;
    if (packedSize === 0 && size > 0) throw bad("it stores no bytes");
    while (this.at < packedSize && (this.filled < end || end === size)) {
      const before = this.filled;
      const piece = await this.next(this.packed);
      this.at += piece.length;
      try {
        this.inflate.push(piece, this.at === packedSize);
      } catch (thrown) {
        throw thrown instanceof LabError ? thrown : bad(thrownText(thrown));
      }
      await pace(piece.length + this.filled - before);
    }
    if (this.at < packedSize) return;
    if (this.filled !== size) throw bad(`it unpacks to ${this.filled} of ${size} bytes`);
    if (this.crc !== crc) throw bad("its checksum differs, so the archive is damaged");
  }

  private async next(packed: ByteSource): Promise<Uint8Array> {
    const { start, bytes } = this.window;
    if (this.at >= start + bytes.length) {
      this.window = { start: this.at, bytes: await packed.read(this.at, Math.min(packed.size, this.at + WINDOW)) };
    }
    const from = this.at - this.window.start;
    return this.window.bytes.subarray(from, from + PIECE);
  }

  private add(chunk: Uint8Array): void {
    const { size, bad } = this.member;
    const filled = this.filled + chunk.length;
    if (filled > size) throw bad(`it unpacks to more than the ${size} bytes it states`);
    if (filled > this.bytes.length) {
      const larger = new Uint8Array(Math.min(size, Math.max(2 * this.bytes.length, filled)));
      larger.set(this.bytes.subarray(0, this.filled));
      this.bytes = larger;
    }
    this.bytes.set(chunk, this.filled);
    this.filled = filled;
    this.crc = crc32(chunk, this.crc);
  }
}
