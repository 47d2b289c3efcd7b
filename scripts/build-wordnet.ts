/**
 * `npx tsx scripts/build-wordnet.ts --from DIR [--exceptions DIR] [--out FILE]`
 *
 * Makes the table of src/engine/rewards/wordnet.ts from the files of a WordNet database: data.{noun,verb,adj,adv} and
 * {noun,verb,adj,adv}.exc, in DIR or in DIR/dict. Distributions without the .exc files need --exceptions.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { badInput } from "../src/engine/errors.ts";
import { PARTS_OF_SPEECH, type PartOfSpeech, parseWordnet, TABLE_HEADER } from "../src/engine/rewards/wordnet.ts";
import { one, parseArguments, runTool } from "./lib/arguments.ts";

const FILES: Readonly<Record<PartOfSpeech, string>> = { n: "noun", v: "verb", a: "adj", r: "adv" };
const DEFAULT_OUT = fileURLToPath(new URL("../public/wordnet/wordnet30.txt", import.meta.url));

/**
 * The table as bytes; equal database files give equal bytes.
 * @throws LabError("bad-input") naming a file that is missing or has an invalid line
 */
export async function buildWordnet(from: string, exceptionsFrom = from): Promise<Uint8Array> {
  let version: string | undefined;
  const synsets = new Map<PartOfSpeech, string[][]>();
  const exceptions = new Map<PartOfSpeech, Map<string, string[]>>();
  for (const part of PARTS_OF_SPEECH) {
    const data = await databaseFile(from, `data.${FILES[part]}`);
    version ??= /WordNet (\d+\.\d+) Copyright/u.exec(data)?.[1];
    const index = await databaseFile(from, `index.${FILES[part]}`);
    const all = parseData(data, `data.${FILES[part]}`);
    checkIndex(index, all, `index.${FILES[part]}`);
    const irregular = parseExceptions(await databaseFile(exceptionsFrom, `${FILES[part]}.exc`));
    exceptions.set(part, irregular);
    synsets.set(part, reduced(all).sort(byText));
  }
  if (version === undefined) throw badInput(`${from}: the database files do not name a WordNet version`);
  const lines = [TABLE_HEADER, `wordnet ${version}`];
  for (const [part, sets] of synsets) {
    lines.push(`synsets ${part} ${sets.length}`);
    for (const names of sets) lines.push(names.join(" "));
  }
  for (const [part, forms] of exceptions) {
    const sorted = [...forms].map(([form, bases]) => [form, ...bases]).sort(byText);
    lines.push(`exceptions ${part} ${sorted.length}`);
    for (const words of sorted) lines.push(words.join(" "));
  }
  const bytes = new TextEncoder().encode(`${[...lines, "end"].join("\n")}\n`);
  parseWordnet(bytes);
  return bytes;
}

/** Names of every synset of a data file: sorted, without repetition, without adjective markers. */
function parseData(text: string, file: string): Map<number, string[]> {
  const synsets = new Map<number, string[]>();
  for (const line of text.split("\n")) {
    // The licence comes first, in lines that begin with a space.
    if (line === "" || line.startsWith(" ")) continue;
    const fields = line.split(" ");
    const count = Number.parseInt(fields[3] ?? "", 16);
    const names = Array.from({ length: count || 0 }, (_, at) => (fields[4 + 2 * at] ?? "").replace(/\(.*\)$/u, ""));
    if (names.length === 0 || names.some((name) => !/^[!-~]+$/u.test(name))) {
      throw badInput(`${file} has a line that is not a synset: ${line.slice(0, 40)}`);
    }
    synsets.set(Number(fields[0]), [...new Set(names)].sort());
  }
  return synsets;
}

/** Checks that the lower-cased lemmas, which the reader uses as its index, are exactly those of the index file. */
function checkIndex(text: string, synsets: ReadonlyMap<number, readonly string[]>, file: string): void {
  const derived = new Map<string, Set<number>>();
  for (const [offset, names] of synsets) {
    for (const name of names) {
      const form = name.toLowerCase();
      derived.set(form, (derived.get(form) ?? new Set()).add(offset));
    }
  }
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith(" ")) continue;
    const fields = line.trim().split(" ");
    const form = fields[0] ?? "";
    const offsets = fields.slice(-Number(fields[2])).map(Number);
    const own = derived.get(form);
    if (own === undefined || own.size !== offsets.length || offsets.some((offset) => !own.has(offset))) {
      throw badInput(`${file} lists "${form}" with synsets that differ from the data file`);
    }
    derived.delete(form);
  }
  const [missing] = derived.keys();
  if (missing !== undefined) throw badInput(`${file} lacks "${missing}", which the data file has`);
}

/** Later lines of a form replace earlier ones, as in the reference. */
function parseExceptions(text: string): Map<string, string[]> {
  const forms = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [form, ...bases] = line.trim().split(/ +/u);
    if (form !== undefined && form !== "" && bases.length > 0) forms.set(form, bases);
  }
  return forms;
}

/** Synsets that hold a one-word name and are not contained in another one. */
function reduced(synsets: ReadonlyMap<number, string[]>): string[][] {
  const kept: string[][] = [];
  const holders = new Map<string, Set<string>[]>();
  const bySize = [...synsets.values()].sort((a, b) => b.length - a.length || byText(a, b));
  for (const names of bySize) {
    if (names.every((name) => name.includes("_"))) continue;
    const larger = holders.get(names[0] as string) ?? [];
    if (larger.some((other) => names.every((name) => other.has(name)))) continue;
    kept.push(names);
    const set = new Set(names);
    for (const name of names) holders.set(name, [...(holders.get(name) ?? []), set]);
  }
  return kept;
}

function byText(a: readonly string[], b: readonly string[]): number {
  const [left, right] = [a.join(" "), b.join(" ")];
  return left < right ? -1 : left > right ? 1 : 0;
}

async function databaseFile(directory: string, name: string): Promise<string> {
  for (const path of [join(directory, name), join(directory, "dict", name)]) {
    const bytes = await readFile(path).catch(() => undefined);
    if (bytes !== undefined) return bytes.toString("latin1").replaceAll("\r\n", "\n");
  }
  throw badInput(`${join(directory, name)} cannot be read; no table was written`);
}

async function main(): Promise<number> {
  const options = parseArguments(process.argv.slice(2), {
    from: { takes: 1 },
    exceptions: { takes: 1 },
    out: { takes: 1 },
  });
  const from = one(options, "from");
  if (from === undefined) throw badInput("--from DIR is missing: the WordNet database files");
  const bytes = await buildWordnet(from, one(options, "exceptions") ?? from);
  const out = one(options, "out") ?? DEFAULT_OUT;
  await writeFile(out, bytes).catch((cause: unknown) => {
    throw badInput(`${out} cannot be written: ${(cause as Error).message}`, out, cause);
  });
  process.stdout.write(`${out}: ${bytes.length} bytes\n`);
  return 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runTool(main);
