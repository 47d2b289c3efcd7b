/**
 * npm run parity -- --golden DIR [--checkpoint ADDRESS [--hub URL]] [--json] [--backend webgpu|cpu] [--storage f32|f16|q8|q4]
 *
 * Compares the engine with golden sets and prints the largest absolute and relative error of every array or case. DIR
 * is one golden folder or a folder of them; with --checkpoint the model's files come from that address. Exit 0:
 * everything compared is within its tolerance; 1: a miss; 2: a bad argument.
 */
import type { ByteFolder } from "../src/engine/bytes/source.ts";
import { requireConfig } from "../src/engine/config/parse.ts";
import { badInput, toLabError } from "../src/engine/errors.ts";
import { WEIGHT_STORAGES, type WeightStorage } from "../src/engine/gpu/packed/storage.ts";
import type { EngineDevice } from "../src/engine/gpu/runtime/device.ts";
import { type Backend, startBackend } from "../tools/parity/backend.ts";
import { loadDeps, type ScriptDeps } from "../tools/parity/deps.ts";
import { findGoldenSets, type GoldenSet } from "../tools/parity/kinds.ts";
import { NOT_COMPARED, type ParityRow } from "../tools/parity/row.ts";
import { withBudget } from "../tools/parity/storage-budget.ts";
import { one, parseArguments, runTool } from "./lib/arguments.ts";
import { remoteCheckpoint } from "./lib/checkpoint-source.ts";

interface Options {
  readonly golden: string;
  readonly json: boolean;
  readonly backend: Backend;
  readonly storage: WeightStorage;
  readonly checkpoint: string | undefined;
  readonly hub: string;
}

interface Tally {
  passed: number;
  failed: number;
  /** Recorded values that are not compared. */
  leftOut: number;
}

function readOptions(args: readonly string[]): Options {
  const parsed = parseArguments(args, {
    golden: { takes: 1 },
    json: { takes: 0 },
    backend: { takes: 1 },
    storage: { takes: 1 },
    checkpoint: { takes: 1 },
    hub: { takes: 1 },
  });
  const [golden, backend = "webgpu", wanted = "f32"] = ["golden", "backend", "storage"].map((name) =>
    one(parsed, name),
  );
  const named = one(parsed, "hub");
  const { hub } = requireConfig(named === undefined ? {} : { hub: named }, undefined, "command line");
  const storage = WEIGHT_STORAGES.find((known) => known === wanted);
  if (storage === undefined) {
    throw badInput(`--storage is "${wanted}", it must be one of ${WEIGHT_STORAGES.join(", ")}`);
  }
  if (golden === undefined) throw badInput("--golden DIR is missing: name a golden folder");
  if (backend !== "webgpu" && backend !== "cpu") throw badInput(`--backend is "${backend}", it must be webgpu or cpu`);
  if (storage !== "f32" && backend === "cpu") {
    throw badInput(`--storage ${storage} needs --backend webgpu: packed weights are read by GPU programs`);
  }
  return { golden, json: parsed.has("json"), backend, storage, checkpoint: one(parsed, "checkpoint"), hub };
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  const sets = await overCheckpoint(await findGoldenSets(options.golden), options);
  const needsDevice = sets.some((set) => set.kind.gpu);
  const device = needsDevice ? await startBackend(options.backend) : undefined;
  const { storage } = options;
  const deps: ScriptDeps = { ...(await loadDeps()), storage: { language: storage, towers: storage } };
  const total: Tally = { passed: 0, failed: 0, leftOut: 0 };
  for (const set of sets) await runSet(set, deps, options, device, total);
  const sum = total.passed + total.failed;
  if (options.json) console.log(JSON.stringify({ summary: { ...total, sets: sets.length } }));
  else
    console.log(
      `\n${total.passed} of ${sum} comparisons within tolerance in ${sets.length} golden set(s), ${total.failed} missed, ${total.leftOut} not compared`,
    );
  device?.close();
  return total.failed === 0 ? 0 : 1;
}

/** The sets, with the model's files replaced by those of a checkpoint on a server. */
async function overCheckpoint(sets: GoldenSet[], { checkpoint, hub }: Options): Promise<GoldenSet[]> {
  if (checkpoint === undefined) return sets;
  const models = sets.filter(({ kind }) => kind.name === "sa2va");
  if (models.length !== 1 || sets.length !== 1) {
    throw badInput("--checkpoint takes the place of one model: name one golden model with --golden", "checkpoint");
  }
  const { folder: remote } = await remoteCheckpoint(checkpoint, hub, (text) => console.error(text));
  return models.map((set) => {
    const paths = [...new Set([...set.folder.paths, ...remote.paths])].sort();
    return { ...set, folder: { paths, get: (path) => remote.get(path) ?? set.folder.get(path) } };
  });
}

async function runSet(
  set: GoldenSet,
  deps: ScriptDeps,
  options: Options,
  device: EngineDevice | undefined,
  total: Tally,
): Promise<void> {
  if (!options.json) console.log(`\n${set.path} (${set.kind.name})`);
  let rows = 0;
  for (const check of set.kind.modules) {
    try {
      for await (const row of await check.open(set.folder as ByteFolder, deps)) {
        device?.check();
        rows++;
        report(set, withBudget(row, options.storage), options.json, total);
      }
    } catch (thrown) {
      rows++;
      report(set, failure(check.name, toLabError(thrown).message), options.json, total);
    }
  }
  if (rows === 0) report(set, failure(set.kind.name, "nothing in this folder was compared"), options.json, total);
}

function failure(name: string, note: string): ParityRow {
  const worst = Number.POSITIVE_INFINITY;
  return { case: name, what: "run", maxAbs: worst, maxRel: worst, tolerance: "runs to the end", pass: false, note };
}

function report(set: GoldenSet, row: ParityRow, json: boolean, total: Tally): void {
  const skipped = row.tolerance === NOT_COMPARED;
  if (skipped) total.leftOut++;
  else if (row.pass) total.passed++;
  else total.failed++;
  if (json) {
    // JSON has no infinity, so an error that cannot be measured is null.
    console.log(JSON.stringify({ golden: set.path, ...row }));
    return;
  }
  const errors = `abs ${row.maxAbs.toExponential(2)}  rel ${row.maxRel.toExponential(2)}`;
  const note = row.note === undefined ? "" : `  ${row.note}`;
  console.log(
    `${skipped ? "SKIP" : row.pass ? "ok  " : "MISS"}  ${row.case}  ${row.what}  ${errors}  (${row.tolerance})${note}`,
  );
}

await runTool(main);
