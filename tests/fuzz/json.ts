/** Damage to JSON: any value in any place, odd names of fields, nesting, and texts that only look like JSON. */
import fc, { type Arbitrary } from "fast-check";
import { type Bytes, type Damage, share } from "./bytes.ts";

/** Finds JSON text inside a file and puts a new text in its place. */
export interface JsonPlace {
  readonly what: string;
  /** Undefined when the bytes no longer contain it. */
  read(bytes: Bytes): string | undefined;
  write(bytes: Bytes, text: string): Bytes;
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const encode = (text: string): Bytes => new TextEncoder().encode(text);

/** The whole file. */
export const WHOLE: JsonPlace = { what: "", read: decode, write: (_, text) => encode(text) };

/** A line of a JSON Lines file, by its share of all lines. */
export function lineAt(at: number): JsonPlace {
  const index = (lines: readonly string[]): number => Math.floor(at * Math.max(0, lines.length - 1));
  return {
    what: `line at ${at} `,
    read: (bytes) => {
      const lines = decode(bytes).split("\n");
      return lines[index(lines)];
    },
    write: (bytes, text) => {
      const lines = decode(bytes).split("\n");
      lines[index(lines)] = text;
      return encode(lines.join("\n"));
    },
  };
}

const DEEP = 20_000;

/** JSON texts that are difficult for readers. */
const ODD: readonly string[] = [
  ...["null", "true", "false", "0", "-0", "-1", "0.5", "3", "64", "1e6", "1e9", "1e308", "1e999", "-444596224"],
  ...["2147483648", "4294967296", "9007199254740993", "1e-320", '""', '"x"', '"0x10"', '" 7 "', '"1e9"', '"NaN"'],
  ...['"Infinity"', '"__proto__"', '"\\u0000"', '"\\u001b[31m\\n\\u202e"', '"\\ud800"', '"../../x"', "[]", "{}"],
  ...["[1,2]", "[null]", "[-1]", "[4294967296,4294967296]", '{"toString":1,"valueOf":2}', '{"__proto__":{"a":1}}'],
  ...[
    '{"length":4294967295}',
    '{"toJSON":1}',
    '{"constructor":{"prototype":1}}',
    '{"then":1}',
    "NaN",
    "",
    "[",
    "\u{feff}",
  ],
  `"${"a".repeat(300_000)}"`,
  `"${'\\"'.repeat(40_000)}"`,
  `"${"\\n".repeat(4000)}"`,
  `${"[".repeat(DEEP)}${"]".repeat(DEEP)}`,
  `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`,
  `[${"0,".repeat(50_000)}0]`,
];
const NAMES = ["__proto__", "toString", "constructor", "length", "hasOwnProperty", "", "\u001b[31m", "a".repeat(2000)];

type Path = readonly string[];

/** Paths of every value, the whole value first. */
function placesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => placesOf(inner, [...path, key]))];
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], value);
}

/** JSON text of a value in which `write` writes the node at a path, with its field's name. */
function textWith(value: unknown, path: Path, write: (node: unknown) => string, name?: string): string {
  const [key, ...rest] = path;
  if (key === undefined) return write(value);
  const items = Object.entries(value as object).map(([own, inner]) => {
    const text = own === key ? textWith(inner, rest, write, name) : JSON.stringify(inner);
    if (Array.isArray(value)) return text;
    const shown = own === key && rest.length === 0 && name !== undefined ? name : own;
    return `${JSON.stringify(shown)}:${text}`;
  });
  return Array.isArray(value) ? `[${items.join()}]` : `{${items.join()}}`;
}

/** The text without the node at a path. */
function textWithout(value: unknown, path: Path): string {
  const parent = path.slice(0, -1);
  const gone = path.at(-1);
  return textWith(value, parent, (node) => {
    if (Array.isArray(node)) return JSON.stringify(node.filter((_, index) => String(index) !== gone));
    return JSON.stringify(Object.fromEntries(Object.entries(node as object).filter(([key]) => key !== gone)));
  });
}

type Edit = readonly [what: string, edit: (value: unknown, path: Path, paths: readonly Path[]) => string];

const shown = (text: string): string => (text.length > 60 ? `${text.slice(0, 40)}… (${text.length})` : text);
const odd: Arbitrary<string> = fc.oneof(
  { arbitrary: fc.constantFrom(...ODD), weight: 4 },
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value)),
  fc.integer().map(String),
);
const pick = <T>(items: readonly T[], place: number): T => items[Math.floor(place * (items.length - 1))] as T;

const edits: Arbitrary<Edit> = fc.oneof(
  { arbitrary: odd.map((text): Edit => [shown(text), (value, path) => textWith(value, path, () => text)]), weight: 6 },
  fc.constant<Edit>([
    "removed",
    (value, path) => (path.length === 0 ? JSON.stringify(value) : textWithout(value, path)),
  ]),
  fc
    .constantFrom(...NAMES)
    .map(
      (name): Edit => [
        `named ${shown(JSON.stringify(name))}`,
        (value, path) => textWith(value, path, (node) => JSON.stringify(node), name),
      ],
    ),
  fc
    .constantFrom<[string, string]>(["[", "]"], ['{"a":', "}"], ['"', '"'])
    .map(
      ([open, close]): Edit => [
        `in ${open} ${close}`,
        (value, path) => textWith(value, path, (node) => `${open}${JSON.stringify(node)}${close}`),
      ],
    ),
  share.map(
    (other): Edit => [
      `the value at ${other}`,
      (value, path, paths) => textWith(value, path, () => JSON.stringify(at(value, pick(paths, other)))),
    ],
  ),
  fc.integer({ min: 2, max: 300 }).map(
    (times): Edit => [
      `${times} times`,
      (value, path) => {
        const parent = path.slice(0, -1);
        if (path.length === 0 || !Array.isArray(at(value, parent))) return JSON.stringify(value);
        const text = (list: unknown): string =>
          `[${(list as unknown[]).flatMap((item, index) => Array(String(index) === path.at(-1) ? times : 1).fill(JSON.stringify(item))).join()}]`;
        return textWith(value, parent, text);
      },
    ],
  ),
);

/** A change at any node of the JSON, if it is still JSON. */
export function jsonDamage(place: JsonPlace = WHOLE): Arbitrary<Damage> {
  return fc.tuple(share, edits).map(([where, [what, edit]]) => ({
    what: `${place.what}JSON at ${where}: ${what}`,
    apply: (bytes) => {
      const text = place.read(bytes);
      if (text === undefined) return bytes;
      try {
        const value: unknown = JSON.parse(text);
        const paths = placesOf(value);
        return place.write(bytes, edit(value, pick(paths, where), paths));
      } catch {
        // After an earlier damage there is no JSON left, or it is nested too deeply to be walked.
        return bytes;
      }
    },
  }));
}

/** A change in any line. */
export const LINE_DAMAGE: Arbitrary<Damage> = share.chain((line) => jsonDamage(lineAt(line)));
