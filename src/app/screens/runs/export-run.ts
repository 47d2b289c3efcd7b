/** Actions of the export menu of a run. */

import { badInput, LabError } from "../../../engine/errors.ts";
import { RUN_EXPORTS, type RunExport } from "../../../engine/export/export-names.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { builtIn, lab } from "../../clients/lab.ts";
import { loadedFolder } from "../../clients/loading.ts";
import { pickFolder, saveBlob } from "../../clients/save-blob.ts";
import { forgetJob, type Job, jobKind, startJob, useJobs } from "../../stores/jobs.ts";

export type ExportChoice = "zip" | RunExport | "merged";

export const EXPORT_CHOICES: readonly { readonly value: ExportChoice; readonly label: string }[] = [
  { value: "zip", label: "Whole run (zip)" },
  ...(Object.entries(RUN_EXPORTS) as [RunExport, string][]).map(([value, label]) => ({ value, label })),
  { value: "merged", label: "Merged checkpoint…" },
];

interface Exporting {
  readonly title: string;
  /** Whether it is a merged checkpoint, which is counted in tensors; others are counted in bytes. */
  readonly merged: boolean;
  /** 0 before the first. */
  readonly done: number;
  /** 0 if not known. */
  readonly total: number;
}

/** The export of a run. The result names the saved file and its state. */
export const exportOf = (runId: string) => jobKind<Exporting, string>(`${EXPORT} ${runId}`, true);
const EXPORT = "export of";

/** The newest export of each run. */
export function exportsIn(jobs: ReturnType<typeof useJobs.getState>): readonly Job<Exporting, string>[] {
  return Object.values(jobs).filter(({ kind }) => kind.name.startsWith(EXPORT)) as Job<Exporting, string>[];
}

/** A run with the bytes of its folder. */
type Exported = Pick<RunManifest, "id" | "title"> & { readonly bytes: number };

/**
 * Creates the export and saves it; a merged checkpoint is written into a folder that the user selects.
 * @throws LabError("cancelled") when no folder was selected, or the export was stopped
 */
export async function exportRun({ id: runId, title, bytes }: Exported, choice: ExportChoice): Promise<void> {
  const merged = choice === "merged";
  const others = exportsIn(useJobs.getState());
  if (merged && others.some(({ state, progress }) => state === "running" && progress.merged))
    throw badInput("A checkpoint is being merged; wait for it or stop it");
  forgetExports();
  const first = { title, merged, done: 0, total: 0 };
  await startJob(exportOf(runId), first, (signal, progress) => {
    const show = (done: number, total: number): void => progress({ ...first, done, total });
    if (merged) return merge(runId, show, signal);
    return save(runId, choice, (done) => show(done, choice === "zip" ? bytes : 0), signal);
  });
}

/** Drops the results of finished exports. */
export function forgetExports(): void {
  for (const { kind } of exportsIn(useJobs.getState())) forgetJob(kind);
}

async function save(
  runId: string,
  choice: Exclude<ExportChoice, "merged">,
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<string> {
  const wordnet = builtIn("wordnet/wordnet30.txt");
  const { blob, fileName, note } = await lab().data.exportRun(runId, choice, wordnet, onBytes, signal);
  saveBlob(blob, fileName);
  return note === null ? `${fileName} was saved` : `${fileName} was saved ${note}`;
}

async function merge(
  runId: string,
  onTensors: (done: number, total: number) => void,
  signal: AbortSignal,
): Promise<string> {
  const base = loadedFolder();
  const asked = pickFolder("readwrite");
  if (asked === undefined) {
    throw new LabError("unsupported", "This browser cannot open folders; use npm run export for a merged checkpoint");
  }
  const target = await asked;
  if (target === null) throw new LabError("cancelled", "No folder was selected; nothing was changed");
  const { folder, tokens, masks, missingCode } = await lab().trainer.merge(runId, base, target, onTensors, signal);
  const code = missingCode.length === 0 ? "" : `; copy ${missingCode.join(", ")} into it to load it with remote code`;
  return `${folder} was written and verified: next-token scores differ by ${tokens.toExponential(1)}, mask logits by ${masks.toExponential(1)}${code}`;
}
