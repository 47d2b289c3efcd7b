/** The exports that need no base checkpoint, by name. */
import { LabError } from "../errors.ts";
import { tfevents, tfeventsName } from "../formats/tfevents.ts";
import { listCheckpoints } from "../runs/checkpoint/checkpoint.ts";
import { readTrained } from "../runs/checkpoint/trained.ts";
import type { GroupRecord } from "../runs/rollouts/records.ts";
import type { PictureOf } from "../runs/rollouts/rollout-picture.ts";
import { drawnGroups, runEvents } from "../runs/run-events.ts";
import type { RunFolder } from "../runs/run-folder.ts";
import { rolloutsCsv, runTables } from "../runs/run-tables.ts";
import { stepName } from "../runs/step-name.ts";
import { adapterFiles } from "./adapter.ts";
import { type ExportFiles, wholeFile } from "./export-file.ts";
import type { RunExport } from "./export-names.ts";
import { proofFiles } from "./proof.ts";
import { reportFiles } from "./report/run-report.ts";
import type { ExportRows } from "./rows.ts";
import { sa2vaFiles } from "./sa2va.ts";
import { trlFiles } from "./trl.ts";

/** Choices of the user about an export. */
export interface Chosen {
  /** Checkpoint; the newest when null or absent. */
  readonly step?: number | null;
  /** Weights to export; the policy's if absent, unless the format names them. */
  readonly side?: "policy" | "ema";
}

/**
 * @param rows the run's training rows, for formats that contain them; null leaves them out
 * @param pictureOf pictures below drawn masks; null draws only the masks
 * @throws LabError("bad-input") when the run has no checkpoint, or no rows are given, and the format needs them
 */
export async function exportFiles(
  run: RunFolder,
  format: RunExport,
  rows: ExportRows | null,
  pictureOf: PictureOf | null,
  { step = null, side = "policy" }: Chosen = {},
): Promise<ExportFiles> {
  const trained = () => readTrained(run.store, run.id, step, format === "peft-ema" ? "ema" : side);
  switch (format) {
    case "peft":
    case "peft-ema":
      return adapterFiles(run.manifest(), await trained());
    case "report":
      return reportFiles(run, pictureOf);
    case "csv":
      return csvFiles(run, pictureOf);
    case "tfevents":
      return tfeventsFiles(run, pictureOf);
    case "trl": {
      const known = await listCheckpoints(run.store, run.id);
      return trlFiles(run, known.length === 0 ? null : await trained());
    }
    case "sa2va":
      return sa2vaFiles(run, await trained(), rows);
    case "proof":
      return proofFiles(run, rows);
    default:
      throw new LabError("internal", `There is no export "${format as string}"`);
  }
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
