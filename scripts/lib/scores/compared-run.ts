/** A stored run as a row of `npm run compare`, and the table of such rows. */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseJson } from "../../../src/engine/bytes/json.ts";
import { rowsHash } from "../../../src/engine/data/open-rows.ts";
import { badInput } from "../../../src/engine/errors.ts";
import { LOOP_IDS, type LoopId } from "../../../src/engine/rl/loops/abouts.ts";
import { bestOf } from "../../../src/engine/runs/checkpoint/best-checkpoint.ts";
import { listCheckpoints } from "../../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import { fewPicturesText } from "../../../src/engine/runs/evaluations/difference-text.ts";
import {
  lackingText,
  reportPictures,
  SCORES,
  type Score,
  type ScoreId,
  scoreOf,
  selectionName,
} from "../../../src/engine/runs/evaluations/evaluation-scores.ts";
import {
  type EvalReport,
  type JudgeUse,
  readEvaluations,
  type Selection,
} from "../../../src/engine/runs/evaluations/evaluations.ts";
import { parseManifest } from "../../../src/engine/runs/manifest.ts";
import { parseMetricsLine } from "../../../src/engine/runs/numbers-json.ts";
import type { StepMetrics } from "../../../src/engine/runs/rollouts/records.ts";
import { markedDifference } from "../../../src/plugins/sweep/table.ts";
import { nodeStore } from "../node/node-store.ts";

export interface ComparedRun {
  readonly run: string;
  readonly seed: number;
  readonly splitSeed: number;
  /** The evaluation to compare with the start. */
  readonly step: number;
  readonly pictures: number;
  /** Report rows, and a hash of their ids and pictures: runs with the same hash are scored on the same rows. */
  readonly n: number;
  readonly rowsHash: string;
  readonly maskPolicy: string;
  /** Whether the judge's verdicts are part of the run reward. */
  readonly judge: JudgeUse;
  /** Rows of each score, its mean at the start and its difference, all over the same rows. */
  readonly rows: Readonly<Partial<Record<ScoreId, number>>>;
  readonly start: Readonly<Partial<Record<ScoreId, number>>>;
  readonly difference: Readonly<Partial<Record<ScoreId, NonNullable<Score["difference"]>>>>;
  /** The best checkpoint and the score that chose it, computed from rows that no other number here uses. */
  readonly best: { readonly step: number; readonly by: string; readonly selection: Selection | null } | null;
  /** Mean share of zero-spread groups of each loop over the run; absent when the loop did not run. */
  readonly zeroSpread: Readonly<Record<string, number>>;
  /** Mean norm of each module's gradient before clipping. */
  readonly gradNorm: Readonly<Record<string, number>>;
  /** Median seconds of a step. */
  readonly stepTime: number;
  readonly evaluations: readonly EvalReport[];
}

/**
 * @param folder of the run
 * @param at the evaluation to compare with the start: the newest, or the best checkpoint's
 * @returns a sentence if there is nothing to compare
 * @throws LabError("bad-input") naming a file that is damaged
 */
export async function comparedRun(folder: string, at: "last" | "best"): Promise<ComparedRun | string> {
  const [store, id] = [nodeStore(dirname(folder)), basename(folder)];
  const path = join(folder, "run.json");
  const parsed = parseManifest(parseJson(readFileSync(path, "utf8"), path));
  if ("problem" in parsed) throw badInput(`${path}: ${parsed.problem}`, path);
  const { config } = parsed.manifest;
  const evaluations = await readEvaluations(store, id);
  const chosen = bestOf(evaluations, await listCheckpoints(store, id));
  const shown = at === "last" ? evaluations.at(-1) : evaluations.find(({ report }) => report.step === chosen?.step);
  if (shown === undefined) return evaluations.length === 0 ? "has no evaluation" : "has no best checkpoint";
  const { report } = shown;
  if (report.difference === null) return "has no evaluation to compare with an earlier one";
  const metrics = await readMetrics(join(folder, "metrics.jsonl"));
  const means = (pattern: RegExp): Record<string, number> => {
    const names = new Set(metrics.flatMap((row) => Object.keys(row).filter((name) => pattern.test(name))));
    return Object.fromEntries([...names].map((name) => [name, mean(metrics.flatMap((row) => row[name] ?? []))]));
  };
  const times = metrics.flatMap((row) => row.step_time ?? []).sort((a, b) => a - b);
  const reported = shown.rows.filter(({ part }) => part !== "selection");
  return {
    run: id,
    seed: config.seed,
    splitSeed: config.splitSeed,
    step: report.step,
    pictures: reportPictures(shown.rows),
    n: report.n,
    rowsHash: (await rowsHash(reported.map((row) => [row.rowId, row.imageId]))).slice(0, 16),
    maskPolicy: report.maskPolicy,
    judge: report.reward.judge,
    rows: scores(report, ({ n, difference }) => (difference === null ? null : n)),
    start: scores(report, ({ start }) => start),
    difference: scores(report, ({ difference }) => difference),
    best: chosen === null ? null : { ...chosen, by: selectionName(report) },
    zeroSpread: means(/^loop\d\/frac_reward_zero_std$/),
    gradNorm: means(/^grad_norm\/[^/]+$/),
    stepTime: times[Math.floor(times.length / 2)] ?? Number.NaN,
    evaluations: evaluations.map((one) => one.report),
  };
}

function scores<T>(report: EvalReport, of: (score: Score) => T | null): Partial<Record<ScoreId, T>> {
  const found = SCORES.flatMap((id) => {
    const score = scoreOf(report, id);
    const value = score === null ? null : of(score);
    return value === null ? [] : [[id, value] as const];
  });
  return Object.fromEntries(found) as Partial<Record<ScoreId, T>>;
}

/** Complete lines of the file; a line that a crash truncated has no line break. */
async function readMetrics(path: string): Promise<StepMetrics[]> {
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line, n) => parseMetricsLine(line, `${path} line ${n + 1}`));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** A Markdown table, and sentences about it. */
export function compareTable(rows: readonly ComparedRun[]): string {
  const shown = SCORES.filter((id) => rows.some(({ difference }) => difference[id] !== undefined));
  const spread = (loop: LoopId): string => `loop${loop}/frac_reward_zero_std`;
  const loops = LOOP_IDS.filter((loop) => loop <= 2 || rows.some(({ zeroSpread }) => spread(loop) in zeroSpread));
  const zeroSpread = `zero spread ${loops.join(" / ")}`;
  const head = ["run", "seed", "step", "report rows", "best checkpoint", ...shown, zeroSpread, "s a step"];
  const body = rows.map((row) => [
    row.run,
    row.seed,
    row.step,
    row.n,
    bestText(row),
    ...shown.map((id) => {
      const difference = row.difference[id];
      if (difference === undefined) return "–";
      return `${row.start[id]?.toFixed(3)} ${markedDifference(difference, row.pictures)}`;
    }),
    loops.map((loop) => row.zeroSpread[spread(loop)]?.toFixed(2) ?? "–").join(" / "),
    row.stepTime.toFixed(2),
  ]);
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  const norms = rows.map(({ run, gradNorm }) => {
    const each = Object.entries(gradNorm).map(
      ([name, value]) => `${name.slice("grad_norm/".length)} ${value.toFixed(3)}`,
    );
    return `${run}: ${each.join(", ")}`;
  });
  const notes = rows.flatMap(({ run, judge, pictures, n, rows: scored }) => {
    const lacking = shown
      .filter((id) => (scored[id] ?? n) < n)
      .map((id) => `${id}: ${lackingText(scored[id] ?? n, n)}`);
    const without = judge === "left-out" ? "run rewards are without judge" : "";
    const known = [without, ...lacking, fewPicturesText(pictures)];
    return known.filter((note) => note !== "").map((note) => `${run}: ${note}`);
  });
  const gradients = norms.length === 0 ? [] : ["Gradient norms: ", ...norms];
  return [line(head), line(head.map(() => "---")), ...body.map(line), "", ...notes, ...gradients].join("\n");
}

function bestText({ best }: ComparedRun): string {
  if (best === null) return "–";
  const rows = best.selection === null ? "" : ` of ${best.selection.n} selection rows`;
  return `step ${best.step} by ${best.by}${rows}`;
}

/** A sentence if the runs are not scored on the same rows; else null. */
export function differentRows(rows: readonly ComparedRun[]): string | null {
  const groups = new Map<string, string[]>();
  for (const { rowsHash, run } of rows) groups.set(rowsHash, [...(groups.get(rowsHash) ?? []), run]);
  if (groups.size < 2) return null;
  const each = [...groups.values()].map((runs) => runs.join(", "));
  return `These runs are not scored on the same rows, so their scores cannot be compared: ${each.join(" | ")}`;
}
