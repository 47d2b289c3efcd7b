/** The first evaluation of a run, taken over from another run with the same start. */
import { SETTING_KEYS } from "../../engine/config/parse.ts";
import type { LabConfig, SettingKey } from "../../engine/config/table.ts";
import { badInput, LabError, quote } from "../../engine/errors.ts";
import { readEvaluations, type StoredEvaluation } from "../../engine/runs/evaluations/evaluations.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import { openRun } from "../../engine/runs/run-folder.ts";
import type { RunStore } from "../../engine/storage/store.ts";

/**
 * The evaluation of a start, copied from another run instead of computed again: runs of several seeds start with the
 * same weights and are scored on the same rows with the same draws.
 */
interface FirstEvaluation {
  /** Manifest of the run that computed it. */
  readonly manifest: RunManifest;
  /** At step 0. */
  readonly evaluation: StoredEvaluation;
}

/** Settings that affect only the update; the seed is among them, because a fresh adapter has no effect. */
const OF_THE_UPDATE: readonly SettingKey[] = [
  "seed",
  "shuffleRewards",
  "loop1Weight",
  "loop2Weight",
  "steps",
  "promptsPerStep",
  "numGenerations",
  "learningRate",
  "maskRateFactor",
  "projectorRateFactor",
  "beta",
  "saveSteps",
];

/** A setting whose values give two starts different answers or scores on held-out rows; undefined if there is none. */
export function differentStart(a: LabConfig, b: LabConfig): SettingKey | undefined {
  return SETTING_KEYS.find((key) => !OF_THE_UPDATE.includes(key) && a[key] !== b[key]);
}

/**
 * The first evaluation of a stored run.
 * @throws LabError naming what is missing in its folder
 */
export async function storedFirstEvaluation(store: RunStore, id: string): Promise<FirstEvaluation> {
  const manifest = (await openRun(store, id)).manifest();
  const [evaluation] = await readEvaluations(store, id);
  if (evaluation !== undefined) return { manifest, evaluation };
  throw badInput(`Run "${id}" has no evaluation to take over`, id);
}

/**
 * The evaluation, if a new run would compute the same one, without the other run's judge costs.
 * @throws LabError("bad-config") naming what differs
 */
export function takenOver({ manifest, evaluation }: FirstEvaluation, own: RunManifest): StoredEvaluation {
  const differs = (what: string): LabError =>
    new LabError("bad-config", `The evaluation of run "${manifest.title}" cannot be taken over: ${what}`, {
      subject: manifest.id,
    });
  if (manifest.model.hash !== own.model.hash) throw differs("it scored another model");
  const [theirs, mine] = [manifest.data, own.data];
  if (theirs.hash !== mine.hash || theirs.usedHash !== mine.usedHash) throw differs("it scored other rows");
  if (manifest.startAdapter?.hash !== own.startAdapter?.hash) throw differs("it started from another adapter");
  if (manifest.captioner?.hash !== own.captioner?.hash) throw differs("its likelihoods come from another checkpoint");
  if (manifest.adapter.description !== own.adapter.description) throw differs("it ran on another GPU");
  const key = differentStart(manifest.config, own.config);
  if (key !== undefined) {
    throw differs(`${key} is ${quote(String(manifest.config[key]))} there and ${quote(String(own.config[key]))} here`);
  }
  if (evaluation.report.step !== 0) throw differs(`its first evaluation is at step ${evaluation.report.step}`);
  return { ...evaluation, rows: evaluation.rows.map(({ judge: _, ...row }) => row) };
}
