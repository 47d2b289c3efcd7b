/** Published layouts of data sets: a folder with damaged files, indexed and read to the last sample. */

import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { memoryFolder } from "../../../src/engine/bytes/memory.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import type { RegionSample } from "../../../src/engine/data/sample.ts";
import * as forms from "../../support/data-forms.ts";
import { boxMask, jpg, row } from "../../unit/data/make.ts";
import { casesOf } from "../cases.ts";
import { jsonDamage, LINE_DAMAGE } from "../json.ts";
import { checkRegions } from "../regions.ts";
import { check, type Files, type Target } from "../target.ts";

const shard = writeRegionShard([
  row({ image: { bytes: jpg(32, 24), path: null } }),
  row({ image: { bytes: jpg(32, 24), path: null }, mask: boxMask(24, 32, 0, 0, 5, 20) }, "A tall box."),
]);
const set = await openRegionSet(memoryFolder({ "a.arrow": shard }));
const samples: RegionSample[] = await Promise.all(set.summaries.map(({ index }) => set.sample(index)));

type Form = (samples: readonly RegionSample[]) => forms.Files;

function target(
  inputs: Readonly<Record<string, Form>>,
  pack: (files: forms.Files) => forms.Files = (files) => files,
): Target {
  const made = Object.entries(inputs).map(([name, form]) => [name, bytesOf(pack(form(samples)))] as const);
  const damage = (path: string) =>
    path.endsWith(".json") ? jsonDamage() : path.endsWith(".jsonl") ? LINE_DAMAGE : undefined;
  return { ...casesOf(Object.fromEntries(made), damage), read };
}

function bytesOf(files: forms.Files): Files {
  const encoder = new TextEncoder();
  const entries = Object.entries(files).map(([path, content]) => {
    return [path, typeof content === "string" ? encoder.encode(content) : new Uint8Array(content)] as const;
  });
  return Object.fromEntries(entries);
}

/** Refs as pickles beside COCO instances. */
export const pickle: Target = target({ refs: (all) => forms.refsForm(all) });
/** Tar shards: WebDataset and describe-anything. */
export const tar: Target = target({ webdataset: forms.webdatasetForm, dam: forms.damForm });
/** Zip archives of a whole data set. */
export const zipData: Target = target({ coco: forms.cocoForm, lines: forms.linesForm }, forms.zipped);
/** Annotations in JSON. */
export const annotations: Target = target({
  coco: forms.cocoForm,
  osprey: forms.ospreyForm,
  sa2va: forms.sa2vaForm,
  lines: forms.linesForm,
  grandf: forms.grandfForm,
});

/** @throws Nonsense for an invalid value */
async function read(files: Files): Promise<void> {
  const opened = await openRegionSet(memoryFolder(files));
  await checkRegions(opened);
  // A tar shard may end after any member.
  const told = !Object.keys(files).some((path) => path.endsWith(".tar"));
  if (told && opened.summaries.length < samples.length) {
    check(opened.skipped.length + opened.ignored.length > 0, "rows were lost without a word");
  }
}
