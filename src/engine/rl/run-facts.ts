/** What a run's manifest says of its name and its data, and rows that stay those of the manifest. */
import { sha256Hex } from "../bytes/hash.ts";
import type { RowSource } from "../data/training-row.ts";
import { LabError } from "../errors.ts";
import type { RunManifest } from "../runs/manifest.ts";
import type { RowList, SelectedRows } from "./row-selection.ts";

/** Rows by index, refused when another data set has been opened under the run. */
export function checkedRows(rows: RowSource, list: RowList): RowSource {
  return async (index) => {
    const row = await rows(index);
    const expected = list.rows[index]?.[0];
    if (row.summary.id === expected) return row;
    throw new LabError(
      "bad-input",
      `Row ${index} of ${list.dataSet} is now another one; open the same shards and resume`,
      {
        subject: list.dataSet,
      },
    );
  };
}

/** Folder name of a run: its title in plain letters and the second it began. */
export function runId(title: string, created: string): string {
  const slug = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  return `${slug === "" ? "run" : slug}-${created.replace(/\D/g, "").slice(0, 14)}`;
}

export async function describeData(list: RowList, selected: SelectedRows): Promise<RunManifest["data"]> {
  const text = new TextEncoder().encode(JSON.stringify(list.rows));
  return {
    name: list.dataSet,
    rows: list.rows.length,
    trainRows: selected.train.length,
    heldOutRows: selected.heldOut.length,
    hash: await sha256Hex(text),
  };
}
