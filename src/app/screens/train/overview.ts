import type { LoopAbout } from "../../../engine/rl/loops/about.ts";
import { LOOP_IDS, LOOPS } from "../../../engine/rl/loops/abouts.ts";
import type { ChartSpec, SeriesSpec } from "../../components/charts/chart-spec.ts";

type Quantity = Omit<SeriesSpec, "loop" | "metrics"> & { readonly names: readonly string[] };

/** The same metric of every loop: adjacent palette colours, loops after the first dashed. */
function perLoop({ names, label, colour, ...rest }: Quantity): SeriesSpec[] {
  return LOOP_IDS.map((loop) => ({
    ...rest,
    metrics: names.map((name) => `loop${loop}/${name}`),
    label: label === "" ? `loop ${loop}` : `${label} ${loop}`,
    loop,
    // Two quantities of two loops take the first four colours.
    colour: loop <= 2 ? colour + loop - 1 : loop + colour / 2 + 1,
  }));
}

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
    title: "IoU and METEOR",
    range: share,
    series: [
      { metrics: ["loop1/rewards/iou/mean", "loop1/rewards/iou"], label: "IoU", loop: 1, colour: 0, decimals: 3 },
      {
        metrics: ["loop2/rewards/meteor/mean", "loop2/rewards/meteor"],
        label: "METEOR",
        loop: 2,
        colour: 1,
        decimals: 3,
      },
      { metrics: ["loop2/rewards/judge/mean", "loop2/rewards/judge"], label: "judge", loop: 2, colour: 3, decimals: 3 },
      ...LOOPS.filter((loop: LoopAbout) => loop.optional === true).map(
        ({ id }): SeriesSpec => ({
          metrics: [`loop${id}/rewards/meteor/mean`],
          label: `METEOR ${id}`,
          loop: id,
          colour: id + 1,
          decimals: 3,
        }),
      ),
    ],
  },
  {
    id: "zero-spread",
    title: "Zero-spread groups",
    range: share,
    series: perLoop({ names: ["frac_reward_zero_std"], label: "", colour: 0, decimals: 2 }),
  },
  {
    id: "length",
    title: "Caption length",
    series: [
      {
        metrics: ["loop1/completions/mean_length"],
        label: "mean tokens",
        loop: 1,
        colour: 0,
        decimals: 1,
      },
      {
        metrics: ["loop1/completions/max_length"],
        label: "longest",
        loop: 1,
        colour: 2,
        decimals: 0,
      },
    ],
  },
  {
    id: "masks",
    title: "Mask area, empty",
    range: share,
    series: [
      ...perLoop({ names: ["mask/area_mean"], label: "area", colour: 0, decimals: 3 }),
      ...perLoop({ names: ["mask/empty_ratio"], label: "empty", colour: 2, decimals: 2 }),
    ],
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

const SUPERVISED: readonly ChartSpec[] = [
  {
    id: "sft-loss",
    title: "Supervised loss",
    series: [one({ metrics: ["sft/loss"], label: "sum", colour: 0, decimals: 3 })],
  },
  {
    id: "sft-token",
    title: "Caption loss",
    series: [one({ metrics: ["sft/token_loss"], label: "nats a token", colour: 0, decimals: 3 })],
  },
  {
    id: "sft-mask",
    title: "Mask losses",
    series: [
      one({ metrics: ["sft/mask_bce"], label: "BCE", colour: 0, decimals: 3 }),
      one({ metrics: ["sft/mask_dice"], label: "Dice", colour: 1, decimals: 3 }),
    ],
  },
  ...OVERVIEW.filter(({ id }) => id === "gradient" || id === "memory"),
];

/**
 * Curves of a run by its mode; a supervised run has no rewards and no rollouts. The mode of older runs is undefined.
 * @param maxGradNorm gradient clipping threshold; 0 for none
 */
export function overviewOf(mode: "rl" | "sft" | undefined, maxGradNorm: number): readonly ChartSpec[] {
  const usual = mode === "sft" ? SUPERVISED : OVERVIEW;
  if (maxGradNorm === 0) return usual;
  return usual.map((spec) =>
    spec.id === "gradient" ? { ...spec, levels: [{ label: "clip", value: maxGradNorm }] } : spec,
  );
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
