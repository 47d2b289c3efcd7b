/**
 * npx tsx tests/scripts/stopped-evaluation.ts --data DIR… --model DIR [--adapter DIR] [--suite NAME] [--decoder NAME] [--rows N] [--kills N] [--seed S] --out DIR
 *
 * Evaluates the rows undisturbed, and once more killed at N random rows (5 by default) and continued each time. Prints the
 * rows at which it was killed and what differs in the report and the answers. Exit 0: nothing; 1: something.
 */
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { one, parseArguments, runTool, whole } from "../../scripts/lib/arguments.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import { badInput, LabError } from "../../src/engine/errors.ts";
import { uniform } from "../../src/engine/gpu/random.ts";

const OPTIONS = {
  data: { takes: "many" },
  model: { takes: 1 },
  adapter: { takes: 1 },
  decoder: { takes: 1 },
  suite: { takes: 1 },
  rows: { takes: 1 },
  kills: { takes: 1 },
  seed: { takes: 1 },
  out: { takes: 1 },
} as const;

/** Runs the tool; killed once it has done this many rows. @returns its exit code, null when it was killed */
function evaluate(words: readonly string[], killAt: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const tool = spawn(process.execPath, ["--import", "tsx", join(root, "scripts", "eval.ts"), ...words], {
      cwd: root,
    });
    let said = "";
    tool.stderr.on("data", (text: Buffer) => {
      said = (said + text.toString()).slice(-4000);
      const done = Number([...said.matchAll(/^(\d+) of \d+ rows$/gm)].at(-1)?.[1] ?? 0);
      if (done >= killAt) tool.kill("SIGKILL");
    });
    tool.stdout.resume();
    tool.on("error", reject);
    tool.on("close", (code) => {
      if (code === 0 || code === null) resolve(code);
      else reject(new LabError("internal", `npm run eval ended with ${code}: ${said.slice(-300)}`));
    });
  });
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const need = (name: string): readonly string[] => {
    const values = parsed.get(name);
    if (values === undefined) throw badInput(`--${name} is needed`, name);
    return values;
  };
  const [out] = need("out") as [string];
  const rows = whole(parsed, "rows", 2, 1e6, 500);
  const [kills, seed] = [whole(parsed, "kills", 1, 100, 5), whole(parsed, "seed", 0, 2 ** 31 - 1, 1)];
  const named = (name: string) => (parsed.has(name) ? [`--${name}`, ...need(name)] : []);
  const same = [
    ...["data", "model"].flatMap((name) => [`--${name}`, ...need(name)]),
    ...named("adapter"),
    ...named("decoder"),
  ];
  const words = ["--suite", one(parsed, "suite") ?? "masks", "--answers", "forced", "--rows", `${rows}`, ...same];
  // Apart, so that neither counts as another evaluation of the other's rows.
  const places = ["whole", "stopped"].map((name) => {
    mkdirSync(join(out, name), { recursive: true });
    return join(out, name, "evaluation");
  }) as [string, string];
  await evaluate([...words, "--out", places[0]], Number.POSITIVE_INFINITY);
  const at = Array.from({ length: kills }, (_, kill) =>
    Math.floor(rows * uniform({ seed, step: 0, loop: 0, row: kill, rollout: 0, position: 0, stream: 0 })),
  ).sort((a, b) => a - b);
  let [killed, ended] = [0, false];
  for (const row of [...at, Number.POSITIVE_INFINITY]) {
    if (ended) break;
    ended = (await evaluate([...words, "--out", places[1]], Math.max(1, row))) === 0;
    if (!ended) killed++;
  }
  process.stdout.write(`killed ${killed} times of ${kills}, at rows ${at.join(", ")}\n`);
  const [report, other] = places.map((place) => readFileSync(join(place, "report.json"), "utf8"));
  const [lines, others] = places.map((place) =>
    readFileSync(join(place, "rows.jsonl"), "utf8").trim().split("\n").sort(),
  ) as [string[], string[]];
  const differ = lines.filter((line, at) => line !== others[at]).length + Math.abs(lines.length - others.length);
  process.stdout.write(
    `report ${report === other ? "equal" : "differs"}, ${differ} of ${lines.length} answers differ\n`,
  );
  return report === other && differ === 0 ? 0 : 1;
});
