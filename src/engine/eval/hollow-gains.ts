/**
 * Rewards that rise on held-out rows while the score that they stand for does not. Judged at evaluations alone, over paired
 * rows with intervals: from one step to the next a reward and a score part by chance.
 */
import { aboutLoop, type LoopId } from "../rl/loops/abouts.ts";
import type { Alarm } from "../runs/alarms.ts";
import { differenceText } from "../runs/evaluations/difference-text.ts";
import type { EvalMetric } from "../runs/evaluations/evaluation-metrics.ts";
import type { EvalReport, Interval, RowScores, StoredEvaluation } from "../runs/evaluations/evaluations.ts";
import { bootstrapMean } from "./bootstrap.ts";

interface HollowGain {
  readonly loop: LoopId;
  /** Of the run's reward of sampled rollouts. */
  readonly reward: Interval;
  readonly score: Interval;
  /** The term whose share of the reward rose most; null if the rows do not have the terms. */
  readonly term: { readonly name: string; readonly difference: Interval } | null;
}

const SEED = 1;

/**
 * Loops whose reward has risen above its interval, while the interval of the held-out score is not above 0 and ends below
 * that of the reward. The score is the loop's own of sampled rollouts, for masks their IoU with the true ones.
 * @param loops those that train
 */
export function hollowGains(
  { report, rows }: Pick<StoredEvaluation, "report" | "rows">,
  baseline: StoredEvaluation | undefined,
  loops: readonly LoopId[],
): HollowGain[] {
  return loops.flatMap((loop): HollowGain[] => {
    const reward = report.reward?.scores[`reward${loop}_sampled`]?.difference ?? null;
    const score = scoreOf(report, loop);
    if (baseline === undefined || reward === null || score === null) return [];
    const hollow = reward.low > 0 && score.low <= 0 && score.high < reward.low;
    return hollow ? [{ loop, reward, score, term: carrier(rows, baseline.rows, loop) }] : [];
  });
}

/** One sentence, for the alarms of a run. */
export function hollowAlarm({ loop, reward, score, term }: HollowGain, step: number): Alarm {
  const name = aboutLoop(loop).samples === "mask" ? "IoU of its masks" : `${aboutLoop(loop).heldOut}`;
  const carried = term === null ? "" : `; "${term.name}" carries ${differenceText(term.difference)} of it`;
  const message = `Loop ${loop}: on held-out rows the reward rose, ${differenceText(reward)}, but not the ${name}, ${differenceText(score)}${carried}. Lower that term's weight, or add one that follows the score`;
  return { id: `hollow-gain-${loop}`, step, severity: "warning", message };
}

function scoreOf(report: EvalReport, loop: LoopId): Interval | null {
  const { samples, heldOut } = aboutLoop(loop);
  if (heldOut === undefined) return null;
  const id = samples === "mask" ? "grounding_iou" : (`loop${loop}_sampled` as EvalMetric);
  return report.difference?.[id] ?? null;
}

function carrier(rows: readonly RowScores[], before: readonly RowScores[], loop: LoopId): HollowGain["term"] {
  const start = new Map(before.map((row) => [row.rowId, row]));
  const reported = rows.filter(({ part }) => part === "report");
  const names = [...new Set(reported.flatMap(({ parts }) => Object.keys(parts?.[loop] ?? {})))];
  const gains = names.flatMap((name) => {
    const both = reported.flatMap((row) => {
      const [now, then] = [row.parts?.[loop]?.[name], start.get(row.rowId)?.parts?.[loop]?.[name]];
      return now === undefined || then === undefined ? [] : [{ image: row.imageId, gain: now - then }];
    });
    if (both.length === 0) return [];
    const images = both.map(({ image }) => image);
    const gain = both.map((one) => one.gain);
    return [{ name, difference: bootstrapMean(gain, images, SEED) }];
  });
  return gains.reduce<HollowGain["term"]>(
    (most, own) => (most === null || own.difference.mean > most.difference.mean ? own : most),
    null,
  );
}
