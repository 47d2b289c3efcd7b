/** TensorBoard event files: framed protobuf records with masked CRC-32C (reference: ecosystem.md §8.4). */
import { crc32c } from "./crc32c.ts";
import type { StepMetrics } from "./records.ts";

export interface ScalarEvent {
  /** Unix seconds. */
  readonly wallTime: number;
  readonly step: number;
  readonly values: Readonly<Record<string, number>>;
}

/** The whole file: the version record, then one record per event. Values are stored as f32. */
export function tfevents(start: number, events: Iterable<ScalarEvent>): Uint8Array<ArrayBuffer> {
  const parts = [record([...double(1, start), ...text(3, "brain.Event:2")])];
  for (const { wallTime, step, values } of events) {
    const summary = Object.entries(values).flatMap(([tag, value]) => bytes(1, [...text(1, tag), ...float(2, value)]));
    parts.push(record([...double(1, wallTime), ...varint(2, step), ...bytes(5, summary)]));
  }
  const file = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    file.set(part, at);
    at += part.length;
  }
  return file;
}

/** Events of metric rows: a step's time is the start plus the `step_time` of all steps up to it. */
export function metricEvents(start: number, rows: readonly StepMetrics[]): ScalarEvent[] {
  let wallTime = start;
  return rows.map((row) => {
    const { step, ...values } = row;
    const seconds = row.step_time ?? 0;
    if (seconds > 0 && Number.isFinite(seconds)) wallTime += seconds;
    return { wallTime, step: step ?? 0, values };
  });
}

/** events.out.tfevents.<unix seconds>.<application> */
export function tfeventsName(start: number): string {
  return `events.out.tfevents.${Math.floor(start)}.sa2va-lab`;
}

/** Length, its checksum, payload, its checksum. */
function record(payload: readonly number[]): Uint8Array {
  const out = new Uint8Array(payload.length + 16);
  const view = new DataView(out.buffer);
  view.setBigUint64(0, BigInt(payload.length), true);
  view.setUint32(8, maskedCrc(out.subarray(0, 8)), true);
  out.set(payload, 12);
  view.setUint32(12 + payload.length, maskedCrc(out.subarray(12, 12 + payload.length)), true);
  return out;
}

/** Rotated and shifted, so that a checksum of data that holds checksums stays meaningful. */
function maskedCrc(data: Uint8Array): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

function double(field: number, value: number): number[] {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value, true);
  return [(field << 3) | 1, ...new Uint8Array(view.buffer)];
}

function float(field: number, value: number): number[] {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value, true);
  return [(field << 3) | 5, ...new Uint8Array(view.buffer)];
}

/** An unsigned number field; protobuf leaves zero out. */
function varint(field: number, value: number): number[] {
  return value === 0 ? [] : [field << 3, ...varintBytes(value)];
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

function bytes(field: number, content: readonly number[]): number[] {
  return [(field << 3) | 2, ...varintBytes(content.length), ...content];
}

function text(field: number, content: string): number[] {
  return bytes(field, [...new TextEncoder().encode(content)]);
}
