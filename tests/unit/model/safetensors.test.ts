import { describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { memorySource } from "../../../src/engine/bytes/source.ts";
import { openSafetensors, toFloat32, writeSafetensors } from "../../../src/engine/formats/safetensors.ts";

function fileOf(header: unknown, data: Uint8Array, declaredLength?: number): Uint8Array {
  const json = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const file = new Uint8Array(8 + json.length + data.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(declaredLength ?? json.length), true);
  file.set(json, 8);
  file.set(data, 8 + json.length);
  return file;
}

const open = (bytes: Uint8Array) => openSafetensors(memorySource("weights.safetensors", bytes));
const entry = (start: number, end: number, shape = [(end - start) / 4], dtype = "F32") => ({
  dtype,
  shape,
  data_offsets: [start, end],
});

describe("reading safetensors", () => {
  it("gives back what was written, aligned and without holes", async () => {
    const half = { dtype: "F16", bytes: new Uint8Array([0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00]) } as const;
    const file = writeSafetensors(
      [
        { name: "h", shape: [3], data: half },
        { name: "b", shape: [2, 2], data: new Float32Array([1, -2, 3.5, 1e-30]) },
        { name: "a", shape: [], data: new Float32Array([7]) },
        { name: "empty", shape: [0, 4], data: new Float32Array(0) },
      ],
      { format: "pt" },
    );
    const headerLength = Number(new DataView(file.buffer).getBigUint64(0, true));
    expect(headerLength % 8).toBe(0);
    const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + headerLength)));
    expect(header.__metadata__).toEqual({ format: "pt" });
    expect([header.a, header.b, header.empty, header.h].map((item) => item.data_offsets)).toEqual([
      [0, 4],
      [4, 20],
      [20, 20],
      [20, 26],
    ]);
    const tensors = await open(file);
    expect(tensors.metadata).toEqual({ format: "pt" });
    expect(tensors.info("b")).toEqual({ dtype: "F32", shape: [2, 2], bytes: 16 });
    expect(Array.from(await tensors.read("b"))).toEqual([1, -2, 3.5, Math.fround(1e-30)]);
    expect(Array.from(await tensors.read("h"))).toEqual([1, -2, 2 ** -24]);
    expect(Array.from(await tensors.readRaw("h"))).toEqual(Array.from(half.bytes));
    await expect(async () => tensors.read("x")).rejects.toThrow(/no tensor "x"/);
  });

  it("refuses names that repeat and data that does not fill its shape", () => {
    const one = { name: "a", shape: [1], data: new Float32Array(1) };
    expect(() => writeSafetensors([one, one])).toThrow(/twice/);
    expect(() => writeSafetensors([{ ...one, shape: [2] }])).toThrow(/needs 8/);
  });

  it("reads the golden adapter like any other file", async () => {
    const folder = await nodeFolder("tests/golden/sa2va-tiny-qwen2");
    const tensors = await openSafetensors(folder.get("adapter_model.safetensors")!);
    expect(tensors.names.length).toBe(28);
  });

  const data = new Uint8Array(16);
  it.each([
    ["fewer than eight bytes", new Uint8Array(5), /fewer than the eight/],
    ["a pointer text", new TextEncoder().encode("version https://git-lfs.github.com/spec/v1"), /LFS pointer/],
    ["a zip archive", new Uint8Array([0x50, 0x4b, 3, 4, 20, 0, 0, 0, 8, 0]), /zip archive; unpack it first/],
    ["a header that takes seconds to parse", fileOf({}, data, 10_000_001), /a header of more than 10 MB/],
    ["a header beyond the file", fileOf({}, data, 500), /cut off/],
    ["a header that is no JSON", fileOf("{oops", data), /not JSON/],
    ["a header that is a list", fileOf([1], data), /JSON object/],
    ["data beyond the file", fileOf({ a: entry(0, 20) }, data), /data byte 20/],
    ["overlapping tensors", fileOf({ a: entry(0, 8), b: entry(4, 12) }, data), /"b" overlaps "a"/],
    ["a shape that does not fit", fileOf({ a: entry(0, 8, [3]) }, data), /needs 12/],
    ["a range that runs backwards", fileOf({ a: entry(8, 4, [1]) }, data), /ends before/],
    ["a fractional offset", fileOf({ a: entry(0, 4.5, [1]) }, data), /byte range/],
    ["a negative side", fileOf({ a: entry(0, 4, [-1]) }, data), /shape/],
  ])("refuses %s with one sentence", async (_name, bytes, message) => {
    await expect(open(bytes)).rejects.toThrow(message);
    await expect(open(bytes)).rejects.toMatchObject({ code: "bad-input", subject: "weights.safetensors" });
  });

  it("refuses an element type it does not know only when it is asked for", async () => {
    const tensors = await open(fileOf({ a: entry(0, 4, [4], "F8_E4M3"), b: entry(4, 8) }, data));
    expect(Array.from(await tensors.read("b"))).toEqual([0]);
    await expect(tensors.read("a")).rejects.toThrow(/F8_E4M3/);
  });
});

describe("element types", () => {
  it("widens bfloat16 and half precision exactly", () => {
    const bytes = (words: number[]) => new Uint8Array(new Uint16Array(words).buffer);
    expect(Array.from(toFloat32(bytes([0x3f80, 0xc040, 0x7f80, 0x0001]), "BF16"))).toEqual([
      1,
      -3,
      Number.POSITIVE_INFINITY,
      Math.fround(9.183549615799121e-41),
    ]);
    const halves = [0x3c00, 0x8000, 0x7bff, 0xfc00, 0x03ff, 0x0400, 0x7e00];
    const wide = Array.from(toFloat32(bytes(halves), "F16"));
    expect(wide.slice(0, 6)).toEqual([1, -0, 65504, Number.NEGATIVE_INFINITY, 1023 * 2 ** -24, 2 ** -14]);
    expect(wide[6]).toBeNaN();
  });

  it("reads integers, doubles and unaligned slices", () => {
    expect(Array.from(toFloat32(new Uint8Array(new BigInt64Array([-5n, 2n ** 40n]).buffer), "I64"))).toEqual([
      -5,
      2 ** 40,
    ]);
    expect(Array.from(toFloat32(new Uint8Array(new Int32Array([-7]).buffer), "I32"))).toEqual([-7]);
    expect(Array.from(toFloat32(new Uint8Array([3, 255]), "U8"))).toEqual([3, 255]);
    expect(Array.from(toFloat32(new Uint8Array(new Float64Array([0.1]).buffer), "F64"))).toEqual([Math.fround(0.1)]);
    const shifted = new Uint8Array(9);
    shifted.set(new Uint8Array(new Float32Array([1.5, -2]).buffer), 1);
    expect(Array.from(toFloat32(shifted.subarray(1), "F32"))).toEqual([1.5, -2]);
  });
});
