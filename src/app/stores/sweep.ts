/** The sweep of the page: its file, the run of each job, and its progress. */
import { create } from "zustand";
import { isRecord } from "../../engine/bytes/json.ts";
import type { StoredSweep, SweepResults } from "../../protocol/data.ts";
import { remember, remembered } from "./saved.ts";

export type JobProgress = "done" | "training" | "stopped" | "failed";

export interface SweepState {
  /** The form's text. */
  readonly draft: { readonly file: string; readonly text: string };
  /** The sweep that was started last, also in an earlier visit; null if there was none. */
  readonly sweep: StoredSweep | null;
  readonly active: boolean;
  /** By job name; a job that never began is absent. */
  readonly jobs: Readonly<Record<string, JobProgress>>;
  /** Of the jobs that are done; null before the first. */
  readonly results: SweepResults | null;
}

const isSweep = (value: unknown): value is StoredSweep | null =>
  value === null ||
  (isRecord(value) &&
    typeof value.file === "string" &&
    typeof value.text === "string" &&
    typeof value.model === "string" &&
    typeof value.rows === "string" &&
    isRecord(value.runs) &&
    Object.values(value.runs).every((run) => typeof run === "string"));

/** The sweep as last stored by any tab of this browser. */
const storedSweep = () => remembered<StoredSweep | null>("sweep", null, isSweep);

const kept = storedSweep();

export const useSweep = create<SweepState>()(() => ({
  draft: { file: kept?.file ?? "sweep.yaml", text: kept?.text ?? "" },
  sweep: kept,
  active: false,
  jobs: {},
  results: null,
}));

/** Puts a file into the form; nothing is started. */
export function draftSweep(file: string, text: string): void {
  useSweep.setState({ draft: { file, text } });
}

/** Takes over a sweep that another tab stored meanwhile; without storage the sweep stays as it is. */
export function reloadSweep(): void {
  const sweep = storedSweep();
  if (sweep !== null) useSweep.setState({ sweep });
}

/** Stores the sweep, so that it can continue after a reload. */
export function keepSweep(sweep: StoredSweep): void {
  remember("sweep", sweep);
  useSweep.setState({ sweep });
}

export function setJob(name: string, progress: JobProgress): void {
  useSweep.setState(({ jobs }) => ({ jobs: { ...jobs, [name]: progress } }));
}
