/** Actions of the export menu of a run. */

import { RUN_EXPORTS, type RunExport } from "../../../engine/export/export-names.ts";
import { chooseFolder } from "../../clients/choose-folder.ts";
import { builtIn, lab } from "../../clients/lab.ts";
import { loadedFolder } from "../../clients/loading.ts";
import { saveBlob } from "../../clients/save-blob.ts";
import { tryStore } from "../../stores/try-out.ts";

export type ExportChoice = "zip" | RunExport | "scale-out" | "merged";

export const EXPORT_CHOICES: readonly { readonly value: ExportChoice; readonly label: string }[] = [
  { value: "zip", label: "Whole run (zip)" },
  ...(Object.entries(RUN_EXPORTS) as [RunExport, string][]).map(([value, label]) => ({ value, label })),
  { value: "scale-out", label: "For many GPUs (Python)" },
  { value: "merged", label: "Merged checkpoint…" },
];

/** Creates the export and saves it; a merged checkpoint is written into a folder that the user selects. */
export async function exportRun(runId: string, choice: ExportChoice): Promise<string> {
  if (choice !== "merged") {
    const { blob, fileName, note } = await lab().data.exportRun(runId, choice, builtIn("wordnet/wordnet30.txt"));
    saveBlob(blob, fileName);
    return note === null ? `${fileName} was saved` : `${fileName} was saved ${note}`;
  }
  const base = loadedFolder();
  const target = await chooseFolder("readwrite", "use npm run export for a merged checkpoint");
  tryStore.setState({ merging: { done: 0, total: 0 } });
  try {
    const { folder, tokens, masks, missingCode } = await lab().trainer.merge(runId, base, target, (done, total) =>
      tryStore.setState({ merging: { done, total } }),
    );
    const code = missingCode.length === 0 ? "" : `; copy ${missingCode.join(", ")} into it to load it with remote code`;
    return `${folder} was written and verified: next-token scores differ by ${tokens.toExponential(1)}, mask logits by ${masks.toExponential(1)}${code}`;
  } finally {
    tryStore.setState({ merging: null });
  }
}
