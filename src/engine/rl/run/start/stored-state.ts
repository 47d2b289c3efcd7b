/** Stored state of a run: the newest checkpoint, or the start without one. */

import { type ByteSource, folderOf } from "../../../bytes/source.ts";
import { badInput, LabError, quote, shortened } from "../../../errors.ts";
import { adapterTarget, readStartAdapter, type StartAdapter } from "../../../model/adapter/start-adapter.ts";
import type { Sa2vaModel } from "../../../model/sa2va.ts";
import { type Spending, totalSpending } from "../../../rewards/judge/budget.ts";
import { listCheckpoints, readCheckpoint } from "../../../runs/checkpoint/checkpoint.ts";
import type { CheckpointState } from "../../../runs/checkpoint/trainer-state.ts";
import { readEvaluations } from "../../../runs/evaluations/evaluations.ts";
import type { RunManifest } from "../../../runs/manifest.ts";
import type { RunFolder } from "../../../runs/run-folder.ts";
import type { RunStore } from "../../../storage/store.ts";
import type { TrainingState } from "../../optim/training-state.ts";
import type { Lab } from "../lab.ts";
import { resumeState, startState } from "./run-facts.ts";

// The part of its judge's budget that a run has used.

/** Spending of the logged steps and evaluations of a run, without those of a fork's parent. */
async function loggedSpending(run: RunFolder): Promise<Spending> {
  const { forkedFrom } = run.manifest();
  const isOwn = (step: number): boolean => forkedFrom === undefined || step > forkedFrom.step;
  const steps = (await run.readMetrics()).filter(({ step = 0 }) => isOwn(step));
  const evaluations = (await readEvaluations(run.store, run.id)).filter(({ report }) => isOwn(report.step));
  return totalSpending([
    ...steps.map((row) => ({ calls: row["judge/calls"] ?? 0, cost: row["judge/cost"] ?? 0 })),
    ...evaluations.flatMap(({ rows }) => rows.flatMap(({ judge }) => judge ?? [])),
  ]);
}

/** The same, plus the spending of steps that earlier resumes dropped. */
export async function runSpending(run: RunFolder): Promise<Spending> {
  const { judgeDropped } = run.manifest();
  const logged = await loggedSpending(run);
  return judgeDropped === undefined ? logged : totalSpending([logged, judgeDropped]);
}

/** Drops data of later steps from the run folder; the manifest keeps their judge costs. */
export async function dropLaterSteps(run: RunFolder, step: number): Promise<void> {
  const spent = await runSpending(run);
  await run.truncateAfter(step);
  const logged = await loggedSpending(run);
  const judgeDropped = { calls: spent.calls - logged.calls, cost: spent.cost - logged.cost };
  if (judgeDropped.calls > 0) await run.update({ judgeDropped });
}

// Adapters of a run, stored in its folder, so that resuming does not need the original files: the one it started from,
// and the one that computes likelihoods.

/** Subfolder of the run folder. */
type KeptPlace = "start" | "captioner";

/** Copies the adapter's files into the run. */
export async function keepAdapter(
  store: RunStore,
  runId: string,
  place: KeptPlace,
  adapter: StartAdapter,
): Promise<void> {
  for (const [path, bytes] of Object.entries(adapter.files)) await store.write(`${runId}/${place}/${path}`, bytes);
}

/**
 * @param expected the adapter as the manifest names it; undefined returns undefined
 * @throws LabError("bad-input") when the files are missing or changed
 */
export async function keptAdapter(
  store: RunStore,
  runId: string,
  place: KeptPlace,
  model: Sa2vaModel,
  expected: RunManifest["startAdapter"],
): Promise<StartAdapter | undefined> {
  if (expected === undefined) return undefined;
  const prefix = `${runId}/${place}/`;
  const files = new Map<string, ByteSource>();
  for (const { path } of await store.list(`${runId}/${place}`)) {
    files.set(path.slice(prefix.length), await store.open(path));
  }
  const kept = await readStartAdapter(folderOf(files), adapterTarget(model), expected.name);
  if (kept.hash === expected.hash) return kept;
  throw badInput(
    `Run "${runId}" uses the adapter "${expected.name}", but the files in its ${place} folder differ`,
    `${runId}/${place}`,
  );
}

// The newest usable checkpoint; damaged ones are skipped and named.

interface UsableCheckpoint {
  readonly step: number;
  readonly checkpoint: CheckpointState;
  /** A sentence about newer, damaged checkpoints; null if this is the newest. */
  readonly passedOver: string | null;
}

/**
 * @param before only checkpoints of this step or earlier
 * @returns null for a run without a complete checkpoint
 * @throws LabError with the problem of the newest one if none can be used
 */
export async function usableCheckpoint(
  store: RunStore,
  runId: string,
  before = Number.POSITIVE_INFINITY,
): Promise<UsableCheckpoint | null> {
  let newest: { readonly step: number; readonly error: LabError } | undefined;
  for (const step of [...(await listCheckpoints(store, runId))].filter((at) => at <= before).reverse()) {
    try {
      const checkpoint = await readCheckpoint(store, runId, step);
      await requireTrainable(checkpoint);
      return { step, checkpoint, passedOver: newest === undefined ? null : sentence(newest.step, newest.error, step) };
    } catch (thrown) {
      if (!(thrown instanceof LabError)) throw thrown;
      newest ??= { step, error: thrown };
    }
  }
  if (newest !== undefined) throw newest.error;
  return null;
}

function sentence(damaged: number, { message }: LabError, step: number): string {
  return `The checkpoint of step ${damaged} cannot be used (${shortened(message, 180)}); the run continues from step ${step}`;
}

/**
 * Checks the parts of a checkpoint that training needs: averages and moments of every trained tensor, and non-negative
 * second moments.
 * @throws LabError("bad-input") naming what is missing
 */
export async function requireTrainable({ step, params, ema, moments }: CheckpointState): Promise<void> {
  const bad = (why: string): LabError => badInput(`The checkpoint of step ${step} has ${why}; nothing was changed`);
  if (ema === null) throw bad("no averages of its weights");
  if (moments.m.size !== params.size || moments.v.size !== params.size) throw bad("no moments of its weights");
  for (const [name, { read }] of moments.v) {
    if ((await read()).some((value) => value < 0)) throw bad(`negative second moments of ${quote(name)}`);
  }
}

/** The state on the current device and its step; drops data of later steps from the run folder. */
export async function storedState(
  { model }: Lab,
  folder: RunFolder,
): Promise<{ readonly state: TrainingState; readonly step: number }> {
  const { store, id } = folder;
  const { config, startAdapter } = folder.manifest();
  const start = await keptAdapter(store, id, "start", model, startAdapter);
  const found = await usableCheckpoint(store, id);
  const state =
    found === null ? await startState(model, config, start) : await resumeState(model, config, found.checkpoint, start);
  const step = found?.step ?? 0;
  await dropLaterSteps(folder, step);
  return { state, step };
}
