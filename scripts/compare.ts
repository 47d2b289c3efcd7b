/**
 * What runs did to held-out rows, as one table: each run's start, its paired difference at the end with the 95 %
 * bootstrap interval, the share of groups that taught nothing, and the mean gradient norm of each module.
 *
 *   npm run compare -- RUN… [--json] [--curve FILE]
 *
 * RUN is a run folder, or a folder of run folders. --curve writes the evaluations over the steps as an SVG picture.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { LabError } from "../src/engine/errors.ts";
import { EVAL_METRICS, type EvalMetric, type EvalReport } from "../src/engine/runs/evaluations.ts";
import { one, parseArguments, runTool } from "./lib/arguments.ts";
import { curveSvg } from "./lib/curve-svg.ts";

interface RunRow {
  readonly run: string;
  readonly seed: number;
  readonly step: number;
  readonly n: number;
  readonly start: Readonly<Record<EvalMetric, number>>;
  readonly difference: NonNullable<EvalReport["difference"]>;
  /** Mean share of zero-spread groups of each loop over the run; absent when the loop did not run. */
  readonly zeroSpread: Readonly<Record<string, number>>;
  /** Mean norm of each module's gradient before clipping. */
  readonly gradNorm: Readonly<Record<string, number>>;
  /** Median seconds a step. */
  readonly stepTime: number;
  readonly evaluations: readonly EvalReport[];
}

function runFolders(path: string): string[] {
  if (!existsSync(path)) throw new LabError("bad-input", `${path} does not exist`, { subject: path });
  if (existsSync(join(path, "run.json"))) return [path];
  const inside = readdirSync(path)
    .map((name) => join(path, name))
    .filter((folder) => statSync(folder).isDirectory());
  return inside.flatMap(runFolders);
}

function lines<T>(path: string): T[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}

function readRun(folder: string): RunRow | null {
  const evaluations = lines<{ report: EvalReport }>(join(folder, "eval.jsonl")).map(({ report }) => report);
  const [first, last] = [evaluations[0], evaluations.at(-1)];
  if (first === undefined || last === undefined || last.difference === null) return null;
  const manifest = JSON.parse(readFileSync(join(folder, "run.json"), "utf8")) as { config: { seed: number } };
  const metrics = lines<Record<string, number>>(join(folder, "metrics.jsonl"));
  const means = (pattern: RegExp): Record<string, number> => {
    const names = new Set(metrics.flatMap((row) => Object.keys(row).filter((name) => pattern.test(name))));
    return Object.fromEntries([...names].map((name) => [name, mean(metrics.flatMap((row) => row[name] ?? []))]));
  };
  const times = metrics.flatMap((row) => row.step_time ?? []).sort((a, b) => a - b);
  return {
    run: basename(folder),
    seed: manifest.config.seed,
    step: last.step,
    n: last.n,
    start: first.means,
    difference: last.difference,
    zeroSpread: means(/^loop[12]\/frac_reward_zero_std$/),
    gradNorm: means(/^grad_norm\/[^/]+$/),
    stepTime: times[Math.floor(times.length / 2)] ?? Number.NaN,
    evaluations,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

const signed = (value: number): string => `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(3)}`;

function table(rows: readonly RunRow[]): string {
  const head = ["run", "seed", "steps", "rows", ...EVAL_METRICS, "zero spread 1 / 2", "s a step"];
  const body = rows.map((row) => [
    row.run,
    row.seed,
    row.step,
    row.n,
    ...EVAL_METRICS.map((metric) => {
      const { mean: gain, low, high } = row.difference[metric];
      const sure = low > 0 || high < 0;
      const text = `${signed(gain)} (${signed(low)} to ${signed(high)})`;
      return `${row.start[metric].toFixed(3)} ${sure ? `**${text}**` : text}`;
    }),
    [1, 2].map((loop) => row.zeroSpread[`loop${loop}/frac_reward_zero_std`]?.toFixed(2) ?? "–").join(" / "),
    row.stepTime.toFixed(2),
  ]);
  const norms = rows.map(
    (row) =>
      `${row.run}: ${Object.entries(row.gradNorm)
        .map(([name, value]) => `${name.slice("grad_norm/".length)} ${value.toFixed(3)}`)
        .join(", ")}`,
  );
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...body.map(line), "", "Gradient norms: ", ...norms].join("\n");
}

await runTool(async () => {
  const words = process.argv.slice(2);
  const options = words.findIndex((word) => word.startsWith("--"));
  const paths = options < 0 ? words : words.slice(0, options);
  const parsed = parseArguments(options < 0 ? [] : words.slice(options), { json: { takes: 0 }, curve: { takes: 1 } });
  if (paths.length === 0) throw new LabError("bad-input", "Name at least one run folder", { subject: "RUN" });
  const rows = paths.flatMap(runFolders).flatMap((folder) => {
    const row = readRun(folder);
    if (row === null) process.stderr.write(`${folder} has fewer than two evaluations and is left out\n`);
    return row === null ? [] : [row];
  });
  const curve = one(parsed, "curve");
  if (curve !== undefined) {
    writeFileSync(curve, curveSvg(rows.map(({ seed, evaluations }) => ({ name: `seed ${seed}`, evaluations }))));
  }
  if (parsed.has("json")) for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
  else process.stdout.write(`${table(rows)}\n`);
  return rows.length > 0 ? 0 : 1;
});
