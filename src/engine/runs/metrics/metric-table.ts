/**
 * The one table of metrics: hover texts, number formats, docs/metrics.md and the names in exports come from here.
 * `loopK` stands for every loop; a name in angle brackets for any text without "/".
 */
import { PLUGINS } from "../../../plugins/list.ts";
import { added } from "../../../plugins/plugin.ts";
import { LOOP_IDS, type LoopId } from "../../rl/loops/abouts.ts";
import type { StepMetrics } from "../rollouts/records.ts";
import { type Metric, STEP_ROWS } from "./metric-rows.ts";
import { CAPTION_ROWS, JUDGE_ROWS, OBJECTIVE_ROWS, OUTPUT_ROWS } from "./metric-rows-output.ts";

/** A metric under its concrete name. */
interface DescribedMetric extends Metric {
  readonly loop: LoopId | null;
  /** The pattern of its row, e.g. "loopK/rewards/<term>/mean". */
  readonly pattern: string;
}

/** Most important first. */
export const METRICS: readonly Metric[] = [
  ...STEP_ROWS,
  ...OBJECTIVE_ROWS,
  ...OUTPUT_ROWS,
  ...JUDGE_ROWS,
  ...added(PLUGINS, "metrics").flat(),
  ...CAPTION_ROWS,
];

const MATCHERS = METRICS.map((metric) => ({ metric, expression: matcher(metric.name) }));

/** Description of a logged name; undefined for a name that is not in the table. */
export function describeMetric(name: string): DescribedMetric | undefined {
  const found = MATCHERS.find(({ expression }) => expression.test(name));
  if (found === undefined) return undefined;
  const { metric, expression } = found;
  const groups = expression.exec(name)?.slice(1) ?? [];
  const loop = metric.name.startsWith("loopK/") ? (Number(groups[0]) as LoopId) : null;
  const alias = metric.alias?.replace("loopK", `loop${loop}`);
  return { ...metric, name, pattern: metric.name, loop, ...(alias === undefined ? {} : { alias }) };
}

/** A row of metrics in which values with another name in the design notes are repeated under that name at the end. */
export function withAliases(row: StepMetrics): StepMetrics {
  const extra = Object.entries(row).flatMap(([name, value]): [string, number][] => {
    const alias = describeMetric(name)?.alias;
    return alias === undefined || alias in row ? [] : [[alias, value]];
  });
  return { ...row, ...Object.fromEntries(extra) };
}

function matcher(pattern: string): RegExp {
  const source = pattern
    .replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
    .replace(/^loopK/, `loop(${LOOP_IDS.join("|")})`)
    .replace(/<[a-z]+>$/, "(.+)")
    .replace(/<[a-z]+>/, "([^/]+)");
  return new RegExp(`^${source}$`);
}
