import { activeLoops, weightedLoops } from "../../../engine/config/derived.ts";
import { MODES } from "../../../engine/config/modes.ts";
import { defaultConfig } from "../../../engine/config/parse.ts";
import type { LabConfig } from "../../../engine/config/table.ts";
import { rewardTerms } from "../../../engine/rewards/composer/plan.ts";
import { termSpec } from "../../../engine/rewards/terms/registry.ts";
import { aboutLoop, LOOP_IDS, type LoopId } from "../../../engine/rl/loops/abouts.ts";
import type { ChartSpec, SeriesSpec } from "../../components/charts/series.ts";

type Quantity = Omit<SeriesSpec, "loop" | "metrics"> & { readonly names: readonly string[] };

/** Two quantities of loops 1 and 2 take the first four colours. */
function colourOf(loop: number, quantity: number): number {
  return loop <= 2 ? 2 * quantity + loop - 1 : loop + quantity + 1;
}

/** The same metric of some loops, loops after the first dashed; `colour` is 0 for the first quantity of a chart. */
function perLoop({ names, label, colour, ...rest }: Quantity, loops: readonly LoopId[] = LOOP_IDS): SeriesSpec[] {
  return loops.map((loop) => ({
    ...rest,
    metrics: names.map((name) => `loop${loop}/${name}`),
    label: label === "" ? `loop ${loop}` : `${label}, loop ${loop}`,
    loop,
    colour: colourOf(loop, colour / 2),
  }));
}

/** The terms in the rewards of a run. */
function termSeries(config: LabConfig): readonly SeriesSpec[] {
  return activeLoops(config).flatMap((id) =>
    rewardTerms(config, id).map(
      ([term], quantity): SeriesSpec => ({
        metrics: [`loop${id}/rewards/${term}/mean`, `loop${id}/rewards/${term}`],
        label: `${termSpec(term).label}, loop ${id}`,
        loop: id,
        colour: colourOf(id, quantity),
        decimals: 3,
      }),
    ),
  );
}

const TEXT_LOOPS = LOOP_IDS.filter((id) => aboutLoop(id).samples === "text");

const one = (spec: Omit<SeriesSpec, "loop">): SeriesSpec => ({ ...spec, loop: null });
const share = [0, 1] as const;

/** The main curves of a dual-loop run, reward first. */
const OVERVIEW: readonly ChartSpec[] = [
  {
    id: "reward",
    title: "Reward",
    range: share,
    series: perLoop({ names: ["reward", "reward_mean"], label: "", colour: 0, decimals: 3 }),
  },
  {
    id: "over-start",
    title: "Gain over start",
    range: [0, 0.1],
    series: perLoop({ names: ["reward_over_start"], label: "", colour: 0, decimals: 3 }),
  },
  {
    id: "terms",
    title: "Reward terms",
    range: share,
    series: termSeries(defaultConfig()),
  },
  {
    id: "length",
    title: "Text length",
    series: [
      ...perLoop({ names: ["completions/mean_length"], label: "mean tokens", colour: 0, decimals: 1 }, TEXT_LOOPS),
      ...perLoop({ names: ["completions/max_length"], label: "longest", colour: 2, decimals: 0 }, TEXT_LOOPS),
    ],
  },
  {
    id: "masks",
    title: "Mask area, empty masks",
    range: share,
    series: [
      ...perLoop({ names: ["mask/area_mean"], label: "area", colour: 0, decimals: 3 }),
      ...perLoop({ names: ["mask/empty_ratio"], label: "empty", colour: 2, decimals: 2 }),
    ],
  },
  {
    id: "zero-spread",
    title: "Groups without signal",
    range: share,
    series: perLoop({ names: ["frac_reward_zero_std"], label: "", colour: 0, decimals: 2 }),
  },
  {
    id: "kl",
    title: "KL and entropy",
    series: [
      ...perLoop({ names: ["kl"], label: "KL", colour: 0, decimals: "compact" }),
      ...perLoop({ names: ["entropy"], label: "entropy", colour: 2, decimals: 2 }).map((series) => ({
        ...series,
        right: true,
      })),
    ],
  },
  {
    id: "gradient",
    title: "Gradient and rate",
    series: [
      one({ metrics: ["grad_norm"], label: "norm", colour: 0, decimals: "compact" }),
      one({ metrics: ["learning_rate"], label: "rate", colour: 1, decimals: "compact", right: true }),
    ],
  },
  {
    id: "memory",
    title: "GPU memory",
    series: [
      one({
        metrics: ["memory/gpu_bytes"],
        label: "held",
        colour: 0,
        decimals: "bytes",
      }),
      one({ metrics: ["memory/num_tensors"], label: "tensors", colour: 1, decimals: 0, right: true }),
    ],
  },
];

/** Charts of the other modes. */
const OF_MODES = new Map(
  MODES.map(({ name, charts }) => [
    name as string,
    [
      ...charts.map(({ series, ...chart }): ChartSpec => {
        return {
          ...chart,
          series: series.map(({ metric, label }, colour) => one({ metrics: [metric], label, colour, decimals: 3 })),
        };
      }),
      ...OVERVIEW.filter(({ id }) => id === "gradient" || id === "memory"),
    ],
  ]),
);

/**
 * Curves of a run by its mode; only GRPO has rewards and rollouts. The mode of older runs is undefined.
 * @param maxGradNorm gradient clipping threshold; 0 for none
 */
export function overviewOf(mode: LabConfig["mode"] | undefined, maxGradNorm: number): readonly ChartSpec[] {
  const usual = OF_MODES.get(mode ?? "rl") ?? OVERVIEW;
  if (maxGradNorm === 0) return usual;
  return usual.map((spec) =>
    spec.id === "gradient" ? { ...spec, levels: [{ label: "clip", value: maxGradNorm }] } : spec,
  );
}

/**
 * With the lines of the loops and terms that a run has, so that a legend is as long before the first step as after it.
 * @param config of the run; undefined where it is not read yet
 */
export function ofRun(charts: readonly ChartSpec[], config: LabConfig | undefined): readonly ChartSpec[] {
  if (config === undefined) return charts;
  const loops = activeLoops(config);
  const own = ({ id, series }: ChartSpec): readonly SeriesSpec[] =>
    id === "terms" ? termSeries(config) : series.filter(({ loop }) => loop === null || loops.includes(loop));
  const shown = charts.map((spec) => ({ ...spec, series: own(spec) }));
  return [...shown, movedBy(config)].filter(({ series }) => series.length > 0);
}

/** Shares of the update by loop and loss term; without lines where the run does not measure them. */
function movedBy(config: LabConfig): ChartSpec {
  const measured = config.gradientReport > 0 && config.mode === "rl";
  const terms = weightedLoops(config).flatMap((loop) => [
    ...rewardTerms(config, loop).map(([term]) => ({ loop, name: term as string, label: termSpec(term).label })),
    // Not spelled out: three such labels leave no room for the plot.
    { loop, name: "penalty", label: "penalty" },
  ]);
  const series = terms.map(({ loop, name, label }, colour): SeriesSpec => {
    return { metrics: [`loop${loop}/update_share/${name}`], label: `${label} ${loop}`, loop, colour, decimals: 2 };
  });
  const earlier = one({ metrics: ["update_share/earlier"], label: "earlier steps", colour: terms.length, decimals: 2 });
  return {
    id: "moved-by",
    title: "What moved the weights",
    range: share,
    series: measured ? [...series, earlier] : [],
  };
}

/** Without the gain over the start where a run does not measure it: no KL to the start. */
export function measuredCharts(charts: readonly ChartSpec[], names: readonly string[]): readonly ChartSpec[] {
  const measured = names.length === 0 || names.some((name) => name.endsWith("/reward_over_start"));
  return measured ? charts : charts.filter(({ id }) => id !== "over-start");
}

/** Charts in the widest row. */
const COLUMNS = 4;

/**
 * The charts before and after the newest rollouts. Selected charts follow the first row, so that they are visible at
 * once; default charts fill their last row, so that only the last row of the page may be incomplete.
 */
export function arrangeCharts(
  usual: readonly ChartSpec[],
  picked: readonly ChartSpec[],
): readonly [readonly ChartSpec[], readonly ChartSpec[]] {
  const all = [...usual.slice(0, COLUMNS), ...picked, ...usual.slice(COLUMNS)];
  const above = Math.ceil((COLUMNS + picked.length) / COLUMNS) * COLUMNS;
  return [all.slice(0, above), all.slice(above)];
}
