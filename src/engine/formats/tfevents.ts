/** TensorBoard event files: framed protobuf records with masked CRC-32C (docs/spec/formats.md#84-tfevents). */
import { crc32c } from "../bytes/hash.ts";
import { joinBytes } from "../bytes/source.ts";

export interface RunEvent {
  /** Unix seconds. */
  readonly wallTime: number;
  readonly step: number;
  /** Scalars by tag, stored as f32. */
  readonly values?: Readonly<Record<string, number>>;
  /** Markdown by tag. */
  readonly texts?: Readonly<Record<string, string>>;
  /** PNG files by tag. */
  readonly images?: Readonly<Record<string, EventImage>>;
  /** Settings for the hyper-parameter tab; once per file. */
  readonly settings?: Readonly<Record<string, number | string | boolean>>;
}

export interface EventImage {
  readonly width: number;
  readonly height: number;
  readonly png: Uint8Array<ArrayBuffer>;
}

/** The whole file: the version record, then one record per event. */
export function tfevents(start: number, events: Iterable<RunEvent>): Uint8Array<ArrayBuffer> {
  const parts = [record(message(double(1, start), text(3, "brain.Event:2")))];
  for (const event of events) {
    const summary = message(...summaryValues(event).map((value) => bytes(1, value)));
    parts.push(record(message(double(1, event.wallTime), varint(2, event.step), bytes(5, summary))));
  }
  return message(...parts);
}

/** events.out.tfevents.<unix seconds>.<application> */
export function tfeventsName(start: number): string {
  return `events.out.tfevents.${Math.floor(start)}.sa2va-lab`;
}

/** Messages of type Summary.Value. */
function summaryValues({ values = {}, texts = {}, images = {}, settings, wallTime }: RunEvent): Message[] {
  return [
    ...Object.entries(values).map(([tag, value]) => message(text(1, tag), float(2, value))),
    ...Object.entries(images).map(([tag, { width, height, png }]) => {
      // Three channels.
      const image = message(varint(1, height), varint(2, width), varint(3, 3), bytes(4, png));
      return message(text(1, tag), bytes(4, image));
    }),
    ...Object.entries(texts).map(([tag, content]) => {
      // One string: type 7, a shape of one dimension of 1.
      const tensor = message(varint(1, 7), bytes(2, bytes(2, varint(1, 1))), text(8, content));
      return message(text(1, tag), bytes(8, tensor), bytes(9, plugin("text", new Uint8Array())));
    }),
    ...(settings === undefined ? [] : [hyperParameters(settings, wallTime)]),
  ];
}

/** SummaryMetadata that names the plug-in of the value. */
function plugin(name: string, content: Uint8Array): Message {
  return bytes(1, message(text(1, name), bytes(2, content)));
}

/** The session start record of the hyper-parameter plug-in. */
function hyperParameters(settings: Readonly<Record<string, number | string | boolean>>, start: number): Message {
  const entries = Object.entries(settings).map(([name, value]) =>
    bytes(1, message(text(1, name), bytes(2, settingValue(value)))),
  );
  const session = bytes(3, message(...entries, double(5, start)));
  return message(text(1, "_hparams_/session_start_info"), bytes(9, plugin("hparams", session)));
}

/** google.protobuf.Value: a set field must be written even if it is 0. */
function settingValue(value: number | string | boolean): Message {
  if (typeof value === "number") return double(2, value);
  return typeof value === "string" ? text(3, value) : Uint8Array.of(4 << 3, value ? 1 : 0);
}

/** Length, its checksum, payload, its checksum. */
function record(payload: Message): Message {
  const out = new Uint8Array(payload.length + 16);
  const view = new DataView(out.buffer);
  view.setBigUint64(0, BigInt(payload.length), true);
  view.setUint32(8, maskedCrc(out.subarray(0, 8)), true);
  out.set(payload, 12);
  view.setUint32(12 + payload.length, maskedCrc(payload), true);
  return out;
}

/** Rotated and offset, so that checksums inside the data do not weaken the checksum. */
function maskedCrc(data: Uint8Array): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** Fields of protocol-buffer messages, as bytes (https://protobuf.dev/programming-guides/encoding). */
type Message = Uint8Array<ArrayBuffer>;

/** A message from its fields, in order. */
function message(...fields: readonly Message[]): Message {
  return joinBytes(fields);
}

function double(field: number, value: number): Message {
  const out = new Uint8Array(9);
  out[0] = (field << 3) | 1;
  new DataView(out.buffer).setFloat64(1, value, true);
  return out;
}

function float(field: number, value: number): Message {
  const out = new Uint8Array(5);
  out[0] = (field << 3) | 5;
  new DataView(out.buffer).setFloat32(1, value, true);
  return out;
}

/** An unsigned number; zero is the default and is left out. */
function varint(field: number, value: number): Message {
  return value === 0 ? new Uint8Array() : Uint8Array.of(field << 3, ...varintBytes(value));
}

/** A nested message or bytes. */
function bytes(field: number, content: Uint8Array): Message {
  return message(Uint8Array.of((field << 3) | 2, ...varintBytes(content.length)), Uint8Array.from(content));
}

function text(field: number, content: string): Message {
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
