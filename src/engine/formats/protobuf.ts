/** Fields of protocol-buffer messages, as bytes (https://protobuf.dev/programming-guides/encoding). */
import { joinBytes } from "../bytes/memory.ts";

export type Message = Uint8Array<ArrayBuffer>;

/** A message from its fields, in order. */
export function message(...fields: readonly Message[]): Message {
  return joinBytes(fields);
}

export function double(field: number, value: number): Message {
  const out = new Uint8Array(9);
  out[0] = (field << 3) | 1;
  new DataView(out.buffer).setFloat64(1, value, true);
  return out;
}

export function float(field: number, value: number): Message {
  const out = new Uint8Array(5);
  out[0] = (field << 3) | 5;
  new DataView(out.buffer).setFloat32(1, value, true);
  return out;
}

/** An unsigned number; zero is the default and is left out. */
export function varint(field: number, value: number): Message {
  return value === 0 ? new Uint8Array() : Uint8Array.of(field << 3, ...varintBytes(value));
}

/** A nested message or bytes. */
export function bytes(field: number, content: Uint8Array): Message {
  return message(Uint8Array.of((field << 3) | 2, ...varintBytes(content.length)), Uint8Array.from(content));
}

export function text(field: number, content: string): Message {
  return bytes(field, new TextEncoder().encode(content));
}

function varintBytes(value: number): number[] {
  const out: number[] = [];
  let rest = value;
  while (rest >= 128) {
    out.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  out.push(rest);
  return out;
}
