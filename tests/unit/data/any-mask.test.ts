/** Masks in any form that other tools store, in any Arrow type that holds it, are read to their pixels. */
import {
  Binary,
  Bool,
  type DataType,
  Dictionary,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Int64,
  LargeUtf8,
  List,
  RecordBatchStreamWriter,
  Struct,
  Table,
  Uint8,
  Uint16,
  Uint32,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import fc, { type Arbitrary } from "fast-check";
import { encode } from "fast-png";
import { expect, test } from "vitest";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { decodeRle, encodeRle, rleRuns } from "../../../src/engine/data/mask/rle.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { forAny } from "../../support/any.ts";
import { png } from "./make.ts";

interface Pixels {
  readonly height: number;
  readonly width: number;
  readonly bits: readonly number[];
}

/** A form of one mask: its Arrow type and its value. */
interface Form {
  readonly name: string;
  type(size: Pixels): DataType;
  value(mask: Pixels): unknown;
}

const list = (type: DataType): List => new List(new Field("item", type, true));
const fixed = (size: number, type: DataType): FixedSizeList => new FixedSizeList(size, new Field("item", type, true));
const struct = (fields: Readonly<Record<string, DataType>>): Struct =>
  new Struct(Object.entries(fields).map(([name, type]) => new Field(name, type, true)));

const rle = ({ height, width, bits }: Pixels) => encodeRle(Uint8Array.from(bits), height, width);
const rowsOf = ({ width, height, bits }: Pixels, as: (bit: number) => unknown): unknown[][] =>
  Array.from({ length: height }, (_, y) => bits.slice(y * width, (y + 1) * width).map(as));
const grey = ({ width, height, bits }: Pixels, on: number): Uint8Array =>
  encode({ width, height, data: Uint8Array.from(bits, (bit) => bit * on), channels: 1, depth: 8 });

const INTEGERS: readonly (readonly [string, DataType, (value: number) => unknown])[] = [
  ["uint8", new Uint8(), Number],
  ["uint16", new Uint16(), Number],
  ["int32", new Int32(), Number],
  ["int64", new Int64(), BigInt],
];
const PIXELS: readonly (readonly [string, DataType, (bit: number) => unknown])[] = [
  ...INTEGERS,
  ["uint8 of 255", new Uint8(), (bit) => 255 * bit],
  ["bool", new Bool(), (bit) => bit === 1],
  ["float32", new Float32(), Number],
  ["probabilities", new Float64(), (bit) => (bit === 1 ? 0.9 : 0.2)],
];
const SIZES = [...INTEGERS, ["uint32", new Uint32(), Number] as const];

const FORMS: readonly Form[] = [
  ...SIZES.flatMap(([name, type, as]): Form[] => [
    {
      name: `counts text, size ${name}`,
      type: () => struct({ size: list(type), counts: new Utf8() }),
      value: (mask) => ({ size: [mask.height, mask.width].map(as), counts: rle(mask).counts }),
    },
    {
      name: `counts bytes, size ${name} fixed`,
      type: () => struct({ counts: new Binary(), size: fixed(2, type) }),
      value: (mask) => ({
        size: [mask.height, mask.width].map(as),
        counts: new TextEncoder().encode(rle(mask).counts),
      }),
    },
    {
      name: `counts of ${name}`,
      type: () => struct({ counts: list(type), size: list(type) }),
      value: (mask) => ({ size: [mask.height, mask.width].map(as), counts: rleRuns(rle(mask)).map(as) }),
    },
  ]),
  {
    name: "counts text alone",
    type: () => new LargeUtf8(),
    value: (mask) => rle(mask).counts,
  },
  ...PIXELS.flatMap(([name, type, as]): Form[] => [
    { name: `rows of ${name}`, type: () => list(list(type)), value: (mask) => rowsOf(mask, as) },
    {
      name: `fixed rows of ${name}`,
      type: ({ height, width }) => fixed(height, fixed(width, type)),
      value: (mask) => rowsOf(mask, as),
    },
    { name: `flat ${name}`, type: () => list(type), value: ({ bits }) => bits.map(as) },
    {
      name: `rows of ${name} with a channel`,
      type: () => list(list(list(type))),
      value: (mask) => rowsOf(mask, (bit) => [as(bit)]),
    },
    {
      name: `a channel of rows of ${name}`,
      type: () => list(list(list(type))),
      value: (mask) => [rowsOf(mask, as)],
    },
  ]),
  { name: "raw bytes", type: () => new Binary(), value: ({ bits }) => Uint8Array.from(bits) },
  ...[1, 255].flatMap((on): Form[] => [
    { name: `png of ${on}`, type: () => new Binary(), value: (mask) => grey(mask, on) },
    {
      name: `png of ${on} in a struct`,
      type: () => struct({ bytes: new Binary(), path: new Utf8() }),
      value: (mask) => ({ bytes: grey(mask, on), path: null }),
    },
  ]),
  {
    name: "counts as JSON",
    type: () => new Utf8(),
    value: (mask) => JSON.stringify({ size: [mask.height, mask.width], counts: rleRuns(rle(mask)) }),
  },
  { name: "rows as JSON", type: () => new Utf8(), value: (mask) => JSON.stringify(rowsOf(mask, Number)) },
  {
    name: "rows as JSON in a dictionary",
    type: () => new Dictionary(new Utf8(), new Int32()),
    value: (mask) => JSON.stringify(rowsOf(mask, Number)),
  },
];

/** No smaller picture is used for training. */
const side = fc.integer({ min: 10, max: 14 });
/** Drawn pixels, a run of them, or all. */
const bitsOf = (count: number): Arbitrary<number[]> =>
  fc.oneof(
    fc.array(fc.constantFrom(0, 1), { minLength: count, maxLength: count }),
    fc
      .tuple(fc.nat(count - 1), fc.integer({ min: 1, max: count }))
      .map(([from, many]) => Array.from({ length: count }, (_, at) => (at >= from && at < from + many ? 1 : 0))),
    fc.constant(Array.from({ length: count }, () => 1)),
  );
const masks = (least: number, most: number): Arbitrary<Pixels[]> =>
  fc.tuple(side, side).chain(([height, width]) =>
    fc.array(
      bitsOf(height * width).map((bits) => ({ height, width, bits })),
      { minLength: least, maxLength: most },
    ),
  );

function shard(columns: Readonly<Record<string, readonly [DataType, readonly unknown[]]>>): Uint8Array<ArrayBuffer> {
  const vectors = Object.entries(columns).map(([name, [type, values]]) => [name, vectorFromArray(values, type)]);
  const writer = new RecordBatchStreamWriter();
  for (const batch of new Table(Object.fromEntries(vectors)).batches) writer.write(batch);
  writer.finish();
  return new Uint8Array(writer.toUint8Array(true));
}

const thing = (at: number): string => `thing number ${at}`;

/** Every mask with a pixel has its region, with these pixels; an empty one has none. */
async function expectRead(bytes: Uint8Array<ArrayBuffer>, drawn: readonly Pixels[], form: string): Promise<void> {
  const { summaries, skipped } = await openRegionSet(memoryFolder({ "a.arrow": bytes }));
  const found = summaries.map(({ caption, mask }) => [caption, Array.from(decodeRle(mask)).join("")]);
  const expected = drawn.flatMap(({ bits }, at) => (bits.includes(1) ? [[thing(at), bits.join("")]] : []));
  expect(found, `${form}: ${skipped.map(({ reason }) => reason).join("; ")}`).toEqual(expected);
}

const column = fc.constantFrom("mask", "masks", "segmentation", "mask_rle");
const CASES = FORMS.length;

test("one mask per row", () =>
  forAny(CASES, fc.tuple(fc.constantFrom(...FORMS), masks(2, 2), column), async ([form, rows, mask]) => {
    const size = rows[0] as Pixels;
    const bytes = shard({
      image: [new Binary(), rows.map(() => png(size.width, size.height))],
      [mask]: [form.type(size), rows.map((one) => form.value(one))],
      caption: [new Utf8(), rows.map((_, at) => thing(at))],
    });
    await expectRead(bytes, rows, form.name);
  }));

test("several masks per row", () =>
  forAny(CASES, fc.tuple(fc.constantFrom(...FORMS), masks(1, 12), column), async ([form, all, mask]) => {
    const size = all[0] as Pixels;
    const bytes = shard({
      image: [new Binary(), [png(size.width, size.height)]],
      [mask]: [list(form.type(size)), [all.map((one) => form.value(one))]],
      captions: [list(new Utf8()), [all.map((_, at) => thing(at))]],
    });
    await expectRead(bytes, all, form.name);
  }));
