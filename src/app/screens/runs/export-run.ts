/** Actions of the export menu of a run. */

import { badInput, LabError } from "../../../engine/errors.ts";
import { RUN_EXPORTS, type RunExport } from "../../../engine/export/export-names.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { builtIn, lab } from "../../clients/lab.ts";
import { loadedFolder } from "../../clients/loading.ts";
import { saveBlob } from "../../clients/save-blob.ts";
import { type Exporting, useExports } from "../../stores/run/exports.ts";

export type ExportChoice = "zip" | RunExport | "merged";

export const EXPORT_CHOICES: readonly { readonly value: ExportChoice; readonly label: string }[] = [
  { value: "zip", label: "Whole run (zip)" },
  ...(Object.entries(RUN_EXPORTS) as [RunExport, string][]).map(([value, label]) => ({ value, label })),
  { value: "merged", label: "Merged checkpoint…" },
];

/** A run with the bytes of its folder. */
type Exported = Pick<RunManifest, "id" | "title"> & { readonly bytes: number };

/**
 * Creates the export and saves it; a merged checkpoint is written into a folder that the user selects.
 * @throws LabError("cancelled") when no folder was selected, or the export was stopped
 */
export async function exportRun({ id: runId, title, bytes }: Exported, choice: ExportChoice): Promise<void> {
  const merged = choice === "merged";
  if (merged && useExports.getState().ongoing.some((one) => one.merged))
    throw badInput("A checkpoint is being merged; wait for it or stop it");
  const stop = new AbortController();
  const others = (): readonly Exporting[] => useExports.getState().ongoing.filter((one) => one.runId !== runId);
  const show = (done: number, total: number): void =>
    useExports.setState({
      ongoing: [...others(), { runId, title, merged, done, total, stop: () => stop.abort() }],
    });
  useExports.setState({ saved: null });
  show(0, 0);
  try {
    const saved = merged
      ? await merge(runId, show, stop.signal)
      : await save(runId, choice, (done) => show(done, choice === "zip" ? bytes : 0), stop.signal);
    useExports.setState({ saved });
  } finally {
    useExports.setState({ ongoing: others() });
  }
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
  const target = await chooseFolder("use npm run export for a merged checkpoint");
  const { folder, tokens, masks, missingCode } = await lab().trainer.merge(runId, base, target, onTensors, signal);
  const code = missingCode.length === 0 ? "" : `; copy ${missingCode.join(", ")} into it to load it with remote code`;
  return `${folder} was written and verified: next-token scores differ by ${tokens.toExponential(1)}, mask logits by ${masks.toExponential(1)}${code}`;
}

type PickDirectory = (options: { readonly mode: "readwrite" }) => Promise<FileSystemDirectoryHandle>;

/**
 * Asks the user for a folder on disk to write to.
 * @param instead what to do in a browser that cannot ask
 * @throws LabError("unsupported") there, LabError("cancelled") when none was selected
 */
async function chooseFolder(instead: string): Promise<FileSystemDirectoryHandle> {
  const choose = (window as Window & { readonly showDirectoryPicker?: PickDirectory }).showDirectoryPicker;
  if (choose === undefined) throw new LabError("unsupported", `This browser cannot open folders; ${instead}`);
  return choose.call(window, { mode: "readwrite" }).catch((thrown: unknown) => {
    if (thrown instanceof DOMException && thrown.name === "AbortError") {
      throw new LabError("cancelled", "No folder was selected; nothing was changed");
    }
    throw thrown;
  });
}
