/**
 * npm run check-data -- DIR… [--split NAME] [--image COLUMN] [--mask COLUMN] [--text COLUMN] [--keep FILE] [--json]
 *
 * Reads folders (or single files) of shards as the page does and prints which files count, their schema and adapter,
 * the checks, three questions of conversations with what became of their answers, and every skipped row with its
 * reason. With --json it prints one object per line, distinguished by
 * `kind`. --keep writes corrections that leave samples as a mapping file, which is read if it is next to the data. Exit
 * 0: ready for training; 1: not ready; 2: a bad argument.
 */
import { writeFile } from "node:fs/promises";
import { resolve, sep } from "node:path";
import { openRegionSet, type RegionSet } from "../src/engine/data/region-set.ts";
import { checkRegionSet, type DataCheck, rolesText } from "../src/engine/data/set-info.ts";
import { mappingText } from "../src/engine/data/tables/mapping.ts";
import { badInput, quote } from "../src/engine/errors.ts";
import { one, parseArguments, refuseIdle, requireWritable, runTool, WORDS } from "./lib/arguments.ts";
import { nodeFolders } from "./lib/node/node-files.ts";
import { decodeImage } from "./lib/node/node-images.ts";

/** Maximum skipped rows printed one by one; --json lists all. */
const SHOWN = 40;
/** Maximum characters of a printed question or answer. */
const SHOWN_TEXT = 160;

const OPTIONS = {
  [WORDS]: { takes: "many" },
  json: { takes: 0 },
  split: { takes: 1 },
  image: { takes: 1 },
  mask: { takes: 1 },
  text: { takes: 1 },
  keep: { takes: 1 },
} as const;

const KEPT = ["image", "mask", "text", "split"] as const;

async function main(): Promise<number> {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const directories = parsed.get(WORDS) ?? [];
  if (directories.length === 0) throw badInput("DIR is missing: name a folder with data");
  const kept = Object.fromEntries(KEPT.flatMap((name) => (parsed.has(name) ? [[name, one(parsed, name)]] : [])));
  if (Object.keys(kept).length === 0) refuseIdle(parsed, ["keep"], `without a correction (--${KEPT.join(", --")})`);
  const keep = one(parsed, "keep");
  if (keep !== undefined) requireWritable(keep);
  const folder = await nodeFolders(directories);
  const start = performance.now();
  const split = one(parsed, "split");
  const columns = { image: one(parsed, "image"), mask: one(parsed, "mask"), text: one(parsed, "text") };
  const set = await openRegionSet(folder, split === undefined ? { columns } : { columns, split });
  if (keep !== undefined && set.summaries.length > 0) await writeFile(keep, mappingText({ "*": kept }));
  else if (keep !== undefined)
    process.stderr.write(`${keep} was not written, because no sample fits the corrections\n`);
  const seconds = (performance.now() - start) / 1000;
  const names = directories.map((directory) => resolve(directory).split(sep).slice(-2).join("/"));
  const checks = await checkRegionSet(set, decodeImage, () => performance.now(), names);
  if (parsed.has("json")) printJson(set, checks, seconds);
  else printText(set, checks, seconds);
  return checks.every((check) => check.ok || !check.blocks) ? 0 : 1;
}

/** Samples per top-level folder ("" for files without one) and in total. */
function parts(set: RegionSet): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { file } of set.summaries) {
    const part = file.includes("/") ? file.slice(0, file.indexOf("/")) : "";
    counts.set(part, (counts.get(part) ?? 0) + 1);
  }
  return counts;
}

function printJson(set: RegionSet, checks: readonly DataCheck[], seconds: number): void {
  const line = (kind: string, value: object): void => console.log(JSON.stringify({ kind, ...value }));
  for (const file of set.files) line("shard", file);
  for (const file of set.ignored) line("ignored", file);
  for (const row of set.skipped) line("skipped", row);
  for (const check of checks) line("check", check);
  for (const pair of set.answers.samples()) line("pair", pair);
  line("summary", {
    samples: set.summaries.length,
    rows: set.files.reduce((sum, file) => sum + file.rows, 0),
    pictures: new Set(set.summaries.map((summary) => summary.imageId)).size,
    skipped: set.skipped.length,
    parts: Object.fromEntries(parts(set)),
    seconds,
  });
}

function printText(set: RegionSet, checks: readonly DataCheck[], seconds: number): void {
  // File and column names may contain line breaks.
  const print = (line: string): void => console.log(line.replace(/[\n\r]+/g, " "));
  for (const file of set.files) {
    const split = file.split === undefined ? "" : `, split ${file.split}`;
    print(`${file.name}${split}`);
    print(
      `  ${(file.bytes / 1e6).toFixed(1)} MB, ${file.rows} rows in ${file.batches} ${file.batches === 1 ? "batch" : "batches"}`,
    );
    if (file.schema !== "") print(`  schema   ${file.schema}`);
    const what = file.reason ?? file.layout?.what ?? "";
    if (what !== "") print(`  is       ${what}`);
    print(`  adapter  ${file.adapter === "" ? "none" : file.adapter}`);
    if (file.roles !== undefined) print(`  becomes  ${rolesText(file.roles)}`);
  }
  // Files with the same reason share a line, because a data set has thousands of pictures.
  const reasons = new Map<string, string[]>();
  for (const { name, reason } of set.ignored) {
    const names = reasons.get(reason);
    if (names === undefined) reasons.set(reason, [name]);
    else names.push(name);
  }
  for (const [reason, [name, ...more]] of reasons) {
    print(`ignored  ${name}${more.length === 0 ? "" : ` and ${more.length} more`}: ${reason}`);
  }
  const pictures = new Set(set.summaries.map((summary) => summary.imageId)).size;
  print("");
  print(`${set.summaries.length} samples over ${pictures} pictures, indexed in ${seconds.toFixed(2)} s`);
  const counts = parts(set);
  if (counts.size > 1) for (const [part, count] of counts) print(`  ${part === "" ? "(top)" : part}: ${count} samples`);
  print("");
  for (const { name, ok, detail } of checks) print(`${ok ? "ok    " : "FAILED"}  ${name}: ${detail}`);
  print("");
  const samples = set.answers.samples();
  if (samples.length > 0) print("questions and what became of their answers, for example:");
  for (const { file, row, question, answer, became } of samples) {
    print(`  ${file}, row ${row}: ${quote(question, SHOWN_TEXT)} → ${quote(answer, SHOWN_TEXT)}`);
    print(`    ${became}`);
  }
  if (samples.length > 0) print("");
  print(`${set.skipped.length === 0 ? "nothing was left out" : `left out (${set.skipped.length}):`}`);
  for (const { file, row, column, reason } of set.skipped.slice(0, SHOWN)) {
    // Sentences about a whole file begin with its name.
    const place =
      reason.startsWith(file) && row < 0
        ? ""
        : [file, row < 0 ? "" : `row ${row}`, column].filter((part) => part !== "").join(", ");
    print(`  ${place === "" ? "" : `${place}: `}${reason}`);
  }
  if (set.skipped.length > SHOWN) print(`  and ${set.skipped.length - SHOWN} more; --json lists all`);
}

await runTool(main);
