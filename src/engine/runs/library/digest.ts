/**
 * Digests of runs for lists. Values that need whole evaluations or the size of every file are cached for all runs in
 * `.digests.json` next to them, and recomputed for a run whose metrics, evaluations or checkpoints have changed.
 */
import * as z from "zod/mini";
import { fits, parseJson } from "../../bytes/json.ts";
import { LabError } from "../../errors.ts";
import type { RunStore } from "../../storage/store.ts";
import { type BestCheckpoint, bestOf } from "../checkpoint/best-checkpoint.ts";
import { listCheckpoints } from "../checkpoint/checkpoint-folder.ts";
import type { ScoreId } from "../evaluations/evaluation-scores.ts";
import { reportPictures } from "../evaluations/evaluation-scores.ts";
import { type EvalReport, type Interval, readEvaluations } from "../evaluations/evaluations.ts";
import type { RunManifest } from "../manifest.ts";
import { NO_NOTES, type RunNotes, readNotes } from "../notes.ts";
import { listRuns, type RunFolder, readEach, runFolder } from "../run-folder.ts";
import { type LoopRewards, NO_CURVE, RUN_CURVE, type RunCurve, readCurve, recentRewards } from "./run-curve.ts";
import { runResult } from "./run-result.ts";

const PATH = ".digests.json";
/** Version of the form below; a file of another version is recomputed. */
const VERSION = 5;

/** Change of a held-out score from the start to the newest evaluation. */
export interface RunGain extends Interval {
  readonly score: ScoreId;
  /** Report rows with the score at both steps, and all report rows. */
  readonly rows: number;
  readonly of: number;
  /** Pictures of the report rows. */
  readonly pictures: number;
}

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
  readonly gains: readonly RunGain[];
  readonly checkpoints: readonly number[];
  /** Steps with a held-out evaluation, ascending; empty if one of them is damaged. */
  readonly evaluated: readonly number[];
  /** The best checkpoint by the selection rows, see best-checkpoint.ts; null if none was evaluated. */
  readonly best: BestCheckpoint | null;
  /** Bytes of the folder, without notes written since its last step. */
  readonly bytes: number;
}

type Scored = Pick<EvalReport, "step" | "means" | "selection">;

/** Cached values of a run, and the sizes that reveal a change. */
interface Remembered extends Pick<RunDigest, "bytes" | "checkpoints" | "gains"> {
  /** Bytes of metrics.jsonl and eval.jsonl; null without one. */
  readonly sizes: readonly [metrics: number | null, evaluations: number | null];
  readonly curve: RunCurve;
  readonly scored: readonly Scored[];
  /** Rollout files, which never change once written: their number, last name and bytes. */
  readonly rollouts: { readonly files: number; readonly last: string; readonly bytes: number };
}

type Runs = Readonly<Record<string, Remembered>>;

const REMEMBERED = z.object({
  version: z.literal(VERSION),
  runs: z.record(
    z.string(),
    z.object({
      curve: RUN_CURVE,
      gains: z.array(
        z.looseObject({
          mean: z.number(),
          low: z.number(),
          high: z.number(),
          rows: z.number(),
          of: z.number(),
          pictures: z.number(),
        }),
      ),
      bytes: z.number(),
      checkpoints: z.array(z.number()),
      sizes: z.tuple([z.nullable(z.number()), z.nullable(z.number())]),
      rollouts: z.object({ files: z.number(), last: z.string(), bytes: z.number() }),
      scored: z.array(z.looseObject({ step: z.number(), means: z.record(z.string(), z.nullable(z.number())) })),
    }),
  ),
});

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
  return new Map(fits(value, REMEMBERED) ? Object.entries((value as unknown as { runs: Runs }).runs) : []);
}

/** Lists work in a full or read-only store too; they are then recomputed each time. */
async function writeRemembered(store: RunStore, runs: Runs): Promise<void> {
  try {
    await store.write(PATH, JSON.stringify({ version: VERSION, runs }));
  } catch (thrown) {
    if (!(thrown instanceof LabError && thrown.code === "storage")) throw thrown;
  }
}
