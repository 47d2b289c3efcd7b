/**
 * Digests of runs for lists. Values that need whole evaluations or the size of every file are cached for all runs in
 * `.digests.json` next to them, and recomputed for a run whose metrics, evaluations or checkpoints have changed.
 */
import * as z from "zod/mini";
import { fits, isRecord, parseJson, type Stored } from "../../bytes/json.ts";
import { LabError } from "../../errors.ts";
import { LOOP_IDS, type LoopId } from "../../rl/loops/abouts.ts";
import type { RunStore } from "../../storage/store.ts";
import { type BestCheckpoint, bestOf } from "../checkpoint/best-checkpoint.ts";
import { listCheckpoints } from "../checkpoint/checkpoint-folder.ts";
import { reportPictures, type ScoreId } from "../evaluations/evaluation-scores.ts";
import { type EvalReport, readEvaluations } from "../evaluations/evaluations.ts";
import type { RunManifest } from "../manifest.ts";
import { NO_NOTES, type RunNotes, readNotes } from "../notes.ts";
import { parseMetricsLine } from "../numbers-json.ts";
import { listRuns, type RunFolder, readEach, runFolder } from "../run-folder.ts";
import { runResult } from "./run-result.ts";

// The reward curves of a run for lists. Only lines added to metrics.jsonl since the last reading are read; the curve
// keeps at most `MOST_POINTS` points, evenly spaced.

/** Reward by loop; absent for a loop that did not run. */
const REWARDS = z.looseObject(
  Object.fromEntries(LOOP_IDS.map((loop) => [loop, z.optional(z.number())])) as Record<
    LoopId,
    z.ZodMiniOptional<z.ZodMiniNumber>
  >,
);
type LoopRewards = Stored<typeof REWARDS>;

/** Number of steps in the mean reward of a list. */
const RECENT = 10;
const MOST_POINTS = 64;
/** Bytes per read; a line may be longer. */
const PIECE = 2 ** 20;
/** Number of bytes compared to detect a file that was cut and has grown again. */
const END = 200;

const RUN_CURVE = z.object({
  /** Bytes of the whole lines read so far, and the text of the last one. */
  bytes: z.number(),
  end: z.string(),
  lines: z.number(),
  /** Step of the last line; 0 without one. */
  step: z.number(),
  /** Sum of the steps' times, in seconds. */
  seconds: z.number(),
  /** Rewards of the last few lines. */
  recent: z.array(REWARDS),
  /** Number of lines from one point to the next. */
  stride: z.number(),
  points: z.array(REWARDS),
});

type RunCurve = Stored<typeof RUN_CURVE>;

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

const PATH = ".digests.json";
/** Version of the form below; a file of another version is recomputed. */
const VERSION = 6;

/** Change of a held-out score from the start to the newest evaluation. */
const GAIN = z.looseObject({
  score: z.custom<ScoreId>(),
  mean: z.number(),
  low: z.number(),
  high: z.number(),
  /** Report rows with the score at both steps, and all report rows. */
  rows: z.number(),
  of: z.number(),
  /** Pictures of the report rows. */
  pictures: z.number(),
  /** Step of the evaluation that it is compared with: 0 for the start of training. */
  from: z.number(),
});

/** Summary of a run for lists, without reading its rollouts. */
export interface RunDigest {
  readonly manifest: RunManifest;
  readonly notes: RunNotes;
  /** Last step with metrics. */
  readonly steps: number;
  /** Mean reward of each loop over the last ten steps; absent when the loop did not run. */
  readonly rewards: LoopRewards;
  /** Rewards of evenly spaced steps, at most 64. */
  readonly curve: readonly LoopRewards[];
  /** Time of all steps in seconds, without pauses and evaluations. */
  readonly seconds: number;
  /** Rewards of the loops first; empty before the second evaluation. */
  readonly gains: readonly Stored<typeof GAIN>[];
  readonly checkpoints: readonly number[];
  /** Steps with a held-out evaluation, ascending; empty if one of them is damaged. */
  readonly evaluated: readonly number[];
  /** The best checkpoint by the selection rows, see best-checkpoint.ts; null if none was evaluated. */
  readonly best: BestCheckpoint | null;
  /** Bytes of the folder, without notes written since its last step. */
  readonly bytes: number;
}

/** Whether a value has only numbers, or null for one that is not finite. */
function isNumbers(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((own) => own === null || typeof own === "number");
}

/** Cached values of a run, and the sizes that reveal a change. */
const REMEMBERED = z.object({
  /** Bytes of metrics.jsonl and eval.jsonl; null without one. */
  sizes: z.tuple([z.nullable(z.number()), z.nullable(z.number())]),
  curve: RUN_CURVE,
  gains: z.array(GAIN),
  scored: z.array(
    z.looseObject({
      step: z.number(),
      means: z.custom<EvalReport["means"]>(isNumbers),
      selection: z.custom<EvalReport["selection"]>(),
    }),
  ),
  checkpoints: z.array(z.number()),
  bytes: z.number(),
  /** Rollout files, which never change once written: their number, last name and bytes. */
  rollouts: z.object({ files: z.number(), last: z.string(), bytes: z.number() }),
});
type Remembered = Stored<typeof REMEMBERED>;

const ALL = z.object({ version: z.literal(VERSION), runs: z.record(z.string(), REMEMBERED) });

/** Digests of all runs, newest first. `damaged` names folders whose run.json or metrics cannot be read; they are kept. */
export async function listDigests(
  store: RunStore,
): Promise<{ readonly runs: readonly RunDigest[]; readonly damaged: readonly string[] }> {
  const { runs, damaged } = await listRuns(store);
  const before = await readRemembered(store);
  const ids = runs.map(({ id }) => id);
  const digests = await readEach(store, ids, (id, at) =>
    computed(runFolder(store, runs[at] as RunManifest), before.get(id)),
  );
  const now = digests.values.map(({ digest, kept }) => [digest.manifest.id, kept] as const);
  const same = now.length === before.size && now.every(([id, kept]) => before.get(id) === kept);
  if (!same) await writeRemembered(store, Object.fromEntries(now));
  return { runs: digests.values.map(({ digest }) => digest), damaged: [...damaged, ...digests.damaged] };
}

/** Digest of an open run. */
export async function digestRun(run: RunFolder): Promise<RunDigest> {
  return (await computed(run, (await readRemembered(run.store)).get(run.id))).digest;
}

/** @returns `known` itself if the run has not changed */
async function computed(
  run: RunFolder,
  known: Remembered | undefined,
): Promise<{ readonly digest: RunDigest; readonly kept: Remembered }> {
  const { store, id } = run;
  const names = await store.names(id);
  const sizeOf = async (name: string): Promise<number | null> =>
    names.includes(name) ? store.size(`${id}/${name}`) : null;
  const sizes = [await sizeOf("metrics.jsonl"), await sizeOf("eval.jsonl")] as const;
  const checkpoints = names.includes("checkpoints") ? await listCheckpoints(store, id) : [];
  let kept = known;
  if (kept === undefined || [...kept.sizes, ...kept.checkpoints].join() !== [...sizes, ...checkpoints].join()) {
    const sameScores = kept !== undefined && kept.sizes[1] === sizes[1];
    kept = {
      sizes,
      checkpoints,
      curve: sizes[0] === null ? NO_CURVE : await readCurve(store, `${id}/metrics.jsonl`, kept?.curve ?? NO_CURVE),
      ...(sameScores && kept !== undefined
        ? { scored: kept.scored, gains: kept.gains }
        : await scoresOf(run, sizes[1] !== null)),
      ...(await folderBytes(run, names, kept?.rollouts)),
    };
  }
  const { curve, gains, bytes, scored } = kept;
  const manifest = run.manifest();
  const reports = scored.map((report) => ({ report }));
  const best = bestOf(reports, checkpoints);
  const notes = names.includes("notes.json") ? await notesOrNone(run) : NO_NOTES;
  const evaluated = scored.map(({ step }) => step);
  const { step: steps, seconds, points } = curve;
  const numbers = { steps, seconds, rewards: recentRewards(curve), curve: points, gains, bytes };
  return { digest: { manifest, notes, ...numbers, checkpoints, evaluated, best }, kept };
}

/** Bytes of the folder; sizes of known rollout files are not read again. */
async function folderBytes(
  run: RunFolder,
  names: readonly string[],
  known: Remembered["rollouts"] | undefined,
): Promise<Pick<Remembered, "bytes" | "rollouts">> {
  const { store, id } = run;
  const folder = `${id}/rollouts`;
  const sum = (files: readonly { readonly size: number }[]): number => files.reduce((all, { size }) => all + size, 0);
  if (known === undefined || known.files === 0) {
    const all = await store.list(id);
    const own = all.filter(({ path }) => path.startsWith(`${folder}/`));
    const last = own.at(-1)?.path.slice(folder.length + 1) ?? "";
    return { rollouts: { files: own.length, last, bytes: sum(own) }, bytes: sum(all) };
  }
  const files = await store.names(folder);
  // A run that was reset to a checkpoint has fewer rollout files.
  if (files[known.files - 1] !== known.last) return folderBytes(run, names, undefined);
  let { bytes } = known;
  for (const name of files.slice(known.files)) bytes += (await store.size(`${folder}/${name}`)) ?? 0;
  const others = names.filter((name) => name !== "rollouts").map((name) => store.list(`${id}/${name}`));
  const rollouts = { files: files.length, last: files.at(-1) ?? "", bytes };
  return { rollouts, bytes: bytes + sum((await Promise.all(others)).flat()) };
}

/** Damaged evaluations do not hide the run; their own view reports them. */
async function scoresOf(run: RunFolder, evaluated: boolean): Promise<Pick<Remembered, "scored" | "gains">> {
  const evaluations = evaluated ? await orElse(readEvaluations(run.store, run.id), []) : [];
  const result = runResult(evaluations);
  return {
    scored: evaluations.map(({ report: { step, means, selection } }) => ({ step, means, selection })),
    gains: (result?.scores ?? []).map(({ id, score: { difference, n } }) => ({
      score: id,
      rows: n,
      of: result?.last.report.n ?? n,
      pictures: reportPictures(result?.last.rows ?? []),
      from: result?.first.report.step ?? 0,
      ...difference,
    })),
  };
}

/** Damaged notes are reported when the user edits them. */
const notesOrNone = (run: RunFolder): Promise<RunNotes> => orElse(readNotes(run.store, run.id), NO_NOTES);

async function orElse<T>(read: Promise<T>, fallback: T): Promise<T> {
  try {
    return await read;
  } catch (thrown) {
    if (thrown instanceof LabError && thrown.code === "bad-input") return fallback;
    throw thrown;
  }
}

/** Empty if the file is missing or has another form: everything can be recomputed. */
async function readRemembered(store: RunStore): Promise<ReadonlyMap<string, Remembered>> {
  if ((await store.size(PATH)) === null) return new Map();
  const value = await orElse(
    store.readText(PATH).then((text) => parseJson(text, PATH)),
    null,
  );
  return new Map(fits(value, ALL) ? Object.entries((value as Stored<typeof ALL>).runs) : []);
}

/** Lists work in a full or read-only store too; they are then recomputed each time. */
async function writeRemembered(store: RunStore, runs: Stored<typeof ALL>["runs"]): Promise<void> {
  try {
    await store.write(PATH, JSON.stringify({ version: VERSION, runs }));
  } catch (thrown) {
    if (!(thrown instanceof LabError && thrown.code === "storage")) throw thrown;
  }
}
