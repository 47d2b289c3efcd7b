/** Reads the bytes of a pickle from start to end: numbers, texts and lengths in the forms of the opcodes. */
import { viewOf } from "../../bytes/memory.ts";
import { latin1 } from "../../bytes/text.ts";
import { badInput, type LabError } from "../../errors.ts";
import { pythonString } from "./python-text.ts";

/** Maximum digits or bytes of a whole number. */
const MAX_LONG = 1024;

export class PickleCursor {
  at = 0;
  readonly size: number;
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private readonly name: string;

  constructor(bytes: Uint8Array, name: string) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.name = name;
    this.size = bytes.length;
  }

  /** Skips this many bytes. @throws LabError("bad-input") when they are missing */
  private take(length: number): number {
    const at = this.at;
    if (at + length > this.bytes.length) throw this.bad(`it is cut off after ${this.bytes.length} bytes`);
    this.at += length;
    return at;
  }

  skip(length: number): void {
    this.take(length);
  }

  u8(): number {
    return this.bytes[this.take(1)] as number;
  }

  /** A length of 4 or 8 bytes; a length beyond the end of the file is refused before anything is allocated. */
  length(width: 4 | 8): number {
    const at = this.take(width);
    return width === 4 ? this.view.getUint32(at, true) : Number(this.view.getBigUint64(at, true));
  }

  u16(): number {
    return this.view.getUint16(this.take(2), true);
  }

  i32(): number {
    return this.view.getInt32(this.take(4), true);
  }

  f64(): number {
    return this.view.getFloat64(this.take(8));
  }

  bytesText(length: number): string {
    return latin1(this.chunk(length));
  }

  unicode(length: number): string {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.chunk(length));
  }

  private chunk(length: number): Uint8Array {
    const at = this.take(length);
    return this.bytes.subarray(at, at + length);
  }

  line(): string {
    const end = this.bytes.indexOf(0x0a, this.at);
    if (end < 0) throw this.bad(`it is cut off after ${this.bytes.length} bytes`);
    const text = latin1(this.bytes.subarray(this.at, end));
    this.at = end + 1;
    return text.replace(/\r$/, "");
  }

  /** "00" and "01" are booleans. */
  int(text: string): boolean | number | bigint {
    return text === "00" || text === "01" ? text === "01" : this.whole(text);
  }

  whole(text: string): number | bigint {
    if (text.length > MAX_LONG || !/^-?\d+$/.test(text.trim())) throw this.bad("a whole number has invalid digits");
    return shortest(BigInt(text.trim()));
  }

  /** An index of the memo. */
  place(text: string): number {
    const value = this.whole(text);
    if (typeof value !== "number" || value < 0) throw this.bad("an index of the memo has invalid digits");
    return value;
  }

  float(text: string): number {
    const plain = text.trim().toLowerCase();
    const special: Readonly<Record<string, number>> = { nan: Number.NaN, inf: Infinity, "-inf": -Infinity };
    const value = special[plain] ?? (/^[+-]?[\d.]+(e[+-]?\d+)?$/.test(plain) ? Number(plain) : Number.NaN);
    if (Number.isNaN(value) && plain !== "nan") throw this.bad("a float has invalid digits");
    return value;
  }

  /** Little-endian, two's complement; no bytes mean 0. */
  long(length: number): number | bigint {
    if (length > MAX_LONG) throw this.bad(`a whole number has ${length} bytes`);
    const bytes = this.chunk(length);
    let value = 0n;
    for (const [index, byte] of bytes.entries()) value |= BigInt(byte) << BigInt(8 * index);
    const negative = length > 0 && ((bytes[length - 1] as number) & 0x80) !== 0;
    return shortest(negative ? value - (1n << BigInt(8 * length)) : value);
  }

  quoted(text: string): string {
    const value = pythonString(text);
    if (value === undefined) throw this.bad("a text has no quotes around it or a damaged escape");
    return value;
  }

  bad(what: string): LabError {
    return badInput(`${this.name} cannot be read as a pickle: ${what}`, this.name);
  }
}

function shortest(value: bigint): number | bigint {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}
