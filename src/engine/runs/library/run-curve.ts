/**
 * The reward curves of a run for lists. Only lines added to metrics.jsonl since the last reading are read; the curve
 * keeps at most `MOST_POINTS` points, evenly spaced.
 */
import * as z from "zod/mini";
import { LOOP_IDS, type LoopId } from "../../rl/loops/abouts.ts";
import type { RunStore } from "../../storage/store.ts";
import { parseMetricsLine } from "../numbers-json.ts";

/** Reward by loop; absent for a loop that did not run. */
export type LoopRewards = Readonly<Partial<Record<LoopId, number>>>;

/** Number of steps in the mean reward of a list. */
const RECENT = 10;
const MOST_POINTS = 64;
/** Bytes per read; a line may be longer. */
const PIECE = 2 ** 20;
/** Number of bytes compared to detect a file that was cut and has grown again. */
const END = 200;

export const RUN_CURVE = z.object({
  /** Bytes of the whole lines read so far, and the text of the last one. */
  bytes: z.number(),
  end: z.string(),
  lines: z.number(),
  /** Step of the last line; 0 without one. */
  step: z.number(),
  /** Sum of the steps' times, in seconds. */
  seconds: z.number(),
  /** Rewards of the last few lines. */
  recent: z.array(z.record(z.string(), z.number())),
  /** Number of lines from one point to the next. */
  stride: z.number(),
  points: z.array(z.record(z.string(), z.number())),
});

export interface RunCurve extends Omit<z.infer<typeof RUN_CURVE>, "recent" | "points"> {
  readonly recent: readonly LoopRewards[];
  readonly points: readonly LoopRewards[];
}

export const NO_CURVE: RunCurve = {
  bytes: 0,
  end: "",
  lines: 0,
  step: 0,
  seconds: 0,
  recent: [],
  stride: 1,
  points: [],
};

/**
 * The curve extended by the lines that were added to a file. A last line without a line break, truncated by a crash, is
 * left out.
 * @param path of metrics.jsonl in the store
 * @param known an earlier curve of this file; NO_CURVE, or a curve that the file does not continue, reads all of it
 * @throws LabError("bad-input") naming a line that is damaged
 */
export async function readCurve(store: RunStore, path: string, known: RunCurve): Promise<RunCurve> {
  const source = await store.open(path);
  const endAt = async (bytes: number): Promise<string> =>
    new TextDecoder().decode(await source.read(Math.max(0, bytes - END), bytes));
  const continued = known.bytes <= source.size && (await endAt(known.bytes)) === known.end;
  let curve = continued ? known : NO_CURVE;
  for (let length = PIECE; curve.bytes < source.size; ) {
    const bytes = await source.read(curve.bytes, Math.min(source.size, curve.bytes + length));
    const last = curve.bytes + bytes.length >= source.size;
    const whole = bytes.lastIndexOf(0x0a) + 1;
    if (whole > 0) curve = withLines(curve, bytes.subarray(0, whole), path);
    if (last) break;
    length = whole === 0 ? 4 * length : PIECE;
  }
  return curve === known ? known : { ...curve, end: await endAt(curve.bytes) };
}

/** @param bytes whole lines */
function withLines(curve: RunCurve, bytes: Uint8Array, path: string): RunCurve {
  let { lines, step, seconds, stride } = curve;
  let [recent, points] = [[...curve.recent], [...curve.points]];
  for (const line of new TextDecoder().decode(bytes).split("\n").slice(0, -1)) {
    const row = parseMetricsLine(line, `${path}, line ${lines + 1},`);
    const rewards = Object.fromEntries(
      LOOP_IDS.flatMap((loop) => {
        const reward = row[`loop${loop}/reward`];
        return reward !== undefined && Number.isFinite(reward) ? [[loop, reward]] : [];
      }),
    ) as LoopRewards;
    recent = [...recent.slice(1 - RECENT), rewards];
    if (lines % stride === 0) points.push(rewards);
    if (points.length > MOST_POINTS) {
      points = points.filter((_, at) => at % 2 === 0);
      stride *= 2;
    }
    lines++;
    step = row.step ?? step;
    seconds += row.step_time ?? 0;
  }
  return { ...curve, bytes: curve.bytes + bytes.length, lines, step, seconds, recent, stride, points };
}

/** Mean rewards over the last steps. */
export function recentRewards({ recent }: RunCurve): LoopRewards {
  return Object.fromEntries(
    LOOP_IDS.flatMap((loop) => {
      const known = recent.flatMap((rewards) => rewards[loop] ?? []);
      return known.length === 0 ? [] : [[loop, known.reduce((sum, reward) => sum + reward, 0) / known.length]];
    }),
  );
}
