/**
 * Python pickles as plain data, protocols 0 to 5. Only opcodes that create data are executed; opcodes that could name
 * or call code are refused by name (docs/spec/evaluation.md#11-files-lichenguncrefer).
 */
import { viewOf } from "../../engine/bytes/source.ts";
import { latin1 } from "../../engine/bytes/text.ts";
import { badInput, type LabError } from "../../engine/errors.ts";

// Texts in the form that Python 2 writes in pickles of protocol 0.

const SIMPLE: Readonly<Record<string, string>> = {
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** A byte string literal with its escapes, one character per byte; undefined for other text. */
function pythonString(literal: string): string | undefined {
  const text = literal.trim();
  const quote = text[0];
  if ((quote !== "'" && quote !== '"') || text.length < 2 || text.at(-1) !== quote) return undefined;
  const body = text.slice(1, -1);
  let damaged = false;
  const value = body.replace(/\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|[\s\S]|$)/g, (_, mark: string) => {
    if (/^x../.test(mark)) return String.fromCharCode(Number.parseInt(mark.slice(1), 16));
    if (/^[0-7]/.test(mark)) return String.fromCharCode(Number.parseInt(mark, 8) & 255);
    const simple = SIMPLE[mark];
    if (simple === undefined && (mark === "x" || mark === "")) damaged = true;
    return simple ?? `\\${mark}`;
  });
  return damaged ? undefined : value;
}

/** A raw-unicode-escape text: Latin-1 with \uXXXX and \UXXXXXXXX, which count only after an odd number of backslashes. */
function rawUnicode(line: string): string {
  return line.replace(/(\\+)(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/g, (whole, slashes: string, mark: string) => {
    if (slashes.length % 2 === 0) return whole;
    const code = Number.parseInt(mark.slice(1), 16);
    return code > 0x10ffff ? whole : slashes.slice(1) + String.fromCodePoint(code);
  });
}

// Reads the bytes of a pickle from start to end: numbers, texts and lengths in the forms of the opcodes.

/** Maximum digits or bytes of a whole number. */
const MAX_LONG = 1024;

class PickleCursor {
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

/** A value of a pickle. Whole numbers beyond 2^53 are big integers, tuples are lists, keys of dicts are text. */
export type PickleValue = null | boolean | number | bigint | string | PickleValue[] | { [key: string]: PickleValue };

/** Maximum values of one pickle. */
const MAX_VALUES = 2 ** 24;

/** Refused opcodes, with their names in the Python documentation. */
const REFUSED: Readonly<Record<number, string>> = {
  99: "GLOBAL",
  147: "STACK_GLOBAL",
  82: "REDUCE",
  98: "BUILD",
  105: "INST",
  111: "OBJ",
  129: "NEWOBJ",
  146: "NEWOBJ_EX",
  80: "PERSID",
  81: "BINPERSID",
  130: "EXT1",
  131: "EXT2",
  132: "EXT4",
  143: "EMPTY_SET",
  144: "ADDITEMS",
  145: "FROZENSET",
  150: "BYTEARRAY8",
  151: "NEXT_BUFFER",
  152: "READONLY_BUFFER",
};

const MARK = Symbol("mark");
type Item = PickleValue | typeof MARK;

/**
 * The value of a pickle. Byte strings are read as Latin-1.
 * @throws LabError("bad-input") for an opcode that is not data, a damaged or truncated stream, or more than 2^24 values
 */
export function readPickle(bytes: Uint8Array, name: string): PickleValue {
  const cursor = new PickleCursor(bytes, name);
  const machine = new Machine(cursor);
  while (cursor.at < cursor.size) {
    const op = cursor.u8();
    if (op === STOP) return machine.pop();
    const [value, action] = [VALUES[op], ACTIONS[op]];
    if (value !== undefined) machine.push(value(cursor, machine));
    else if (action !== undefined) action(cursor, machine);
    else {
      const refused = REFUSED[op];
      if (refused === undefined) {
        throw cursor.bad(
          `byte ${cursor.at - 1} is 0x${op.toString(16).padStart(2, "0")}, which is not an opcode of a pickle of data`,
        );
      }
      throw cursor.bad(
        `it asks for ${refused}, which names or calls code; only plain data is read and nothing was run`,
      );
    }
  }
  throw cursor.bad("it has no STOP; it is cut off");
}

const STOP = 0x2e;

/** Opcodes that push a value. */
const VALUES: Readonly<Record<number, (cursor: PickleCursor, machine: Machine) => PickleValue>> = {
  78: () => null, // NONE
  136: () => true, // NEWTRUE
  137: () => false, // NEWFALSE
  93: () => [], // EMPTY_LIST
  41: () => [], // EMPTY_TUPLE
  125: () => ({}), // EMPTY_DICT
  73: (cursor) => cursor.int(cursor.line()), // INT
  76: (cursor) => cursor.whole(cursor.line().replace(/L$/, "")), // LONG
  70: (cursor) => cursor.float(cursor.line()), // FLOAT
  71: (cursor) => cursor.f64(), // BINFLOAT
  75: (cursor) => cursor.u8(), // BININT1
  77: (cursor) => cursor.u16(), // BININT2
  74: (cursor) => cursor.i32(), // BININT
  138: (cursor) => cursor.long(cursor.u8()), // LONG1
  139: (cursor) => cursor.long(cursor.length(4)), // LONG4
  83: (cursor) => cursor.quoted(cursor.line()), // STRING
  86: (cursor) => rawUnicode(cursor.line()), // UNICODE
  85: (cursor) => cursor.bytesText(cursor.u8()), // SHORT_BINSTRING
  67: (cursor) => cursor.bytesText(cursor.u8()), // SHORT_BINBYTES
  84: (cursor) => cursor.bytesText(cursor.length(4)), // BINSTRING
  66: (cursor) => cursor.bytesText(cursor.length(4)), // BINBYTES
  142: (cursor) => cursor.bytesText(cursor.length(8)), // BINBYTES8
  140: (cursor) => cursor.unicode(cursor.u8()), // SHORT_BINUNICODE
  88: (cursor) => cursor.unicode(cursor.length(4)), // BINUNICODE
  141: (cursor) => cursor.unicode(cursor.length(8)), // BINUNICODE8
  108: (_, machine) => machine.toMark(), // LIST
  116: (_, machine) => machine.toMark(), // TUPLE
  133: (_, machine) => machine.last(1), // TUPLE1
  134: (_, machine) => machine.last(2), // TUPLE2
  135: (_, machine) => machine.last(3), // TUPLE3
  100: (_, machine) => machine.fill({}, machine.toMark()), // DICT
  103: (cursor, machine) => machine.recall(cursor.place(cursor.line())), // GET
  104: (cursor, machine) => machine.recall(cursor.u8()), // BINGET
  106: (cursor, machine) => machine.recall(cursor.length(4)), // LONG_BINGET
};

/** Opcodes that change existing values. */
const ACTIONS: Readonly<Record<number, (cursor: PickleCursor, machine: Machine) => void>> = {
  128: (cursor) => {
    // PROTO
    const protocol = cursor.u8();
    if (protocol > 5) throw cursor.bad(`its protocol is ${protocol}, but only 0 to 5 are supported`);
  },
  149: (cursor) => cursor.skip(8), // FRAME
  40: (_, machine) => machine.mark(), // MARK
  48: (_, machine) => machine.drop(), // POP
  49: (_, machine) => void machine.toMark(), // POP_MARK
  50: (_, machine) => machine.twice(), // DUP
  97: (_, machine) => machine.append(machine.last(1)), // APPEND
  101: (_, machine) => machine.append(machine.toMark()), // APPENDS
  115: (_, machine) => machine.set(machine.last(2)), // SETITEM
  117: (_, machine) => machine.set(machine.toMark()), // SETITEMS
  112: (cursor, machine) => machine.store(cursor.place(cursor.line())), // PUT
  113: (cursor, machine) => machine.store(cursor.u8()), // BINPUT
  114: (cursor, machine) => machine.store(cursor.length(4)), // LONG_BINPUT
  148: (_, machine) => machine.store(), // MEMOIZE
};

/** Stack and memo. */
class Machine {
  private readonly cursor: PickleCursor;
  private readonly stack: Item[] = [];
  private readonly memo = new Map<number, PickleValue>();
  private made = 0;

  constructor(cursor: PickleCursor) {
    this.cursor = cursor;
  }

  mark(): void {
    this.count();
    this.stack.push(MARK);
  }

  drop(): void {
    this.stack.pop();
  }

  twice(): void {
    const top = this.pop();
    this.stack.push(top);
    this.push(top);
  }

  /** Removes the last values from the stack. */
  last(count: number): PickleValue[] {
    return Array.from({ length: count }, () => this.pop()).reverse();
  }

  append(values: readonly PickleValue[]): void {
    const top = this.stack.at(-1);
    if (!Array.isArray(top))
      throw this.cursor.bad(`items are added to something other than a list at byte ${this.cursor.at}`);
    for (const value of values) top.push(value);
  }

  set(pairs: readonly PickleValue[]): void {
    const top = this.stack.at(-1);
    if (typeof top !== "object" || top === null || Array.isArray(top)) {
      throw this.cursor.bad(`keys are set in something other than a dict at byte ${this.cursor.at}`);
    }
    this.fill(top, pairs);
  }

  push(value: PickleValue): void {
    this.count();
    this.stack.push(value);
  }

  pop(): PickleValue {
    const item = this.stack.pop();
    if (item === undefined || item === MARK)
      throw this.cursor.bad(`there is no value on the stack at byte ${this.cursor.at}`);
    return item as PickleValue;
  }

  toMark(): PickleValue[] {
    const at = this.stack.lastIndexOf(MARK);
    if (at < 0) throw this.cursor.bad(`there is no mark on the stack at byte ${this.cursor.at}`);
    const items = this.stack.splice(at + 1) as PickleValue[];
    this.stack.pop();
    return items;
  }

  fill(dict: { [key: string]: PickleValue }, pairs: readonly PickleValue[]): { [key: string]: PickleValue } {
    if (pairs.length % 2 !== 0) throw this.cursor.bad(`a key has no value at byte ${this.cursor.at}`);
    for (let at = 0; at < pairs.length; at += 2) {
      const key = pairs[at];
      if (typeof key === "object" && key !== null)
        throw this.cursor.bad(`a key of a dict is a list at byte ${this.cursor.at}`);
      // Defined, not assigned: a key may be called __proto__.
      const value = pairs[at + 1] as PickleValue;
      Object.defineProperty(dict, String(key), { value, enumerable: true, configurable: true, writable: true });
    }
    return dict;
  }

  /** Stores the top of the stack in the memo, by default at the next index. */
  store(key = this.memo.size): void {
    const top = this.stack.at(-1);
    if (top === undefined || top === MARK)
      throw this.cursor.bad(`there is nothing to store in the memo at byte ${this.cursor.at}`);
    this.memo.set(key, top as PickleValue);
  }

  recall(key: number): PickleValue {
    const value = this.memo.get(key);
    if (value === undefined) throw this.cursor.bad(`the memo has no entry ${key} at byte ${this.cursor.at}`);
    return value;
  }

  private count(): void {
    if (++this.made > MAX_VALUES) throw this.cursor.bad(`it has more than ${MAX_VALUES} values`);
  }
}

/** Whether bytes start like a pickle: with a protocol, or with the mark and list or dict of protocol 0 or 1. */
function isPickle(head: Uint8Array): boolean {
  const [a, b] = head;
  if (a === 0x80) return b !== undefined && b <= 5;
  if (a === 0x28) return b === 0x6c || b === 0x64;
  return (a === 0x5d || a === 0x7d) && (b === 0x71 || b === 0x94 || b === 0x28 || b === 0x72);
}

/** The format of files of records (`records.ts`). */
export const pickle = { name: "pickle", path: /\.(p|pkl|pickle)$/i, starts: isPickle, read: readPickle } as const;
