/**
 * npm run kill -- --where node|browser --kills N --seed S [--json]
 * npm run kill -- --every-call [--where node|browser|browser-without-move…] [--kind stop|torn|power|full|readonly|withdrawn…]
 *                 [--of run|library|export…] [--point N] [--json]
 *
 * Kills the process of a small run (SIGKILL) at moments drawn by the seed, resumes it, and compares metrics, rollouts and the
 * last checkpoint with those of a run that nobody disturbed.
 *
 * --every-call goes through all moments of a run of six steps instead: every change of its folder, and every call of its
 * store. --where chooses the file systems: Node's, and a model of the browser's private file system, also without `move`.
 * --kind chooses what happens: the process stops before a change, in the middle of one (torn), or with the power of the
 * machine, which takes unflushed bytes; storage is full, read-only or withdrawn from a call on, until the run has said so.
 * --of chooses what is interrupted: the run, what the list of runs does with it (rename, notes, delete, fork, take-over),
 * or an export in any format. Prints the number of points and those that differ, with the command that repeats one;
 * --point is its number.
 *
 * Exit 0: all runs are the same; 1: some differ; 2: a bad argument.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { one, type Parsed, parseArguments, refuseIdle, runTool, whole } from "../../scripts/lib/arguments.ts";
import { badInput } from "../../src/engine/errors.ts";
import { writeSmallModel } from "../support/small-model.ts";
import { browserPlace } from "./browser-place.ts";
import { EveryCall, KINDS, type Kind, type Point } from "./every-call/every-call.ts";
import { exportPoints } from "./every-call/exports.ts";
import { FILE_SYSTEMS, type FileSystemName } from "./every-call/folders.ts";
import { operationPoints } from "./every-call/operations.ts";
import { smallRun } from "./every-call/small-run.ts";
import { type Killed, killRuns } from "./kills.ts";
import { nodePlace } from "./node-place.ts";

const SPECS = {
  where: { takes: "many" },
  kills: { takes: 1 },
  seed: { takes: 1 },
  "every-call": { takes: 0 },
  kind: { takes: "many" },
  of: { takes: "many" },
  point: { takes: 1 },
  json: { takes: 0 },
} as const;

const OF = ["run", "library", "export"] as const;

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), SPECS);
  if (!parsed.has("every-call")) {
    refuseIdle(parsed, ["kind", "of", "point"], "without --every-call");
    return killsAtRandom(parsed);
  }
  refuseIdle(parsed, ["kills", "seed"], "with --every-call");
  return everyCall(parsed);
});

async function killsAtRandom(parsed: Parsed): Promise<number> {
  const where = one(parsed, "where") ?? "node";
  if (where !== "node" && where !== "browser") {
    throw badInput(`--where must be node or browser, not "${where}"`, "where");
  }
  const kills = whole(parsed, "kills", 1, 100_000, 5);
  const seed = whole(parsed, "seed", 0, 2 ** 31 - 1, 1);
  const json = parsed.has("json");
  const tell = (run: Killed): void => {
    const said = run.differences.length === 0 ? "the same" : run.differences.join("; ");
    process.stdout.write(`${json ? JSON.stringify(run) : `killed at ${run.kills.join(", then ")}: ${said}`}\n`);
  };
  const place = where === "node" ? nodePlace() : await browserPlace();
  try {
    const runs = await killRuns(place, kills, seed, tell);
    const other = runs.filter((run) => run.differences.length > 0).length;
    const total = runs.reduce((sum, run) => sum + run.kills.length, 0);
    if (!json) process.stdout.write(`${runs.length} runs with ${total} kills, ${other} differ\n`);
    return other === 0 ? 0 : 1;
  } finally {
    await place.close();
  }
}

/** The named values of an option, all of them by default. @throws LabError("bad-input") naming an unknown one */
function chosen<T extends string>(parsed: Parsed, name: string, known: readonly T[]): readonly T[] {
  return (parsed.get(name) ?? known).map((word) => {
    const found = known.find((one) => one === word);
    if (found === undefined) throw badInput(`--${name} must be one of ${known.join(", ")}, not "${word}"`, name);
    return found;
  });
}

async function everyCall(parsed: Parsed): Promise<number> {
  const wheres = chosen(parsed, "where", Object.keys(FILE_SYSTEMS) as FileSystemName[]);
  const kinds = chosen(parsed, "kind", KINDS);
  const of = chosen(parsed, "of", OF);
  const point = parsed.has("point") ? whole(parsed, "point", 0, 1e9, 0) : null;
  const json = parsed.has("json");
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  const model = mkdtempSync(join(tmpdir(), "lab-every-call-model-"));
  writeSmallModel(model);
  const run = await smallRun(model);
  let all = 0;
  try {
    for (const where of wheres) {
      const every = new EveryCall(run, where);
      for (const [what, kind] of of.flatMap((what) => kinds.map((kind) => [what, kind] as const))) {
        let [points, differ] = [0, 0];
        for await (const found of pointsOf(what, every, where, kind, (n) => point === null || n === point)) {
          points++;
          if (found.differences.length > 0) differ++;
          if (json) say(JSON.stringify({ of: what, ...found }));
          else if (found.differences.length > 0 || point !== null) {
            say(`${found.what}: ${found.differences.join("; ") || "the same"}`);
            say(`  npm run kill -- --every-call --where ${where} --of ${what} --kind ${kind} --point ${found.n}`);
          }
        }
        all += differ;
        if (!json) say(`${where}, ${what}, ${kind}: ${points} points, ${differ} differ`);
      }
    }
    return all === 0 ? 0 : 1;
  } finally {
    run.close();
    rmSync(model, { recursive: true });
  }
}

function pointsOf(
  what: (typeof OF)[number],
  every: EveryCall,
  where: FileSystemName,
  kind: Kind,
  only: (n: number) => boolean,
): AsyncGenerator<Point> {
  if (what === "run") return every.points(kind, only);
  return what === "library" ? operationPoints(every, where, kind, only) : exportPoints(every, where, kind, only);
}
