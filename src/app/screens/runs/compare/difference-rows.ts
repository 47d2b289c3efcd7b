/** What is not the same in all of some runs, as rows of a table with a column a run. */
import { configDifference, SETTING_KEYS } from "../../../../engine/config/parse.ts";
import { SETTING_GROUPS } from "../../../../engine/config/setting.ts";
import { SETTINGS } from "../../../../engine/config/table.ts";
import type { StoredEvaluation } from "../../../../engine/runs/evaluations.ts";
import type { RunManifest } from "../../../../engine/runs/manifest.ts";
import { fixed, MISSING, signed } from "../../../components/charts/format.ts";
import { EVAL_TEXTS } from "../../eval/eval-metrics.ts";
import { settingText } from "../run-difference.ts";

export interface ComparedRow {
  readonly group: string;
  readonly label: string;
  /** One a run. */
  readonly values: readonly string[];
}

/** Model, data and settings of which at least two runs have different ones; settings in the order of their table. */
export function differenceRows(runs: readonly RunManifest[]): ComparedRow[] {
  const rows: ComparedRow[] = [];
  // Two folders may have one name.
  for (const [label, part] of [
    ["Model", "model"],
    ["Data", "data"],
  ] as const) {
    if (new Set(runs.map((run) => run[part].hash)).size > 1) {
      rows.push({ group: "What was trained on", label, values: runs.map((run) => run[part].name) });
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

/**
 * Held-out scores of the newest evaluation, with the paired difference to the first one.
 * @param evaluations of each run, in the order of the runs
 */
export function heldOutRows(evaluations: readonly (readonly StoredEvaluation[])[]): ComparedRow[] {
  if (evaluations.every((list) => list.length === 0)) return [];
  return EVAL_TEXTS.map(({ id, title }) => ({
    group: "Held-out rows, newest score and its paired difference to the start",
    label: title,
    values: evaluations.map((list) => {
      const last = list.at(-1)?.report;
      if (last === undefined) return MISSING;
      const difference = last.difference?.[id] ?? null;
      const change = difference === null ? "" : ` ${signed(difference.mean, 3)}`;
      return `${fixed(last.means[id], 3)}${change}`;
    }),
  }));
}
