/** Charts of one metric each, with one line per run. */
import { type ChartSpec, metricTitle, type SeriesSpec } from "../../app/components/charts/series.ts";
import { sentence } from "../../app/styles/format.ts";
import { MODES } from "../../engine/config/modes.ts";
import { LOOP_IDS, type LoopId } from "../../engine/rl/loops/abouts.ts";
import { joinedName } from "./join-sources.ts";

/** One pattern per run, so that runs differ by more than colour. */
const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [8, 3, 2, 3], [14, 4], [5, 2]];

/** Id of the table of differences, which the curves lead to. */
export const DIFFERENCES = "differences";

export interface NamedRun {
  readonly id: string;
  readonly title: string;
}

interface Quantity {
  readonly id: string;
  readonly title: string;
  readonly metric: string;
  readonly decimals: SeriesSpec["decimals"];
  readonly range?: readonly [number, number];
}

/** Default metrics of a comparison; a metric that no run logged is left out. */
const QUANTITIES: readonly Quantity[] = [
  ...LOOP_IDS.map((id): Quantity => {
    const range = [0, 1] as const;
    return { id: `reward-${id}`, title: `Reward of loop ${id}`, metric: `loop${id}/reward`, decimals: 3, range };
  }),
  ...LOOP_IDS.map((id): Quantity => {
    return { id: `kl-${id}`, title: `KL of loop ${id}`, metric: `loop${id}/kl`, decimals: "compact" };
  }),
  ...MODES.map(({ name, label }) => ({
    id: `${name}-loss`,
    title: `${label} loss`,
    metric: `${name}/loss`,
    decimals: 3,
  })),
  { id: "gradient", title: "Gradient norm", metric: "grad_norm", decimals: "compact" },
];

/** Metrics of the default charts. */
export const COMPARED_METRICS = QUANTITIES.map(({ metric }) => metric);

/**
 * @param logged metrics that at least one of the runs has
 * @param formulas loops whose rewards are different formulas in the runs
 */
export function compareCharts(
  runs: readonly NamedRun[],
  logged: ReadonlySet<string>,
  formulas: readonly LoopId[] = [],
): readonly ChartSpec[] {
  const apart = new Set(formulas.map((loop) => `loop${loop}/reward`));
  return QUANTITIES.filter(({ metric }) => logged.has(metric)).map(({ title, ...quantity }) =>
    chartOf({ ...quantity, title: apart.has(quantity.metric) ? `${title}, different formulas` : title }, runs),
  );
}

/** Chart of a metric that the user selected. */
export function chosenChart(metric: string, runs: readonly NamedRun[]): ChartSpec {
  // As the titles of the default charts.
  const title = sentence(metricTitle(metric).replace(/, loop (\d)$/u, " of loop $1"));
  return {
    ...chartOf({ id: `chosen-${metric}`, title, metric, decimals: "compact" }, runs),
    picked: metric,
  };
}

function chartOf({ id, title, metric, decimals, range }: Quantity, runs: readonly NamedRun[]): ChartSpec {
  const series = runs.map(
    (run, colour): SeriesSpec => ({
      metrics: [joinedName(run.id, metric)],
      label: run.title,
      loop: null,
      colour,
      dash: DASHES[colour % DASHES.length] as readonly number[],
      decimals,
    }),
  );
  return {
    id: `compare-${id}`,
    title,
    series,
    runs: true,
    explains: [metric],
    ...(range === undefined ? {} : { range }),
  };
}
