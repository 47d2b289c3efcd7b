/** Weights: the header, every tensor, and ranges of them. */
import fc, { type Arbitrary } from "fast-check";
import { memorySource } from "../../../src/engine/bytes/source.ts";
import { openSafetensors, writeSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { type Bytes, type Damage, joined, LIES, written } from "../bytes.ts";
import { casesOf } from "../cases.ts";
import { type JsonPlace, jsonDamage } from "../json.ts";
import { check, type Target } from "../target.ts";
import { stored } from "../valid.ts";

const FILE = "m.safetensors";

const headerLength = (bytes: Bytes): number =>
  bytes.length < 8 ? 0 : Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));

/** The header's JSON, its length written anew. */
const HEADER: JsonPlace = {
  what: "header ",
  read: (bytes) => new TextDecoder().decode(bytes.subarray(8, Math.min(bytes.length, 8 + headerLength(bytes)))),
  write: (bytes, text) => {
    const header = new TextEncoder().encode(text);
    const length = new Uint8Array(BigUint64Array.of(BigInt(header.length)).buffer);
    return joined(length, header, bytes.subarray(Math.min(bytes.length, 8 + headerLength(bytes))));
  },
};

const lengthLie: Arbitrary<Damage> = fc.constantFrom(...LIES).map((value) => ({
  what: `says its header has ${value} bytes`,
  apply: (bytes) => written(bytes, 0, value, 8),
}));

/** Damage to a file of this format. */
export const SAFETENSORS_DAMAGE: Arbitrary<Damage> = fc.oneof({ arbitrary: jsonDamage(HEADER), weight: 5 }, lengthLie);

const small = writeSafetensors(
  [
    { name: "a", shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) },
    { name: "b", shape: [], data: Float32Array.of(7) },
    { name: "c", shape: [0, 4], data: new Float32Array() },
  ],
  { format: "pt" },
);

export const safetensors: Target = {
  ...casesOf(
    {
      small: { [FILE]: small },
      adapter: { [FILE]: stored("tests/golden/sa2va-tiny-phi3/adapter_model.safetensors") },
      "several types": { [FILE]: stored("tests/golden/sa2va-tiny-phi3/golden_preprocess.safetensors") },
    },
    () => SAFETENSORS_DAMAGE,
  ),
  async read(files) {
    const bytes = files[FILE] ?? new Uint8Array();
    const file = await openSafetensors(memorySource(FILE, bytes));
    check(
      Object.values(file.metadata).every((value) => typeof value === "string"),
      "metadata that is no text",
    );
    let total = 0;
    for (const name of file.names) {
      const { shape, bytes: size } = file.info(name);
      const elements = shape.reduce((product, side) => product * side, 1);
      check(
        shape.every((side) => Number.isSafeInteger(side) && side >= 0),
        `a shape of ${shape}`,
      );
      total += size;
      check(total <= bytes.length, "tensors of more bytes than the file has");
      const values = await file.read(name);
      check(values.length === elements, `${values.length} values for a shape of ${shape}`);
    }
  },
};
