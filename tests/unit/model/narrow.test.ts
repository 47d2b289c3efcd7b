import { expect, test } from "vitest";
import { memorySource } from "../../../src/engine/bytes/source.ts";
import {
  openSafetensors,
  streamSafetensors,
  toFloat32,
  writeSafetensors,
} from "../../../src/engine/formats/safetensors.ts";
import { fromFloat32, parseFloatDtype } from "../../../src/engine/model/weights/narrow.ts";

const words = (bytes: Uint8Array): number[] =>
  Array.from(new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2));

test.each(["F16", "BF16"] as const)("every %s number survives the way through single precision", (dtype) => {
  const all = Uint16Array.from({ length: 0x10000 }, (_, at) => at);
  const wide = toFloat32(new Uint8Array(all.buffer), dtype);
  const back = words(fromFloat32(wide, dtype));
  const wrong = back.filter((word, at) => {
    const value = wide[at] as number;
    return Number.isNaN(value)
      ? !Number.isNaN(toFloat32(new Uint8Array(Uint16Array.of(word).buffer), dtype)[0])
      : word !== at;
  });
  expect(wrong).toEqual([]);
});

test.each(["F16", "BF16"] as const)("numbers between two %s go to the nearer, ties to the even one", (dtype) => {
  const top = dtype === "F16" ? 0x7bfe : 0x7f7e;
  for (let word = 0; word < top; word += 37) {
    const [low, high] = toFloat32(new Uint8Array(Uint16Array.of(word, word + 1).buffer), dtype) as unknown as [
      number,
      number,
    ];
    const middle = (low + high) / 2;
    const even = word % 2 === 0 ? word : word + 1;
    const nudge = (high - low) / 8;
    const tried = Float32Array.of(middle, middle - nudge, middle + nudge, -middle);
    expect(words(fromFloat32(tried, dtype)), String(word)).toEqual([even, word, word + 1, even | 0x8000]);
  }
  const over = words(fromFloat32(Float32Array.of(3e38 * 2, 1e-46), dtype));
  expect(over).toEqual([dtype === "F16" ? 0x7c00 : 0x7f80, 0]);
});

test("element types are named in any case and others refused", () => {
  expect(parseFloatDtype("bf16")).toBe("BF16");
  expect(() => parseFloatDtype("q4")).toThrow(/"q4".*f32, f16 or bf16/);
});

test("a streamed file is the file written at once, and ranges of it read as its tensors do", async () => {
  const tensors = [
    { name: "b", shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) },
    { name: "a", shape: [4], data: { dtype: "BF16" as const, bytes: Uint8Array.of(0, 63, 128, 63, 0, 64, 64, 64) } },
  ];
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const streamed = tensors.map(({ name, shape, data }) => ({
    name,
    shape,
    dtype: data instanceof Float32Array ? ("F32" as const) : data.dtype,
    async *pieces() {
      yield data instanceof Float32Array ? new Uint8Array(data.buffer) : (data.bytes as Uint8Array<ArrayBuffer>);
    },
  }));
  for await (const piece of streamSafetensors(streamed, 50)) pieces.push(piece);
  const whole = new Uint8Array(await new Blob(pieces).arrayBuffer());
  expect(whole).toEqual(writeSafetensors(tensors, { format: "pt" }));
  expect(new Set(pieces.slice(0, -1).map(({ length }) => length))).toEqual(new Set([50]));
  expect(pieces.at(-1)?.length).toBe(whole.length % 50);
  const file = await openSafetensors(memorySource("x.safetensors", whole));
  expect(Array.from(await file.readRange("a", 2, 6))).toEqual([1, 2]);
  await expect(file.readRawRange("b", 4, 25)).rejects.toThrow(/not inside "b"/);
  const short = streamSafetensors([{ name: "s", shape: [3], dtype: "F32", pieces: async function* () {} }], 50);
  const drained = async (): Promise<void> => {
    for await (const piece of short) expect(piece.length).toBeGreaterThan(0);
  };
  await expect(drained()).rejects.toThrow(/"s" has 0 bytes, its shape needs 12/);
});
