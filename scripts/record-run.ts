/**
 * Makes a run folder the recorded run that the page shows before there is another: everything but its checkpoints.
 *
 *   npx tsx scripts/record-run.ts --run DIR [--out public/pocket/recorded]
 */
import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { LabError } from "../src/engine/errors.ts";
import { one, parseArguments, runTool } from "./lib/arguments.ts";
import { root } from "./lib/ensure.mjs";
import { writeFileList } from "./lib/file-list.ts";

const PARTS = ["run.json", "metrics.jsonl", "eval.jsonl", "rollouts"];

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), { run: { takes: 1 }, out: { takes: 1 } });
  const run = resolve(one(parsed, "run") ?? "");
  if (!existsSync(join(run, "run.json"))) {
    throw new LabError("bad-input", `--run ${run} holds no run.json`, { subject: "run" });
  }
  const out = one(parsed, "out") ?? join(root, "public", "pocket", "recorded");
  rmSync(out, { recursive: true, force: true });
  const place = join(out, basename(run));
  mkdirSync(place, { recursive: true });
  for (const part of PARTS) {
    if (existsSync(join(run, part))) cpSync(join(run, part), join(place, part), { recursive: true });
  }
  writeFileList(out);
  return 0;
});
