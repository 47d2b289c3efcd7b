/**
 * Compares runs by their held-out rows in one table: each run's start, its paired difference at the end with the 95 %
 * bootstrap interval, its best checkpoint and the score that chose it, the share of groups without a learning signal,
 * and the mean gradient norm of each module. Rows that chose the best checkpoint are in no other number.
 *
 *   npm run compare -- RUN… [--at last|best] [--json] [--curve FILE]
 *
 * RUN is a run folder, or a folder of run folders. --at best compares each run's best checkpoint instead of its last
 * evaluation. --curve writes the evaluations over the steps as an SVG picture.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { badInput } from "../src/engine/errors.ts";
import { curveSvg } from "../src/plugins/sweep/curve-svg.ts";
import { one, parseArguments, runTool, WORDS } from "./lib/arguments.ts";
import { nodeStore } from "./lib/node/node-store.ts";
import { type ComparedRun, comparedRun, compareTable, differentRows } from "./lib/scores/compared-run.ts";
import { intervalJson } from "./lib/step-line.ts";

function runFolders(path: string): string[] {
  if (!existsSync(path)) throw badInput(`${path} does not exist`, path);
  if (existsSync(join(path, "run.json"))) return [path];
  const inside = readdirSync(path)
    .map((name) => join(path, name))
    .filter((folder) => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true);
  return inside.flatMap(runFolders);
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), {
    [WORDS]: { takes: "many" },
    json: { takes: 0 },
    curve: { takes: 1 },
    at: { takes: 1 },
  });
  const paths = parsed.get(WORDS) ?? [];
  if (paths.length === 0) throw badInput("Name at least one run folder", "RUN");
  const at = one(parsed, "at") ?? "last";
  if (at !== "last" && at !== "best") throw badInput(`--at must be last or best, not "${at}"`, "at");
  const rows = [];
  const folders = paths.flatMap(runFolders);
  if (folders.length === 0) throw badInput(`${paths.join(", ")} holds no run.json`, "RUN");
  for (const folder of folders) {
    const row = await comparedRun(folder, at);
    if (typeof row === "string") process.stderr.write(`${folder} ${row} and is left out\n`);
    else rows.push(row);
  }
  if (rows.length === 0) return 1;
  const curve = one(parsed, "curve");
  if (curve !== undefined) {
    const distinct = new Set(rows.map(({ seed }) => seed)).size === rows.length;
    const name = (row: ComparedRun): string => (distinct ? `seed ${row.seed}` : row.run);
    const svg = curveSvg(rows.map((row) => ({ name: name(row), evaluations: row.evaluations })));
    await nodeStore(dirname(resolve(curve))).write(basename(curve), svg);
  }
  if (parsed.has("json")) for (const row of rows) process.stdout.write(`${intervalJson(row)}\n`);
  else process.stdout.write(`${compareTable(rows)}\n`);
  const different = differentRows(rows);
  if (different !== null) process.stderr.write(`${different}\n`);
  return 0;
});
