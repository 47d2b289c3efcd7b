/**
 * Takes a stored run to other tools.
 *
 *   npm run export -- --run DIR --format peft|merged|tfevents|csv|trl|sa2va --out DIR
 *                     [--step N] [--weights policy|ema] [--model DIR] [--dtype f32|f16|bf16] [--shards DIR…] [--json]
 *
 * `merged` needs the base model (--model) and reads the result back before it is handed over; `sa2va` takes the data's
 * shards for annotations and pictures. Nothing appears under --out before it is complete.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { subFolder } from "../src/engine/bytes/memory.ts";
import type { ByteFolder } from "../src/engine/bytes/source.ts";
import { openRegionSet } from "../src/engine/data/region-set.ts";
import type { RegionSample } from "../src/engine/data/sample.ts";
import { LabError } from "../src/engine/errors.ts";
import { adapterFiles } from "../src/engine/export/adapter.ts";
import { checkMerged } from "../src/engine/export/check-merged.ts";
import { below } from "../src/engine/export/export-file.ts";
import { mergedFiles } from "../src/engine/export/merged.ts";
import { type ExportSamples, sa2vaFiles } from "../src/engine/export/sa2va.ts";
import { csvFiles, tfeventsFiles } from "../src/engine/export/tables.ts";
import { trlFiles } from "../src/engine/export/trl.ts";
import { parseFloatDtype } from "../src/engine/model/narrow.ts";
import { weightsHash } from "../src/engine/model/weights-hash.ts";
import { listCheckpoints } from "../src/engine/runs/checkpoint.ts";
import { folderStore } from "../src/engine/runs/folder-store.ts";
import { openRun, type RunFolder } from "../src/engine/runs/run-folder.ts";
import { readTrained, type TrainedTensors } from "../src/engine/runs/trained.ts";
import { one, type Parsed, parseArguments, runTool } from "./lib/arguments.ts";
import { nodeFolder, nodeFolders } from "./lib/node-files.ts";
import { openNodeDevice } from "./lib/node-gpu.ts";
import { type OutFolder, writeOut } from "./lib/out-folder.ts";

const FORMATS = ["peft", "merged", "tfevents", "csv", "trl", "sa2va"] as const;
type Format = (typeof FORMATS)[number];

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
    json: { takes: 0 },
  });
  const format = FORMATS.find((known) => known === one(parsed, "format"));
  if (format === undefined) {
    throw new LabError("bad-input", `--format must be one of ${FORMATS.join(", ")}`, { subject: "format" });
  }
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
  const trained = (): Promise<TrainedTensors> => readTrained(run.store, run.id, stepOf(parsed), sideOf(parsed));
  if (format === "csv") return await out.add(csvFiles(run));
  if (format === "tfevents") return await out.add(tfeventsFiles(run));
  if (format === "peft") return await out.add(adapterFiles(run.manifest(), await trained()));
  if (format === "trl") {
    const has = (await listCheckpoints(run.store, run.id)).length > 0;
    return await out.add(trlFiles(run, has ? await trained() : null));
  }
  if (format === "sa2va") {
    const model = one(parsed, "model");
    const template = model === undefined ? null : templateOf(model);
    return await out.add(sa2vaFiles(run, await trained(), template, await samplesOf(parsed)));
  }
  await writeMerged(parsed, run, await trained(), out);
}

async function writeMerged(parsed: Parsed, run: RunFolder, trained: TrainedTensors, out: OutFolder): Promise<void> {
  const base = await nodeFolder(needed(parsed, "model"));
  const { model, id } = run.manifest();
  if ((await weightsHash(base)) !== model.hash) {
    throw new LabError("bad-input", `Run "${id}" was trained on ${model.name}; --model names another checkpoint`, {
      subject: "model",
    });
  }
  const named = one(parsed, "dtype");
  const dtype = named === undefined ? null : parseFloatDtype(named);
  await out.add(
    mergedFiles(base, trained, {
      dtype,
      onProgress: (done, total) => {
        if (done === total || done % Math.ceil(total / 10) === 0) say(`${done} of ${total} tensors`);
      },
    }),
  );
  const device = await openNodeDevice();
  try {
    const check = await checkMerged(base, trained, await nodeFolder(out.path), dtype);
    device.check();
    say(
      `read back: next-token scores differ by ${check.tokens.toExponential(1)}, mask logits by ` +
        `${check.masks.toExponential(1)} (allowed ${check.tolerance})`,
    );
  } finally {
    device.close();
  }
  await out.add(below("adapter", adapterFiles(run.manifest(), trained)));
}

function needed(parsed: Parsed, name: string): string {
  const value = one(parsed, name);
  if (value === undefined) throw new LabError("bad-input", `--${name} DIR is needed`, { subject: name });
  return value;
}

function stepOf(parsed: Parsed): number | null {
  const text = one(parsed, "step");
  if (text === undefined) return null;
  if (/^\d+$/.test(text)) return Number(text);
  throw new LabError("bad-input", `--step must be the number of a checkpoint, not "${text}"`, { subject: "step" });
}

function sideOf(parsed: Parsed): "policy" | "ema" {
  const side = one(parsed, "weights") ?? "policy";
  if (side === "policy" || side === "ema") return side;
  throw new LabError("bad-input", `--weights must be policy or ema, not "${side}"`, { subject: "weights" });
}

/** A run folder, or the only run inside the folder that a training left. */
async function openRunAt(directory: string): Promise<RunFolder> {
  const folder = await nodeFolder(directory);
  const manifests = folder.paths.filter((path) => /^([^/]+\/)?run\.json$/.test(path));
  const path = manifests.includes("run.json") ? "run.json" : manifests[0];
  if (path === undefined || (path !== "run.json" && manifests.length > 1)) {
    const why = path === undefined ? "holds no run.json" : `holds ${manifests.length} runs; name one of them`;
    throw new LabError("bad-input", `${directory} ${why}`, { subject: directory });
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

/** The folder may have been renamed; the manifest knows the run's own name. */
function runIdOf(file: string): string {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new LabError("bad-input", `${file} is not a readable JSON file`, { subject: file, cause });
  }
  const id = (value as { id?: unknown } | null)?.id;
  if (typeof id === "string" && id !== "") return id;
  throw new LabError("bad-input", `${file} names no run`, { subject: file });
}

function templateOf(model: string): string | null {
  try {
    const config = JSON.parse(readFileSync(join(model, "config.json"), "utf8")) as { template?: unknown };
    return typeof config.template === "string" ? config.template : null;
  } catch (cause) {
    throw new LabError("bad-input", `${model} has no readable config.json`, { subject: model, cause });
  }
}

async function samplesOf(parsed: Parsed): Promise<ExportSamples | null> {
  const shards = parsed.get("shards");
  if (shards === undefined) return null;
  const set = await openRegionSet(await nodeFolders(shards));
  say(`${set.summaries.length} rows, ${set.skipped.length} skipped`);
  return async function* rows(): AsyncGenerator<RegionSample> {
    for (const { index } of set.summaries) yield await set.sample(index);
  };
}
