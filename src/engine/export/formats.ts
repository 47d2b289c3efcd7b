/** The exports that need no base checkpoint, by name. */
import { PLUGIN_EXPORTS } from "../../plugins/exports.ts";
import { tfevents, tfeventsName } from "../formats/tfevents.ts";
import { readTrained } from "../runs/checkpoint/trained.ts";
import type { GroupRecord } from "../runs/rollouts/records.ts";
import type { PictureOf } from "../runs/rollouts/rollout-picture.ts";
import { withThumbnails } from "../runs/rollouts/thumbnails.ts";
import { drawnGroups, rolloutsCsv, runEvents, runTables } from "../runs/run-events.ts";
import type { RunFolder } from "../runs/run-folder.ts";
import { stepName } from "../runs/step-name.ts";
import { adapterFiles } from "./adapter.ts";
import { type ExportFiles, type ExportFormat, type ExportSources, wholeFile } from "./export-file.ts";
import type { CoreExport, RunExport } from "./export-names.ts";

const CORE_FORMATS: Readonly<Record<CoreExport, ExportFormat>> = {
  peft: {
    uses: ["step", "side"],
    files: async (run, { step = null, side = "policy" }) =>
      adapterFiles(run.manifest(), await readTrained(run.store, run.id, step, side)),
  },
  "peft-ema": {
    uses: ["step"],
    files: async (run, { step = null }) =>
      adapterFiles(run.manifest(), await readTrained(run.store, run.id, step, "ema")),
  },
  csv: { uses: ["pictureOf"], files: (run, { pictureOf = null }) => csvFiles(run, pictureOf) },
  tfevents: { uses: ["pictureOf"], files: (run, { pictureOf = null }) => tfeventsFiles(run, pictureOf) },
};

export const EXPORT_FORMATS: Readonly<Record<RunExport, ExportFormat>> = { ...CORE_FORMATS, ...PLUGIN_EXPORTS };

/** @throws LabError("bad-input") when the format needs a checkpoint or rows that are missing */
export async function exportFiles(
  run: RunFolder,
  format: RunExport,
  sources: ExportSources = {},
): Promise<ExportFiles> {
  const pictureOf = withThumbnails(run.store, run.id, sources.pictureOf ?? null);
  return await EXPORT_FORMATS[format].files(run, { ...sources, pictureOf });
}

/**
 * One file per table, and pictures of rollouts.
 * @param pictureOf null draws masks without the picture
 */
export async function* csvFiles(run: RunFolder, pictureOf: PictureOf | null): ExportFiles {
  for (const [path, content] of Object.entries(await runTables(run))) yield wholeFile(path, content);
  const pictures = new Map<string, string>();
  const keyOf = ({ step, loop, group }: GroupRecord): string => `${step} ${loop} ${group}`;
  for await (const { group, image } of drawnGroups(run, pictureOf)) {
    const picture = `pictures/${stepName(group.step)}-loop${group.loop}.png`;
    yield wholeFile(picture, image.png);
    pictures.set(keyOf(group), picture);
  }
  yield wholeFile("rollouts.csv", await rolloutsCsv(run, (group) => pictures.get(keyOf(group)) ?? ""));
}

/** One event file; wall times are the run's start plus the time of its steps. @param pictureOf as above */
async function* tfeventsFiles(run: RunFolder, pictureOf: PictureOf | null): ExportFiles {
  const start = new Date(run.manifest().created).getTime() / 1000;
  yield wholeFile(tfeventsName(start), tfevents(start, await runEvents(run, start, pictureOf)));
}
