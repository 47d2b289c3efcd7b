/** Readers of published data sets, in the order of trial. */
import type { DataReaders } from "../../engine/data/readers/reader.ts";
import { CLIPS } from "./clips.ts";
import { dam } from "./dam.ts";
import { flickr, grandf, refcocogGcg } from "./gcg.ts";
import { osprey } from "./osprey.ts";
import { panoptic } from "./panoptic.ts";
import { reasonSegTable } from "./reason-seg.ts";
import { refSav } from "./ref-sav.ts";
import { grefs, refs } from "./refs.ts";
import { sa2vaList } from "./sa2va-list.ts";
import { WITHOUT_ROWS } from "./without-rows.ts";

export const dataSets: DataReaders = {
  readers: [
    ...[dam, flickr, panoptic, grandf, refcocogGcg, osprey, sa2vaList, refs, grefs, refSav],
    ...[...CLIPS, ...WITHOUT_ROWS],
  ],
  samples: [{ label: "reasonseg", what: "ReasonSeg texts with painted shapes", open: reasonSegTable }],
  leaves: [
    // COCO instances whose captions are in another file; read as data, category names would become captions.
    {
      path: /_gcg_coco_mask_gt\.json$/,
      reason: "true masks of grounded conversations: it is for evaluation only",
    },
  ],
};
