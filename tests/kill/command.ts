/**
 * npm run kill -- --where node|browser --kills N --seed S [--json]
 *
 * Kills the process of a small run (SIGKILL) at moments drawn by the seed, resumes it, and compares metrics, rollouts and the
 * last checkpoint with those of a run that nobody disturbed. Exit 0: all runs are the same; 1: some differ; 2: a bad argument.
 */
import { one, parseArguments, runTool, whole } from "../../scripts/lib/arguments.ts";
import { badInput } from "../../src/engine/errors.ts";
import { browserPlace } from "./browser-place.ts";
import { type Killed, killRuns } from "./kills.ts";
import { nodePlace } from "./node-place.ts";

const SPECS = { where: { takes: 1 }, kills: { takes: 1 }, seed: { takes: 1 }, json: { takes: 0 } } as const;

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), SPECS);
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
});
