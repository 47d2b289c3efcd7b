/** All readers of records in the order of trial: the first one that recognises a file reads it. */
import { CLIPS } from "./clips.ts";
import { cocoInstances, regionCaptions } from "./coco.ts";
import { dam } from "./dam.ts";
import { flickr, grandf, refcocogGcg } from "./gcg.ts";
import { osprey } from "./osprey.ts";
import { panoptic } from "./panoptic.ts";
import type { Reader, Sign } from "./reader.ts";
import { refSav } from "./ref-sav.ts";
import { grefs, refs } from "./refs.ts";
import { rows } from "./rows.ts";
import { sa2vaList } from "./sa2va-list.ts";
import { WITHOUT_ROWS } from "./without-rows.ts";

export const READERS: readonly Reader[] = [
  dam,
  flickr,
  regionCaptions,
  cocoInstances,
  panoptic,
  grandf,
  refcocogGcg,
  osprey,
  sa2vaList,
  refs,
  grefs,
  refSav,
  ...CLIPS,
  ...WITHOUT_ROWS,
  rows,
];

/** The reader of a file and the evidence for it; undefined when no reader recognises it. */
export function recogniseRecords(sign: Sign): { readonly reader: Reader; readonly reason: string } | undefined {
  for (const reader of READERS) {
    const reason = reader.recognise(sign);
    if (reason !== undefined) return { reader, reason };
  }
  return undefined;
}
