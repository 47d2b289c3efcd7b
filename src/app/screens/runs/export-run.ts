/** Actions of the export menu of a run. */

import { badInput } from "../../../engine/errors.ts";
import { RUN_EXPORTS, type RunExport } from "../../../engine/export/export-names.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { chooseFolder } from "../../clients/choose-folder.ts";
import { builtIn, lab } from "../../clients/lab.ts";
import { loadedFolder } from "../../clients/loading.ts";
import { saveBlob } from "../../clients/save-blob.ts";
import { exportStore } from "../../stores/run/exports.ts";

export type ExportChoice = "zip" | RunExport | "scale-out" | "merged";

export const EXPORT_CHOICES: readonly { readonly value: ExportChoice; readonly label: string }[] = [
  { value: "zip", label: "Whole run (zip)" },
  ...(Object.entries(RUN_EXPORTS) as [RunExport, string][]).map(([value, label]) => ({ value, label })),
  { value: "scale-out", label: "For many GPUs (Python)" },
  { value: "merged", label: "Merged checkpoint…" },
];

/**
 * Creates the export and saves it; a merged checkpoint is written into a folder that the user selects.
 * @throws LabError("cancelled") when no folder was selected, or the merge was stopped
 */
export async function exportRun(run: Pick<RunManifest, "id" | "title">, choice: ExportChoice): Promise<void> {
  exportStore.setState(({ busy }) => ({ busy: [...busy, run.id], saved: null }));
  try {
    exportStore.setState({ saved: await (choice === "merged" ? merge(run) : save(run.id, choice)) });
  } finally {
    exportStore.setState(({ busy }) => ({ busy: busy.filter((id) => id !== run.id) }));
  }
}

async function save(runId: string, choice: Exclude<ExportChoice, "merged">): Promise<string> {
  const { blob, fileName, note } = await lab().data.exportRun(runId, choice, builtIn("wordnet/wordnet30.txt"));
  saveBlob(blob, fileName);
  return note === null ? `${fileName} was saved` : `${fileName} was saved ${note}`;
}

async function merge({ id: runId, title }: Pick<RunManifest, "id" | "title">): Promise<string> {
  if (exportStore.getState().merging !== null) throw badInput("A checkpoint is being merged; wait for it or stop it");
  const base = loadedFolder();
  const target = await chooseFolder("readwrite", "use npm run export for a merged checkpoint");
  const stop = new AbortController();
  const show = (done: number, total: number): void =>
    exportStore.setState({ merging: { runId, title, done, total, stop: () => stop.abort() } });
  show(0, 0);
  try {
    const { folder, tokens, masks, missingCode } = await lab().trainer.merge(runId, base, target, show, stop.signal);
    const code = missingCode.length === 0 ? "" : `; copy ${missingCode.join(", ")} into it to load it with remote code`;
    return `${folder} was written and verified: next-token scores differ by ${tokens.toExponential(1)}, mask logits by ${masks.toExponential(1)}${code}`;
  } finally {
    exportStore.setState({ merging: null });
  }
}
