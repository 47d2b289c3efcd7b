/**
 * Exports a stored run for other tools.
 *
 *   npm run export -- --run DIR --out DIR
 *                     --format report|peft|merged|tfevents|csv|trl|trl-completions|trackio|coco|sa2va|proof|scale-out
 *                     [--step N] [--weights policy|ema] [--model DIR] [--dtype f32|f16|bf16] [--shards DIR…]
 *                     [--fresh] [--json]
 *
 * `merged` needs the base model (--model) and verifies the written checkpoint before it is accepted. `sa2va` takes the
 * run's shards (--shards) for annotations and pictures of its training rows. `proof` needs the shards for the held-out
 * rows; `python tests/oracle/prove_run.py --proof DIR --base DIR` recomputes it. `report`, `csv` and `tfevents` take shards
 * for the pictures under the masks. In `csv`, text that begins with = + - @ has a leading apostrophe, so that no
 * spreadsheet runs it. `scale-out` needs the shards for the order of the rows; --fresh exports a run without a
 * checkpoint. --out appears only once it is complete.
 */
import { basename, join, resolve } from "node:path";
import * as z from "zod/mini";
import { parseJsonAs } from "../src/engine/bytes/json.ts";
import { type ByteFolder, subFolder } from "../src/engine/bytes/source.ts";
import { isStoredRow, rowsHash } from "../src/engine/data/open-rows.ts";
import { badInput } from "../src/engine/errors.ts";
import { adapterFiles } from "../src/engine/export/adapter.ts";
import { checkMerged } from "../src/engine/export/check-merged.ts";
import { below, type ExportRows, type ExportSources, exportRows } from "../src/engine/export/export-file.ts";
import { RUN_EXPORTS, type RunExport } from "../src/engine/export/export-names.ts";
import { EXPORT_FORMATS, exportFiles } from "../src/engine/export/formats.ts";
import { mergedFiles } from "../src/engine/export/merged.ts";
import { parseFloatDtype } from "../src/engine/model/weights/narrow.ts";
import { weightsHash } from "../src/engine/model/weights/weights-hash.ts";
import { readTrained, type TrainedTensors } from "../src/engine/runs/checkpoint/trained.ts";
import type { PictureOf } from "../src/engine/runs/rollouts/rollout-picture.ts";
import { openRun, type RunFolder } from "../src/engine/runs/run-folder.ts";
import { folderStore } from "../src/engine/storage/store.ts";
import { one, type Parsed, parseArguments, refuseIdle, runTool } from "./lib/arguments.ts";
import { nodeFolder, readTextFile } from "./lib/node/node-files.ts";
import { openNodeDevice } from "./lib/node/node-gpu.ts";
import { nodeWordnetFile, openNodeRows } from "./lib/node/node-rows.ts";
import { type OutFolder, writeOut } from "./lib/out-folder.ts";

/** Names of --format: those of `RUN_EXPORTS` (--weights chooses the partner's adapter), and the merged checkpoint. */
const FORMATS = [...(Object.keys(RUN_EXPORTS) as RunExport[]).filter((name) => name !== "peft-ema"), "merged"] as const;
type Format = (typeof FORMATS)[number];

/** What an option gives to an export. */
const OPTIONS: Readonly<Record<string, readonly (keyof ExportSources)[]>> = {
  step: ["step"],
  weights: ["side"],
  shards: ["rows", "dataSet", "pictureOf"],
  fresh: ["fresh"],
};
const OF_MERGED: readonly string[] = ["step", "weights", "model", "dtype"];

function acts(option: string, format: Format): boolean {
  if (format === "merged") return OF_MERGED.includes(option);
  return OPTIONS[option]?.some((source) => EXPORT_FORMATS[format].uses.includes(source)) ?? false;
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), {
    run: { takes: 1 },
    format: { takes: 1 },
    out: { takes: 1 },
    step: { takes: 1 },
    weights: { takes: 1 },
    model: { takes: 1 },
    dtype: { takes: 1 },
    shards: { takes: "many" },
    fresh: { takes: 0 },
    json: { takes: 0 },
  });
  const format = FORMATS.find((known) => known === one(parsed, "format"));
  if (format === undefined) throw badInput(`--format must be one of ${FORMATS.join(", ")}`, "format");
  const idle = [...new Set([...Object.keys(OPTIONS), ...OF_MERGED])].filter((option) => !acts(option, format));
  refuseIdle(parsed, idle, `on format ${format}`);
  const run = await openRunAt(needed(parsed, "run"));
  const out = await writeOut(
    resolve(needed(parsed, "out")),
    async (folder) => await write(parsed, format, run, folder),
  );
  for (const { path, size } of out.files) {
    process.stdout.write(
      parsed.has("json") ? `${JSON.stringify({ file: path, bytes: size })}\n` : `${path}  ${size}\n`,
    );
  }
  return 0;
});

async function write(parsed: Parsed, format: Format, run: RunFolder, out: OutFolder): Promise<void> {
  if (format === "tfevents" && basename(needed(parsed, "out")).includes("tfevents")) {
    say('TensorBoard takes a folder with "tfevents" in its name for an event file; rename it before you open it');
  }
  const [step, side] = [stepOf(parsed), sideOf(parsed)];
  if (format === "merged") {
    return await writeMerged(parsed, run, await readTrained(run.store, run.id, step, side), out);
  }
  const { uses } = EXPORT_FORMATS[format];
  const sources: ExportSources = {
    step,
    side,
    rows: uses.includes("rows") ? await rowsOf(parsed, run) : null,
    pictureOf: uses.includes("pictureOf") ? await picturesOf(parsed, run) : null,
    dataSet: uses.includes("dataSet") ? await dataSetOf(parsed) : null,
    wordnet: nodeWordnetFile,
    fresh: uses.includes("fresh") ? parsed.has("fresh") : undefined,
  };
  await out.add(await exportFiles(run, format, sources));
}

async function dataSetOf(parsed: Parsed): Promise<NonNullable<ExportSources["dataSet"]>> {
  const shards = parsed.get("shards");
  if (shards === undefined) throw badInput("--shards must name the data set that the run drew from", "shards");
  const { set, list } = await openNodeRows(shards);
  return { set, name: list.dataSet };
}

async function writeMerged(parsed: Parsed, run: RunFolder, trained: TrainedTensors, out: OutFolder): Promise<void> {
  const base = await nodeFolder(needed(parsed, "model"));
  const { model, id } = run.manifest();
  if ((await weightsHash(base)) !== model.hash) {
    throw badInput(`Run "${id}" was trained on ${model.name}; --model names another checkpoint`, "model");
  }
  const named = one(parsed, "dtype");
  const dtype = named === undefined ? null : parseFloatDtype(named);
  await out.add(
    mergedFiles(base, trained, {
      dtype,
      onMissingCode: (files) => {
        say(
          `${files.join(", ")} of config.json's auto_map are not in ${needed(parsed, "model")}; copy them to load the result with remote code`,
        );
      },
      onProgress: (done, total) => {
        if (done === total || done % Math.ceil(total / 10) === 0) say(`${done} of ${total} tensors`);
      },
    }),
  );
  const device = await openNodeDevice();
  try {
    const check = await checkMerged(base, trained, await out.readBack(), dtype);
    device.check();
    say(
      `read back: next-token scores differ by ${check.tokens.toExponential(1)}, mask logits by ` +
        `${check.masks.toExponential(1)} (${check.tolerance === null ? `by rounding to ${named}` : `allowed ${check.tolerance}`})`,
    );
  } finally {
    device.close();
  }
  await out.add(below("adapter", adapterFiles(run.manifest(), trained)));
}

function needed(parsed: Parsed, name: string): string {
  const value = one(parsed, name);
  if (value === undefined) throw badInput(`--${name} DIR is needed`, name);
  return value;
}

function stepOf(parsed: Parsed): number | null {
  const text = one(parsed, "step");
  if (text === undefined) return null;
  if (/^\d+$/.test(text)) return Number(text);
  throw badInput(`--step must be the number of a checkpoint, not "${text}"`, "step");
}

function sideOf(parsed: Parsed): "policy" | "ema" {
  const side = one(parsed, "weights") ?? "policy";
  if (side === "policy" || side === "ema") return side;
  throw badInput(`--weights must be policy or ema, not "${side}"`, "weights");
}

/** A run folder, or the only run inside a folder of runs. */
async function openRunAt(directory: string): Promise<RunFolder> {
  const folder = await nodeFolder(directory);
  const manifests = folder.paths.filter((path) => /^([^/]+\/)?run\.json$/.test(path));
  const path = manifests.includes("run.json") ? "run.json" : manifests[0];
  if (path === undefined || (path !== "run.json" && manifests.length > 1)) {
    const why = path === undefined ? "holds no run.json" : `holds ${manifests.length} runs; name one of them`;
    throw badInput(`${directory} ${why}`, directory);
  }
  const prefix = path.slice(0, -"run.json".length);
  const id = runIdOf(join(directory, path));
  const own = subFolder(folder, prefix);
  const named: ByteFolder = {
    paths: own.paths.map((name) => `${id}/${name}`),
    get: (name) => (name.startsWith(`${id}/`) ? own.get(name.slice(id.length + 1)) : undefined),
  };
  return await openRun(folderStore(named), id);
}

/** The folder may have been renamed; the manifest has the run's id. */
function runIdOf(file: string): string {
  return parseJsonAs(readTextFile(file), z.looseObject({ id: z.string().check(z.minLength(1)) }), file).id;
}

async function rowsOf(parsed: Parsed, run: RunFolder): Promise<ExportRows | null> {
  const shards = parsed.get("shards");
  if (shards === undefined) return null;
  const { set, list } = await openNodeRows(shards);
  const rows = await exportRows(run.manifest(), set, list.dataSet);
  say(`${rows.split.train.length} training rows, ${rows.split.heldOut.length} held out, ${set.skipped.length} skipped`);
  return rows;
}

/** Pictures of the rows in the named shards; undefined for other rows, and for all without shards. */
async function picturesOf(parsed: Parsed, run: RunFolder): Promise<PictureOf | null> {
  const shards = parsed.get("shards");
  if (shards === undefined) return null;
  const { set, list, rows } = await openNodeRows(shards);
  if ((await rowsHash(list.rows)) !== run.manifest().data.hash) {
    say(`--shards is not the data set of the run; rows that ${list.dataSet} lacks have no picture`);
  }
  const byId = new Map(set.summaries.map((summary) => [summary.id, summary]));
  return async (rowId, imageId) => {
    const row = byId.get(rowId);
    return row === undefined || !isStoredRow(row, { rowId, imageId }) ? null : (await rows(row.index)).rgb;
  };
}
