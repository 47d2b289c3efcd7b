/** Name and data of a run for its manifest, and access to rows that checks them against it. */
import type { LabConfig } from "../../../config/table.ts";
import { rowsHash } from "../../../data/open-rows.ts";
import type { RowSource } from "../../../data/training-row.ts";
import { badInput } from "../../../errors.ts";
import type { GpuReport } from "../../../gpu/runtime/device.ts";
import type { Sa2vaModel } from "../../../model/sa2va.ts";
import type { RunManifest } from "../../../runs/manifest.ts";
import { type RowList, type RunRows, storedRunRows, usedHash } from "../../../runs/run-rows.ts";
import { hold } from "../../../storage/lock.ts";
import type { RunStore } from "../../../storage/store.ts";
import { trainableOf } from "./start-run.ts";

/** Rows by index; refused if another data set was opened during the run. */
export function checkedRows(rows: RowSource, list: RowList): RowSource {
  return async (index) => {
    const row = await rows(index);
    const expected = list.rows[index]?.[0];
    if (row.summary.id === expected) return row;
    throw badInput(`Row ${index} of ${list.dataSet} has changed; open the same shards and resume`, list.dataSet);
  };
}

/** Fields of a new run's manifest other than settings, model and data. */
export function newRun(title: string, created: string, version: string, device: GpuReport) {
  const { vendor, architecture, description, software } = device;
  return {
    format: "sa2va-lab-run/1",
    id: runId(title, created),
    title,
    created,
    version,
    adapter: { vendor, architecture, description, software },
    state: "running",
  } as const;
}

/** Number of all parameters and of trained parameters. */
export function parameterCounts(model: Sa2vaModel, config: LabConfig) {
  return { parameters: model.parameters, trainableParameters: elements(trainableOf(model, config)) };
}

/** Folder name of a run: its title in plain letters and its start in milliseconds. */
export function runId(title: string, created: string): string {
  const slug = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  return `${slug === "" ? "run" : slug}-${created.replace(/\D/g, "").slice(0, 17)}`;
}

export async function describeData(
  list: RowList,
  selected: Pick<RunRows, "train" | "heldOut">,
  config: Pick<LabConfig, "rowFilter">,
): Promise<RunManifest["data"]> {
  return {
    name: list.dataSet,
    rows: list.rows.length,
    trainRows: selected.train.length,
    heldOutRows: selected.heldOut.length,
    hash: await rowsHash(list.rows),
    ...(await usedHash(list, selected, config)),
  };
}

/**
 * Checks that a run continues with its original model and rows, and returns the rows.
 * @param hash hash of the loaded model
 * @throws LabError("bad-input") naming the difference
 */
export async function rowsOfSameRun(manifest: RunManifest, hash: string, list: RowList): Promise<RunRows> {
  const { id, title } = manifest;
  if (manifest.model.hash !== hash) {
    throw badInput(`Run "${title}" was trained on ${manifest.model.name}, but another model is loaded`, id);
  }
  return storedRunRows(manifest, list);
}

/** Number of elements of all tensors together. */
function elements(tensors: readonly { readonly shape: readonly number[] }[]): number {
  return tensors.reduce((sum, { shape }) => sum + shape.reduce((product, side) => product * side, 1), 0);
}

/** Locks the run. @returns the function that releases it @throws LabError("bad-input") when another tab or process holds it */
export async function holdOrRefuse(store: RunStore, id: string): Promise<() => void> {
  if (store.hold !== undefined) return store.hold(id);
  const release = await hold("run", id);
  if (release === null) throw badInput(`Run "${id}" is running in another tab`, id);
  return release;
}
