/** TensorBoard events of a run: metrics, evaluations, settings, and rollouts as pictures and captions. */
import type { EventImage, RunEvent } from "../formats/tfevents.ts";
import { HELD_OUT_LOOPS, LOOP_IDS } from "../rl/loops/abouts.ts";
import { type Alarm, readAlarms } from "./alarms.ts";
import { metricsCsv, tableCsv } from "./csv.ts";
import {
  EVAL_METRICS,
  type EvalReport,
  REWARD_METRICS,
  readEvaluations,
  type StoredEvaluation,
} from "./evaluations/evaluations.ts";
import { withAliases } from "./metrics/metric-table.ts";
import type { GroupRecord, StepMetrics } from "./rollouts/records.ts";
import { groupPicture, type PictureOf } from "./rollouts/rollout-picture.ts";
import type { RunFolder } from "./run-folder.ts";
import { runParts } from "./run-parts.ts";

/** Number of steps whose rollouts are drawn, including the first and the last. */
const DRAWN_STEPS = 24;
/** Number of held-out rows whose captions are listed. */
const LISTED_ROWS = 12;

/**
 * Events in the order of their steps. The time of a step is the run's start plus the `step_time` of all steps up to it.
 * @param start Unix seconds
 * @param pictureOf null draws masks without the picture
 */
export async function runEvents(run: RunFolder, start: number, pictureOf: PictureOf | null): Promise<RunEvent[]> {
  const metrics = metricEvents(start, (await run.readMetrics()).map(withAliases));
  const timeOf = (step: number): number => metrics.findLast((event) => event.step <= step)?.wallTime ?? start;
  const { config } = run.manifest();
  const texts = { settings: table(["setting", "value"], Object.entries(config)) };
  const settings = { wallTime: start, step: 0, texts, settings: config };
  const evaluations = (await readEvaluations(run.store, run.id)).map(
    (stored): RunEvent => ({
      wallTime: timeOf(stored.report.step),
      step: stored.report.step,
      values: evaluationValues(stored.report),
      texts: { "eval/captions": rowsText(stored) },
    }),
  );
  const rollouts: RunEvent[] = [];
  for await (const { group, image } of drawnGroups(run, pictureOf)) {
    rollouts.push({
      wallTime: timeOf(group.step),
      step: group.step,
      images: { [`loop${group.loop}/rollouts`]: image },
      texts: { [`loop${group.loop}/captions`]: groupText(group) },
    });
  }
  const alarms = await readAlarms(run.store, run.id);
  const alarmed = [...new Set(alarms.map(({ step }) => step))].map((step): RunEvent => {
    const own = alarms.filter((alarm) => alarm.step === step);
    return { wallTime: timeOf(step), step, texts: { alarms: alarmsText(own) } };
  });
  return [settings, ...metrics, ...evaluations, ...rollouts, ...alarmed].sort((a, b) => a.step - b.step);
}

/**
 * The first group of each loop with its picture, at steps spread over the run.
 * @param pictureOf as in `runEvents`
 */
export async function* drawnGroups(
  run: RunFolder,
  pictureOf: PictureOf | null,
): AsyncGenerator<{ readonly group: GroupRecord; readonly image: EventImage }> {
  for (const step of spread(await run.groupSteps(), DRAWN_STEPS)) {
    const groups = await run.readGroups(step);
    for (const loop of LOOP_IDS) {
      const group = groups.find((own) => own.loop === loop && own.rollouts.length > 0);
      if (group === undefined) continue;
      const photo = pictureOf === null ? null : await pictureOf(group.rowId, group.rollouts[0]?.imageId ?? "");
      yield { group, image: groupPicture(group, photo) };
    }
  }
}

export function metricEvents(
  start: number,
  rows: readonly StepMetrics[],
): (RunEvent & { readonly values: StepMetrics })[] {
  let wallTime = start;
  return rows.map((row) => {
    const { step, ...values } = row;
    const seconds = row.step_time ?? 0;
    if (seconds > 0 && Number.isFinite(seconds)) wallTime += seconds;
    return { wallTime, step: step ?? 0, values };
  });
}

/** Finite numbers of an evaluation by name: means with the ends of their intervals, all under "eval/". */
export function evaluationValues(report: EvalReport): Record<string, number> {
  const values: Record<string, number> = {};
  for (const [name, mean] of Object.entries(report.means)) {
    const [low, high] = report.ci[name as keyof EvalReport["ci"]] ?? [];
    Object.assign(values, { [`eval/${name}`]: mean, [`eval/${name}/low`]: low, [`eval/${name}/high`]: high });
  }
  for (const [name, score] of Object.entries(report.segmentation ?? {})) values[`eval/${name}`] = score.value;
  for (const [name, score] of Object.entries(report.reward?.scores ?? {})) {
    if (score === null) continue;
    const { mean, low, high } = score;
    Object.assign(values, { [`eval/${name}`]: mean, [`eval/${name}/low`]: low, [`eval/${name}/high`]: high });
  }
  const chosen = report.selection?.value;
  if (chosen !== undefined) Object.assign(values, { "eval/selection": chosen });
  // Values that were not finite are null in the stored evaluation.
  return Object.fromEntries(Object.entries(values).filter(([, value]) => Number.isFinite(value)));
}

function alarmsText(alarms: readonly Alarm[]): string {
  const rows = alarms.map(({ severity, id, message, rollouts = [] }) => [severity, id, message, rollouts.join(" ")]);
  return table(["severity", "alarm", "message", "rollouts"], rows);
}

function groupText({ rollouts }: GroupRecord): string {
  const first = rollouts[0];
  const rows = rollouts.map(({ index, reward, advantage, caption, captionPrime }) => [
    index,
    reward,
    advantage,
    captionPrime ?? caption,
  ]);
  return `Row ${cell(first?.rowId)}: ${cell(first?.referenceCaption)}\n\n${table(["rollout", "reward", "advantage", "caption"], rows)}`;
}

function rowsText({ rows }: StoredEvaluation): string {
  const listed = rows
    .filter(({ part }) => part !== "selection")
    .slice(0, LISTED_ROWS)
    .map((row) => {
      const scores = HELD_OUT_LOOPS.map(({ id }) => row[`loop${id}_greedy`]);
      return [row.rowId, row.captionGreedy, row.captionPrime, ...scores, row.grounding_iou];
    });
  const scores = HELD_OUT_LOOPS.map(({ id, score }) => `loop ${id} ${score}`);
  return table(["row", "caption", "caption of the found mask", ...scores, "grounding IoU"], listed);
}

/** A Markdown table. */
function table(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const line = (cells: readonly unknown[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(names), line(names.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Text of a cell: one line, without characters that end the cell. */
function cell(value: unknown): string {
  const text = typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value ?? "");
  return text.replace(/[\\|`*_<>[\]]/g, "\\$&").replace(/\s+/g, " ");
}

/** At most `count` items, evenly spread over the list, including the first and the last. */
function spread<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items];
  return Array.from({ length: count }, (_, n) => items[Math.round((n * (items.length - 1)) / (count - 1))] as T);
}

// A run as tables for spreadsheets: metrics with evaluations, their rows, settings, alarms and rollouts.

/** Tables by file name, without evaluations if there are none. */
export async function runTables(run: RunFolder): Promise<Readonly<Record<string, string>>> {
  const evaluations = await readEvaluations(run.store, run.id);
  const alarms = await readAlarms(run.store, run.id);
  const metrics = withEvaluations((await run.readMetrics()).map(withAliases), evaluations);
  const alarmRows = alarms.map(({ step, severity, id, message, rollouts = [] }) => {
    return [step, severity, id, message, rollouts.join(" ")];
  });
  return {
    "alarms.csv": tableCsv(["step", "severity", "alarm", "message", "rollouts"], alarmRows),
    ...(evaluations.length > 0 && { "evaluations.csv": evaluationsCsv(evaluations) }),
    "metrics.csv": metricsCsv(metrics, runParts(run.manifest(), metrics.at(-1)?.step ?? 0)),
    "settings.csv": tableCsv(["setting", "value"], Object.entries(run.manifest().config)),
  };
}

/**
 * Metric rows with the numbers of the evaluation after the same step; an evaluation at a step without metrics has its
 * own row.
 */
function withEvaluations(
  rows: readonly StepMetrics[],
  evaluations: readonly StoredEvaluation[],
): readonly StepMetrics[] {
  const merged = new Map<number, StepMetrics>(rows.map((row) => [row.step ?? 0, row]));
  for (const { report } of evaluations) {
    merged.set(report.step, { step: report.step, ...merged.get(report.step), ...evaluationValues(report) });
  }
  return [...merged.values()].sort((a, b) => (a.step ?? 0) - (b.step ?? 0));
}

/** Every held-out row of every evaluation. */
function evaluationsCsv(evaluations: readonly StoredEvaluation[]): string {
  const texts = ["caption", "captionGreedy", "captionPrime"] as const;
  const rows = evaluations.flatMap(({ report, rows: scored }) =>
    scored.map((row) => [
      report.step,
      row.rowId,
      row.part,
      ...EVAL_METRICS.map((name) => row[name]),
      ...REWARD_METRICS.map((name) => row.rewards?.[name]),
      ...texts.map((name) => row[name]),
    ]),
  );
  const columns = ["caption", "caption_greedy", "caption_prime"];
  return tableCsv(["step", "row_id", "part", ...EVAL_METRICS, ...REWARD_METRICS, ...columns], rows);
}

/**
 * Rollouts of all stored groups.
 * @param pictureOf file name of a group's picture; "" for a group that is not drawn
 */
export async function rolloutsCsv(run: RunFolder, pictureOf: (group: GroupRecord) => string): Promise<string> {
  const columns = ["step", "loop", "row_id", "rollout", "reward", "advantage", "reference_caption", "caption"];
  const rows: (string | number | null)[][] = [];
  for (const step of await run.groupSteps()) {
    for (const group of await run.readGroups(step)) {
      const picture = pictureOf(group);
      for (const { loop, rowId, index, reward, advantage, referenceCaption, caption, captionPrime } of group.rollouts) {
        rows.push([step, loop, rowId, index, reward, advantage, referenceCaption, caption, captionPrime, picture]);
      }
    }
  }
  return tableCsv([...columns, "caption_prime", "picture"], rows);
}
