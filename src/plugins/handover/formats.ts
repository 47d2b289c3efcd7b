/** The exports of a run for other programs that train. */
import { badInput } from "../../engine/errors.ts";
import type { ExportFormat } from "../../engine/export/export-file.ts";
import { listCheckpoints } from "../../engine/runs/checkpoint/checkpoint.ts";
import { readTrained } from "../../engine/runs/checkpoint/trained.ts";
import type { plugin } from "./index.ts";
import { proofFiles } from "./proof.ts";
import { sa2vaFiles } from "./sa2va.ts";
import { scaleOutFiles } from "./scale-out.ts";
import { trlFiles } from "./trl.ts";

export const HANDOVER_EXPORTS: Readonly<Record<keyof typeof plugin.exports, ExportFormat>> = {
  trl: {
    uses: ["step", "side"],
    files: async (run, { step = null, side = "policy" }) => {
      const known = await listCheckpoints(run.store, run.id);
      return trlFiles(run, known.length === 0 ? null : await readTrained(run.store, run.id, step, side));
    },
  },
  sa2va: {
    uses: ["step", "side", "rows"],
    lacks: (run, { rows = null }) =>
      rows === null ? `without annotations: open ${run.manifest().data.name} to include them` : null,
    files: async (run, { step = null, side = "policy", rows = null }) =>
      sa2vaFiles(run, await readTrained(run.store, run.id, step, side), rows),
  },
  "scale-out": {
    uses: ["step", "dataSet", "wordnet", "fresh"],
    files: async (run, { step = null, dataSet = null, wordnet, fresh }) => {
      const { name } = run.manifest().data;
      if (dataSet === null || wordnet === undefined) {
        throw badInput(`Open ${name} first: the export lists the rows that the run used`, name);
      }
      const scale = { set: dataSet.set, dataSet: dataSet.name, wordnet: await wordnet(), step };
      return scaleOutFiles(run, fresh === undefined ? scale : { ...scale, fresh });
    },
  },
  proof: { uses: ["rows"], files: (run, { rows = null }) => proofFiles(run, rows) },
};
