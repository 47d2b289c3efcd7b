/** A run for spreadsheets and TensorBoard, with the names of the design notes in addition to the logged ones. */

import { tfevents, tfeventsName } from "../formats/tfevents.ts";
import type { GroupRecord } from "../runs/rollouts/records.ts";
import type { PictureOf } from "../runs/rollouts/rollout-picture.ts";
import { drawnGroups, runEvents } from "../runs/run-events.ts";
import type { RunFolder } from "../runs/run-folder.ts";
import { rolloutsCsv, runTables } from "../runs/run-tables.ts";
import { stepName } from "../runs/step-name.ts";
import { type ExportFiles, wholeFile } from "./export-file.ts";

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
export async function* tfeventsFiles(run: RunFolder, pictureOf: PictureOf | null): ExportFiles {
  const start = new Date(run.manifest().created).getTime() / 1000;
  yield wholeFile(tfeventsName(start), tfevents(start, await runEvents(run, start, pictureOf)));
}
