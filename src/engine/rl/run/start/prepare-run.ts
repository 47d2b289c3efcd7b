/** Prepares a new or stored run for the trainer: folder, lock, rows and state. */

import { activeLoops } from "../../../config/derived.ts";
import { configDifference, requireConfig } from "../../../config/parse.ts";
import type { LabConfig, SettingKey } from "../../../config/table.ts";
import { requireSources } from "../../../data/sources.ts";
import { badInput, LabError } from "../../../errors.ts";
import { checkStorage, heldStorage } from "../../../loading/storage-settings.ts";
import { modelFacts } from "../../../model/config.ts";
import { sealReward } from "../../../rewards/user/hash.ts";
import { checkFiles } from "../../../runs/checkpoint/checkpoint.ts";
import { keepDifficulty, keptDifficulty, needsDifficulty, type RowDifficulty } from "../../../runs/difficulty.ts";
import { type StoredEvaluation, writeEvaluations } from "../../../runs/evaluations/evaluations.ts";
import { LAB, type RunManifest, VERSION } from "../../../runs/manifest.ts";
import { createRun, failedRun, openRun } from "../../../runs/run-folder.ts";
import { ownSettings, settingsOf } from "../../../runs/run-parts.ts";
import { type RowList, type RunRows, runRows } from "../../../runs/run-rows.ts";
import { keepTable, keptTable, type TuningTable } from "../../../tuning/table.ts";
import { disposeState } from "../../optim/training-state.ts";
import { type RowOrder, rowOrder } from "../../step/data-order.ts";
import { raiseAlarm } from "../alarms.ts";
import type { Lab, Run } from "../lab.ts";
import { judgeRecord } from "../run-judge.ts";
import { refuseBlockers } from "./blockers.ts";
import { requireCaptioner } from "./captioner.ts";
import {
  adapterBlocker,
  describeData,
  holdOrRefuse,
  newRun,
  parameterCounts,
  resumeState,
  rowsOfSameRun,
  startState,
} from "./run-facts.ts";
import { dropLaterSteps, keepAdapter, keptAdapter, runSpending, usableCheckpoint } from "./stored-state.ts";

export interface PreparedRun extends Run {
  /** Releases the run's lock. */
  readonly release: () => void;
}

export interface AskedRun {
  readonly settings: LabConfig;
  readonly list: RowList;
  readonly title: string;
  /** ISO time. */
  readonly created: string;
  /**
   * Gives the evaluation of the start of a new run, if another run has computed it; computed if absent. @throws LabError where the
   * new run would compute another one
   */
  readonly first?: ((own: RunManifest) => StoredEvaluation) | undefined;
}

/** The order in which a run draws its training rows. @throws LabError("bad-config") when the settings leave no row */
export function runOrder(
  { rows, words }: RowList,
  { train }: RunRows,
  manifest: Pick<RunManifest, "config" | "segments">,
  difficulty: readonly RowDifficulty[],
): RowOrder {
  const known = { train, id: (index: number) => rows[index]?.[0] ?? "", difficulty };
  const { config, segments = [] } = manifest;
  const changing = segments.filter(({ changed }) => changed !== undefined);
  const order = rowOrder(
    words === undefined ? known : { ...known, words: (index) => words[index] ?? 1 },
    config,
    changing.map(({ fromStep }) => ({ upTo: fromStep, config: settingsOf(manifest, fromStep) })),
  );
  // Refuse settings that leave no row to draw now, not in the first step.
  drawnRows(order, config);
  return order;
}

/** Number of rows that a loop of the run can draw. @throws LabError("bad-config") when a loop has none */
export function drawnRows(order: RowOrder, config: LabConfig): number {
  const loops = config.mode !== "rl" ? ([1] as const) : activeLoops(config);
  return new Set(loops.flatMap((loop) => order.of(loop).rows)).size;
}

/**
 * Creates the folder of a new run.
 * @param table measured forms that the run computes with
 * @throws LabError naming the problem; a folder that exists already is marked as failed
 */
export async function prepareNew(lab: Lab, asked: AskedRun, table: TuningTable): Promise<PreparedRun> {
  const { store, scorer, model, hash, selfTest, adapters, device } = lab;
  const { list } = asked;
  const { start } = adapters;
  const config = await sealReward({ ...asked.settings, ...heldStorage(model.storage) });
  const blocker = start === undefined ? null : adapterBlocker(start, config);
  if (blocker !== null) throw new LabError("bad-config", blocker, { subject: "loraR" });
  refuseBlockers(model, config);
  requireSources(
    config.mixSources,
    list.rows.map(([id]) => id),
  );
  const captioner = requireCaptioner(config, adapters.captioner);
  const rows = runRows(list, config);
  const difficulty = needsDifficulty(config) ? (list.difficulty ?? []) : [];
  const order = runOrder(list, rows, { config }, difficulty);
  const manifest: RunManifest = {
    ...newRun(asked.title, asked.created, VERSION, device.report),
    config,
    model: { name: model.name, hash, ...parameterCounts(model, config), ...modelFacts(model.config) },
    ...(start === undefined ? {} : { startAdapter: { name: start.name, hash: start.hash } }),
    ...(captioner === undefined ? {} : { captioner: { name: captioner.name, hash: captioner.hash } }),
    ...(selfTest === undefined ? {} : { selfTest }),
    data: await describeData(list, rows, config),
  };
  const first = asked.first === undefined ? [] : [asked.first(manifest)];
  const release = await holdOrRefuse(store, manifest.id);
  try {
    const judge = await scorer.begin(config);
    const folder = await createRun(store, manifest);
    try {
      await (await judgeRecord(folder, judge, 0)).store();
      await keepTable(store, manifest.id, table);
      if (start !== undefined) await keepAdapter(store, manifest.id, "start", start);
      if (captioner !== undefined) await keepAdapter(store, manifest.id, "captioner", captioner);
      if (first.length > 0) await writeEvaluations(store, manifest.id, first);
      if (difficulty.length > 0) await keepDifficulty(store, manifest.id, difficulty);
      const state = await startState(model, config, start);
      return { folder, config, state, captioner, list, rows, order, doneSteps: 0, table, release };
    } catch (thrown) {
      throw await failedRun(folder, thrown);
    }
  } catch (thrown) {
    release();
    throw thrown;
  }
}

/**
 * Fields of run.json for a new length; empty if it is unchanged.
 * @throws LabError("bad-config") for fewer steps than done
 */
function lengthOf(
  manifest: RunManifest,
  config: LabConfig,
  done: number,
): Pick<Partial<RunManifest>, "config" | "lengths"> {
  const [from, to] = [manifest.config.steps, config.steps];
  if (to === from) return {};
  if (to <= done) {
    const message = `Run "${manifest.title}" already has ${done} steps; set steps to a larger number`;
    throw new LabError("bad-config", message, { subject: "steps" });
  }
  return { config, lengths: [...(manifest.lengths ?? []), { afterStep: done, from, to }] };
}

/**
 * Fields of run.json for the lab's steps after `done`, if another program computed steps before or settings changed;
 * empty otherwise. Settings that other programs changed are the lab's own again, and what differs from those of step
 * `done` is changed by the new part.
 */
export function partOf(
  manifest: Pick<RunManifest, "config" | "segments">,
  done: number,
): Pick<Partial<RunManifest>, "segments"> {
  const { segments = [] } = manifest;
  const before = segments.filter(({ fromStep }) => fromStep < done);
  if (segments.length === 0) return {};
  const [own, earlier] = [ownSettings(manifest), settingsOf(manifest, done)];
  const names = Object.keys(configDifference(own, earlier)) as SettingKey[];
  const changed = Object.fromEntries(names.map((name) => [name, { from: earlier[name], to: own[name] }]));
  const some = names.length > 0;
  if (before.at(-1)?.engine === LAB && !some) return before.length === segments.length ? {} : { segments: before };
  return { segments: [...before, { fromStep: done, engine: LAB, version: VERSION, ...(some ? { changed } : {}) }] };
}

/**
 * Opens a stored run at its newest usable checkpoint and drops data of later steps from its folder.
 * @param steps new total length; unchanged by default
 * @param from step of an earlier checkpoint to continue from; the newest by default
 * @throws LabError naming the difference or damage; the folder is then unchanged
 */
export async function prepareStored(
  lab: Lab,
  id: string,
  list: RowList,
  steps?: number,
  from?: number,
): Promise<PreparedRun> {
  const { store, scorer, emit, model, hash } = lab;
  const folder = await openRun(store, id);
  const manifest = folder.manifest();
  const own = ownSettings(manifest);
  const config = steps === undefined ? own : requireConfig({ steps }, own, "Length of the run");
  await sealReward(config);
  checkStorage(manifest.title, config, model.storage);
  const rows = await rowsOfSameRun(manifest, hash, list);
  const difficulty = await keptDifficulty(store, id);
  const table = await keptTable(store, id);
  const release = await holdOrRefuse(store, id);
  try {
    if (from !== undefined) await checkFiles(store, id, from);
    const found = await usableCheckpoint(store, id, from);
    if (found === null) throw badInput(`Run "${manifest.title}" has no complete checkpoint to resume from`, id);
    const { step, checkpoint, passedOver } = found;
    const length = lengthOf(manifest, config, step);
    const part = partOf(manifest, step);
    const order = runOrder(list, rows, { ...manifest, config, ...part }, difficulty);
    // Includes the steps after the checkpoint, whose requests were sent too.
    const judge = await judgeRecord(folder, await scorer.begin(config, await runSpending(folder)), step);
    const start = await keptAdapter(store, id, "start", model, manifest.startAdapter);
    const captioner = requireCaptioner(config, await keptAdapter(store, id, "captioner", model, manifest.captioner));
    const state = await resumeState(model, config, checkpoint, start);
    try {
      await dropLaterSteps(folder, step);
      await judge.store();
      await folder.update({ state: "running", ...(own === manifest.config ? {} : { config }), ...length, ...part });
      if (passedOver !== null) {
        await raiseAlarm(folder, emit, { id: "checkpoint-damaged", step, severity: "warning", message: passedOver });
      }
      if (judge.change !== null) {
        await raiseAlarm(folder, emit, { id: "judge-changed", step, severity: "warning", message: judge.change });
      }
    } catch (thrown) {
      disposeState(state);
      throw thrown;
    }
    return { folder, config, state, captioner, list, rows, order, doneSteps: step, table, release };
  } catch (thrown) {
    release();
    throw thrown;
  }
}
