/**
 * Copies a run folder, without its checkpoints, as the recorded run that the page shows until there is another run.
 *
 *   npx tsx scripts/record-run.ts --run DIR [--every N] [--out public/pocket/recorded]
 *
 * With --every, only the first and every Nth step keep their rollouts, and only the first and last evaluation keep
 * their sampled answers; curves and scores stay complete.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { badInput } from "../src/engine/errors.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { writeFileList } from "./lib/build/file-list.ts";
import { root } from "./lib/ensure.mjs";

/** An evaluation without the sampled answers of its rows. */
function withoutDraws(line: string): string {
  return JSON.stringify(JSON.parse(line), (key, value: unknown) => (key === "drawn" ? undefined : value));
}

const PARTS = ["run.json", "metrics.jsonl", "phases.jsonl", "eval.jsonl", "alarms.jsonl", "rollouts"];

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), {
    run: { takes: 1 },
    every: { takes: 1 },
    out: { takes: 1 },
  });
  const run = resolve(one(parsed, "run") ?? "");
  if (!existsSync(join(run, "run.json"))) throw badInput(`--run ${run} holds no run.json`, "run");
  const out = resolve(one(parsed, "out") ?? join(root, "public", "pocket", "recorded"));
  const every = whole(parsed, "every", 1, 1_000_000, 1);
  // The folder is replaced.
  if (`${run}/`.startsWith(`${out}/`) || `${out}/`.startsWith(`${run}/`)) {
    throw badInput(`--out ${out} and the run overlap; nothing was written`, out);
  }
  rmSync(out, { recursive: true, force: true });
  const place = join(out, basename(run));
  mkdirSync(place, { recursive: true });
  for (const part of PARTS) {
    if (existsSync(join(run, part))) cpSync(join(run, part), join(place, part), { recursive: true });
  }
  mkdirSync(join(place, "rollouts"), { recursive: true });
  for (const file of readdirSync(join(place, "rollouts"))) {
    const step = Number(/(\d+)\.arrow$/.exec(file)?.[1] ?? Number.NaN);
    if (step !== 1 && step % every !== 0) rmSync(join(place, "rollouts", file));
  }
  const evaluations = join(place, "eval.jsonl");
  if (every > 1 && existsSync(evaluations)) {
    const lines = readFileSync(evaluations, "utf8").trimEnd().split("\n");
    const kept = lines.map((line, at) => (at === 0 || at === lines.length - 1 ? line : withoutDraws(line)));
    writeFileSync(evaluations, `${kept.join("\n")}\n`);
  }
  writeFileList(out);
  return 0;
});
