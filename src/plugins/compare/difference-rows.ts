/** Differences between runs, as rows of a table with one column per run. */

import { evalTexts } from "../../app/components/held-out-texts.ts";
import { settingText } from "../../app/screens/runs/run-list.ts";
import { counted, fixed, NONE } from "../../app/styles/format.ts";
import { activeLoops } from "../../engine/config/derived.ts";
import { configDifference, SETTING_KEYS } from "../../engine/config/parse.ts";
import { SETTING_GROUPS, type Setting } from "../../engine/config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../engine/config/table.ts";
import { rewardTerms } from "../../engine/rewards/composer/plan.ts";
import type { TermName } from "../../engine/rewards/terms/registry.ts";
import { aboutLoop, LOOP_IDS, type LoopId } from "../../engine/rl/loops/abouts.ts";
import type { BestCheckpoint } from "../../engine/runs/checkpoint/best-checkpoint.ts";
import { differenceText } from "../../engine/runs/evaluations/difference-text.ts";
import {
  lackingText,
  rowScoreOf,
  type ScoreId,
  SELECTION_NAMES,
  scoreOf,
} from "../../engine/runs/evaluations/evaluation-scores.ts";
import type { EvalReport, RowScores, StoredEvaluation } from "../../engine/runs/evaluations/evaluations.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import { settingsOf } from "../../engine/runs/run-parts.ts";

export interface ComparedRow {
  readonly group: string;
  readonly label: string;
  readonly values: readonly string[];
}

/** Model, data and settings that differ between the runs; settings in table order. */
export function differenceRows(runs: readonly RunManifest[]): ComparedRow[] {
  const rows: ComparedRow[] = [];
  // Two folders may have the same name.
  for (const [label, part] of [
    ["Model", "model"],
    ["Data", "data"],
  ] as const) {
    if (new Set(runs.map((run) => run[part].hash)).size > 1) {
      rows.push({ group: "Training data", label, values: runs.map((run) => run[part].name) });
    }
  }
  const [first] = runs;
  if (first === undefined) return rows;
  const changed = new Set(runs.flatMap((run) => Object.keys(configDifference(run.config, first.config))));
  for (const key of SETTING_KEYS.filter((name) => changed.has(name))) {
    const { group, label } = SETTINGS[key];
    rows.push({ group: SETTING_GROUPS[group], label, values: runs.map((run) => settingText(run.config, key)) });
  }
  return rows;
}

/** The settings that change the value of a term. */
function settingsOfTerm(term: TermName): readonly SettingKey[] {
  return SETTING_KEYS.filter((key) => (SETTINGS[key] as Setting).terms?.includes(term));
}

/** The terms of a loop's reward with their weights and settings. */
function formulaOf(config: LabConfig, loop: LoopId): string {
  return JSON.stringify(
    rewardTerms(config, loop).map((term) => [...term, settingsOfTerm(term[0]).map((key) => config[key])]),
  );
}

/** Whether a run with these settings has the reward of a loop in its steps. */
const samplesLoop = (config: LabConfig, loop: LoopId): boolean =>
  config.mode === "rl" && activeLoops(config).includes(loop);

/** Whether its evaluations have it. */
const evaluatesLoop = (config: LabConfig, loop: LoopId): boolean =>
  aboutLoop(loop).heldOut !== undefined || activeLoops(config).includes(loop);

/**
 * Loops whose rewards are different formulas in the runs that have them, so that their numbers cannot be compared.
 * @param has whether a run has the reward of a loop; in its steps by default
 */
export function differentFormulas(configs: readonly LabConfig[], has = samplesLoop): LoopId[] {
  return LOOP_IDS.filter((loop) => {
    const own = configs.filter((config) => has(config, loop));
    return new Set(own.map((config) => formulaOf(config, loop))).size > 1;
  });
}

/** Held-out scores of a run. */
export interface HeldOut {
  readonly manifest: Pick<RunManifest, "config" | "segments">;
  readonly evaluations: readonly StoredEvaluation[];
  readonly best: BestCheckpoint | null;
}

const REPORTED = "Held-out report rows: score and its paired difference to the run's first evaluation";
const REPORTED_COMMON = "Scores on the held-out rows that all of these runs were evaluated on";
const OTHER_FORMULAS = "Different formulas: rewards of these runs that cannot be compared with each other";
const CHOSEN = "Held-out selection rows, which the scores above exclude";

/** Steps at which all of the runs that have evaluations were evaluated, ascending. */
export function commonSteps(runs: readonly (readonly StoredEvaluation[])[]): readonly number[] {
  const [first, ...others] = runs.filter((list) => list.length > 0);
  const at = (list: readonly StoredEvaluation[]) => list.map(({ report }) => report.step);
  return first === undefined ? [] : at(first).filter((step) => others.every((list) => at(list).includes(step)));
}

/** The evaluation of a step; the newest for null. */
export function evaluationAt(list: readonly StoredEvaluation[], step: number | null): StoredEvaluation | undefined {
  return step === null ? list.at(-1) : list.find(({ report }) => report.step === step);
}

/**
 * Held-out scores with the paired difference to the first evaluation, under the steps that they cover, and the choice of
 * the best checkpoint.
 * @param step of the evaluation of every run; null for the newest of each
 */
export function heldOutRows(runs: readonly HeldOut[], step: number | null): ComparedRow[] {
  const shown = runs.map(({ evaluations }) => evaluationAt(evaluations, step));
  const reports = shown.map((evaluation) => evaluation?.report);
  const newest = reports.find((report) => report !== undefined);
  if (newest === undefined) return [];
  const rows = shown.map(reportRows);
  const evaluated = rows.filter((own) => own.size > 0);
  const common = [...(evaluated[0]?.keys() ?? [])].filter((id) => evaluated.every((own) => own.has(id)));
  // Means over different rows cannot be compared, so only the shared rows count.
  const alike = evaluated.every((own) => own.size === common.length);
  const group = alike ? REPORTED : `${REPORTED_COMMON}: ${common.length}`;
  const formulas = evaluatedFormulas(runs, step);
  const scores = evalTexts(newest.reward.judge).flatMap(({ id, title }): ComparedRow[] => {
    const apart = formulas.some((loop) => id.startsWith(`reward${loop}_`));
    const values = reports.map((report, at) => {
      if (!alike) return meanText(common.map((row) => rowValue(rows[at]?.get(row), id)));
      const score = report === undefined ? null : scoreOf(report, id);
      if (score === null) return NONE;
      const change = score.difference === null ? "" : ` ${differenceText(score.difference)}`;
      const lacking = lackingText(score.n, report?.n ?? score.n);
      return `${fixed(score.mean, 3)}${change}${lacking === "" ? "" : `, ${lacking}`}`;
    });
    return values.every((value) => value === NONE)
      ? []
      : [{ group: apart ? OTHER_FORMULAS : group, label: title, values }];
  });
  const counts = reports.map((report) => (report === undefined ? NONE : String(report.n)));
  return [
    { group, label: "Step", values: reports.map(stepText) },
    { group, label: alike ? "Rows" : "Rows of the run", values: counts },
    ...scores.filter((row) => row.group === group),
    ...scores.filter((row) => row.group === OTHER_FORMULAS),
    { group: CHOSEN, label: "Best checkpoint", values: runs.map(({ best }) => bestText(best)) },
  ];
}

/** Loops whose rewards were different formulas when the runs were evaluated: a fork keeps evaluations of its parent. */
function evaluatedFormulas(runs: readonly HeldOut[], step: number | null): LoopId[] {
  return differentFormulas(
    runs.flatMap(({ manifest, evaluations }) => {
      const shown = evaluationAt(evaluations, step);
      return shown === undefined ? [] : [settingsOf(manifest, shown.report.step)];
    }),
    evaluatesLoop,
  );
}

/** Why the scores of `heldOutRows` may not tell which run is better, one sentence each. */
export function cautions(runs: readonly HeldOut[], step: number | null): string[] {
  const steps = runs.flatMap(({ evaluations }) => evaluationAt(evaluations, step)?.report.step ?? []);
  const formulas = evaluatedFormulas(runs, step);
  const none = commonSteps(runs.map(({ evaluations }) => evaluations)).length === 0;
  return [
    ...(new Set(steps).size > 1
      ? [
          `${none ? "No step was evaluated in all of these runs. " : ""}The scores are of different steps, so a longer run may lead by its length alone.`,
        ]
      : []),
    ...(formulas.length > 0
      ? [
          `The runs have different formulas for the reward of loop ${formulas.join(" and loop ")}, so compare these runs by other scores.`,
        ]
      : []),
  ];
}

/** The step of an evaluation and the one that its differences start from. */
function stepText(report: EvalReport | undefined): string {
  if (report === undefined) return "not evaluated";
  return report.baseline === undefined ? `${report.step}, the first` : `${report.step}, from ${report.baseline}`;
}

/** Report rows of an evaluation by id; empty without one. */
function reportRows(evaluation: StoredEvaluation | undefined): ReadonlyMap<string, RowScores> {
  const rows = evaluation?.rows.filter(({ part }) => part !== "selection") ?? [];
  return new Map(rows.map((row) => [row.rowId, row]));
}

const rowValue = (row: RowScores | undefined, id: ScoreId): number | null =>
  row === undefined ? null : rowScoreOf(row, id);

/** Mean of the values; none where one is missing. */
function meanText(values: readonly (number | null)[]): string {
  const known = values.filter((value) => value !== null);
  if (known.length === 0 || known.length < values.length) return NONE;
  return fixed(known.reduce((sum, value) => sum + value, 0) / known.length, 3);
}

function bestText(best: BestCheckpoint | null): string {
  if (best === null) return NONE;
  const { step, selection } = best;
  return `step ${step}, by ${SELECTION_NAMES[selection.metric]} ${fixed(selection.value, 3)}, ${counted(selection.n, "row")}`;
}
