/**
 * npm run fuzz -- --target NAME|all --cases N --seed S [--case N] [--keep DIR] [--json]
 *
 * Feeds damaged input to every reader. A reader must return a valid value or one sentence; a raw error, an invalid
 * value, more than five seconds of processor time or more than a gigabyte is a fault. Faults are minimised and printed
 * with the command that repeats them; --keep writes their inputs into a folder. Exit 0: no fault; 1: faults; 2: a bad
 * argument.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { one, parseArguments, runTool, whole } from "../../scripts/lib/arguments.ts";
import { badInput } from "../../src/engine/errors.ts";
import { type Fault, faultText, fuzz } from "./fuzz.ts";
import { TARGET_NAMES, type TargetName } from "./targets/all.ts";
import { watched } from "./watch.ts";

const SPECS = {
  target: { takes: 1 },
  cases: { takes: 1 },
  seed: { takes: 1 },
  case: { takes: 1 },
  keep: { takes: 1 },
  json: { takes: 0 },
} as const;

function targetsOf(name: string): readonly TargetName[] {
  if (name === "all") return TARGET_NAMES;
  const found = TARGET_NAMES.find((own) => own === name);
  if (found !== undefined) return [found];
  throw badInput(`--target must be all or one of ${TARGET_NAMES.join(", ")}, not "${name}"`, "target");
}

function keep(folder: string, { target, seed, case: number, files }: Fault): void {
  for (const [path, bytes] of Object.entries(files)) {
    const to = join(folder, `${target}-${seed}-${number}`, path);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, bytes);
  }
}

async function main(): Promise<number> {
  const parsed = parseArguments(process.argv.slice(2), SPECS);
  const targets = targetsOf(one(parsed, "target") ?? "all");
  const seed = whole(parsed, "seed", 0, 2 ** 31 - 1, 1);
  const only = one(parsed, "case") === undefined ? null : whole(parsed, "case", 0, 1e9, 0);
  const from = only ?? 0;
  const to = only === null ? whole(parsed, "cases", 1, 1e9, 300) : only + 1;
  const folder = one(parsed, "keep");
  const json = parsed.has("json");
  const reader = watched();
  let faults = 0;
  for (const target of targets) {
    const outcome = await fuzz(
      target,
      {
        seed,
        from,
        to,
        onFault: (fault) => {
          faults++;
          if (folder !== undefined) keep(folder, fault);
          const { files: _, ...told } = fault;
          process.stdout.write(`${json ? JSON.stringify({ kind: "fault", fault: told }) : faultText(fault)}\n`);
        },
      },
      reader,
    );
    const { faults: found, ...counts } = outcome;
    const text = `${target}: ${counts.cases} cases, ${counts.accepted} read, ${counts.refused} refused, ${found.length} faults`;
    process.stdout.write(`${json ? JSON.stringify({ kind: "target", ...counts, faults: found.length }) : text}\n`);
  }
  await reader.close();
  return faults === 0 ? 0 : 1;
}

await runTool(main);
