/** Published layouts of data sets: a folder with damaged files, indexed and read to the last sample. */

import type { Arbitrary } from "fast-check";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { nextTurn } from "../../../src/engine/bytes/pace.ts";
import { type ByteSource, folderOf, memoryFolder } from "../../../src/engine/bytes/source.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import type { RegionSample } from "../../../src/engine/data/sample.ts";
import { LabError } from "../../../src/engine/errors.ts";
import * as forms from "../../support/data-forms.ts";
import { boxMask, jpg, row } from "../../unit/data/make.ts";
import { TAR_DAMAGE, ZIP_DAMAGE } from "../archive-damage.ts";
import type { Damage } from "../bytes.ts";
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
  const damage = (path: string): Arbitrary<Damage> | undefined => {
    const ending = path.slice(path.lastIndexOf("."));
    return { ".json": jsonDamage(), ".jsonl": LINE_DAMAGE, ".zip": ZIP_DAMAGE, ".tar": TAR_DAMAGE }[ending];
  };
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
/** Zip archives of a whole data set, and one inside another. */
export const zipData: Target = target(
  { coco: forms.cocoForm, lines: forms.linesForm, nested: (all) => forms.zipped(forms.linesForm(all)) },
  forms.zipped,
);
/** Annotations in JSON. */
export const annotations: Target = target({
  coco: forms.cocoForm,
  osprey: forms.ospreyForm,
  sa2va: forms.sa2vaForm,
  lines: forms.linesForm,
  grandf: forms.grandfForm,
});

/** Turns of the event loop after which opening is cancelled. */
const CANCEL_AFTER = [0, 1, 3];
/** Reads of files after that: those of the rows that are read at once. */
const MOST_READS = 64;

/** @throws Nonsense when opening goes on after it was cancelled */
async function checkCancel(files: Files, after: number): Promise<void> {
  const stop = new AbortController();
  let [turns, reads, ended] = [0, 0, false];
  const { paths, get } = memoryFolder(files);
  const counted = new Map<string, ByteSource>();
  for (const path of paths) {
    const source = get(path) as ByteSource;
    const read: ByteSource["read"] = (start, end) => {
      if (stop.signal.aborted) reads++;
      return source.read(start, end);
    };
    counted.set(path, { ...source, read });
  }
  const ticking = (async () => {
    for (; !ended; turns++) {
      if (turns === after) stop.abort();
      await nextTurn();
    }
  })();
  const thrown: unknown = await openRegionSet(folderOf(counted), { signal: stop.signal }).then(
    () => undefined,
    (error: unknown) => error,
  );
  ended = true;
  await ticking;
  if (thrown !== undefined && !(thrown instanceof LabError && thrown.code === "cancelled")) throw thrown;
  check(reads <= MOST_READS, `opening read ${reads} times after it was cancelled`);
}

/** @throws Nonsense for an invalid value */
async function read(files: Files): Promise<void> {
  for (const after of CANCEL_AFTER) await checkCancel(files, after);
  const opened = await openRegionSet(memoryFolder(files));
  await checkRegions(opened);
  // A tar shard may end after any member.
  const told = !Object.keys(files).some((path) => path.endsWith(".tar"));
  if (told && opened.summaries.length < samples.length) {
    check(opened.skipped.length + opened.ignored.length > 0, "rows were lost without a word");
  }
}
