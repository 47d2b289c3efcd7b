/** Damage to archives that keeps the framing: fields of zip directories and headers, and of tar headers with their checksum. */
import fc, { type Arbitrary } from "fast-check";
import { type Bytes, type Damage, LIES, share, written } from "./bytes.ts";

const latin1 = new TextDecoder("latin1");

/** Positions of a signature. */
function placesOf(bytes: Bytes, signature: string): number[] {
  const text = latin1.decode(bytes);
  const places: number[] = [];
  for (let at = text.indexOf(signature); at >= 0; at = text.indexOf(signature, at + 1)) places.push(at);
  return places;
}

/** Records of a zip archive with the offset and bytes of their fields: entries, headers of members, the end. */
const RECORDS = [
  {
    signature: "PK\u0001\u0002",
    fields: [
      [8, 2],
      [10, 2],
      [16, 4],
      [20, 4],
      [24, 4],
      [28, 2],
      [30, 2],
      [32, 2],
      [42, 4],
    ],
  },
  {
    signature: "PK\u0003\u0004",
    fields: [
      [18, 4],
      [22, 4],
      [26, 2],
      [28, 2],
    ],
  },
  {
    signature: "PK\u0005\u0006",
    fields: [
      [8, 2],
      [10, 2],
      [12, 4],
      [16, 4],
    ],
  },
] as const;

const field = fc.constantFrom(...RECORDS).chain(({ signature, fields }) =>
  fc.tuple(share, fc.constantFrom(...fields), fc.constantFrom(...LIES)).map(
    ([which, [offset, size], value]): Damage => ({
      what: `field ${offset} of record ${JSON.stringify(signature)} at ${which}: ${value}`,
      apply: (bytes) => {
        const places = placesOf(bytes, signature);
        const place = places[Math.floor(which * (places.length - 1))];
        return place === undefined ? bytes : written(bytes, place + offset, value, size);
      },
    }),
  ),
);

/** One entry names the bytes of another. */
const overlap = fc.tuple(share, share).map(
  ([one, other]): Damage => ({
    what: `the entry at ${one} names the bytes of the one at ${other}`,
    apply: (bytes) => {
      const places = placesOf(bytes, "PK\u0001\u0002");
      const [to, from] = [one, other].map((at) => places[Math.floor(at * (places.length - 1))]);
      if (to === undefined || from === undefined || from + 46 > bytes.length || to + 46 > bytes.length) return bytes;
      const now = new Uint8Array(bytes);
      for (const [at, size] of [
        [16, 12],
        [42, 4],
      ] as const) {
        now.set(bytes.subarray(from + at, from + at + size), to + at);
      }
      return now;
    },
  }),
);

const BLOCK = 512;
/** Texts for the size and the type of a tar member. */
const SIZES = [
  "77777777777\0",
  "-0000000001\0",
  "\u0080\0\0\0\0\0\0\0\0\0\0\u0001",
  "\u00ff".repeat(12),
  "00000000000\0",
];
const TYPES = ["S", "x", "g", "L", "K", "1", "5", "Z", "\0"];

const tarHeader = fc
  .tuple(
    share,
    fc.oneof(
      fc.constantFrom(...SIZES).map((text) => [124, text] as const),
      fc.constantFrom(...TYPES).map((text) => [156, text] as const),
    ),
  )
  .map(
    ([which, [offset, text]]): Damage => ({
      what: `tar header at ${which}: ${JSON.stringify(text)} at ${offset}`,
      apply: (bytes) => {
        const headers = placesOf(bytes, "ustar").map((at) => at - 257);
        const start = headers[Math.floor(which * (headers.length - 1))];
        if (start === undefined || start < 0 || start + BLOCK > bytes.length) return bytes;
        const now = new Uint8Array(bytes);
        now.set(
          Uint8Array.from(text, (char) => char.charCodeAt(0)),
          start + offset,
        );
        now.fill(32, start + 148, start + 156);
        const sum = now.subarray(start, start + BLOCK).reduce((total, byte) => total + byte, 0);
        now.set(Buffer.from(`${sum.toString(8).padStart(6, "0")}\0 `), start + 148);
        return now;
      },
    }),
  );

/** A damage that a reader of zip archives meets after accepting the framing. */
export const ZIP_DAMAGE: Arbitrary<Damage> = fc.oneof({ arbitrary: field, weight: 3 }, overlap);
/** The same for tar archives. */
export const TAR_DAMAGE: Arbitrary<Damage> = tarHeader;
