/** Zip archives that a writer would not make: members that share bytes, and sizes that are not true. */

export interface ZipMember {
  readonly name: string;
  /** Stated unpacked bytes and checksum. */
  readonly size: number;
  readonly crc: number;
  /** Deflated bytes. */
  readonly packed: Uint8Array;
  /** Index of the member whose bytes this one names in place of its own. */
  readonly at?: number;
}

/** An archive with a 64-bit directory. @param count members that the directory states */
export function zipOf(members: readonly ZipMember[], count = members.length): Uint8Array {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  const offsets: number[] = [];
  let at = 0;
  for (const { name: text, size, crc, packed, at: of } of members) {
    const name = encoder.encode(text);
    const offset = of === undefined ? at : (offsets[of] as number);
    offsets.push(offset);
    const shared = [20, 0x800, 8, 0, 0].flatMap((value) => u16(value));
    const sizes = [crc, packed.length, size].flatMap((value) => u32(value));
    const lengths = [...u16(name.length), ...u16(0)];
    if (of === undefined) {
      parts.push(Uint8Array.from([...u32(0x04034b50), ...shared, ...sizes, ...lengths]), name, packed);
      at += 30 + name.length + packed.length;
    }
    const rest = [...u16(0), ...u16(0), ...u16(0), ...u32(0), ...u32(offset)];
    directory.push(Uint8Array.from([...u32(0x02014b50), ...u16(20), ...shared, ...sizes, ...lengths, ...rest]), name);
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const long = [...u64(44), ...u16(45), ...u16(45), ...u32(0), ...u32(0), ...u64(count), ...u64(count)];
  const end64 = [...u32(0x06064b50), ...long, ...u64(size), ...u64(at)];
  const locator = [...u32(0x07064b50), ...u32(0), ...u64(at + size), ...u32(1)];
  const short = [0, 0, 0xffff, 0xffff].flatMap((value) => u16(value));
  const end = [...u32(0x06054b50), ...short, ...u32(size), ...u32(at), ...u16(0)];
  return new Uint8Array(Buffer.concat([...parts, ...directory, Uint8Array.from([...end64, ...locator, ...end])]));
}

const bytesOf = (value: number, count: number): number[] => {
  return Array.from({ length: count }, (_, at) => Math.floor(value / 256 ** at) % 256);
};
const u16 = (value: number): number[] => bytesOf(value, 2);
const u32 = (value: number): number[] => bytesOf(value, 4);
const u64 = (value: number): number[] => bytesOf(value, 8);
