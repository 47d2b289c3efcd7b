import type { DataCheck } from "./check.ts";
import type { RegionSet, ShardInfo } from "./region-set.ts";
import type { SkippedRow } from "./sample.ts";
import type { PairSample } from "./talk/tally.ts";

/** Description of an opened data set for the user. */
export interface SetInfo {
  readonly name: string;
  readonly images: number;
  readonly skipped: readonly SkippedRow[];
  readonly files: readonly (Pick<ShardInfo, "bytes" | "rows" | "adapter" | "schema" | "split"> & {
    readonly path: string;
    readonly kept: number;
    /** Kind of the file, with the evidence. */
    readonly what: string;
    /** The columns used as picture, mask and text; empty if the file is unusable. */
    readonly becomes: string;
    /** Why the file gives no rows; undefined if it gives rows. */
    readonly problem: string | undefined;
    /** Columns that can be chosen for a part, and the chosen ones. */
    readonly parts: readonly string[];
    readonly roles: ShardInfo["roles"];
  })[];
  readonly ignored: RegionSet["ignored"];
  /** Labels with their counts, most frequent first, ties by name. */
  readonly categories: readonly (readonly [string, number])[];
  /** Results of checkRegionSet. */
  readonly checks: readonly DataCheck[];
  /** Questions of conversations with what became of their answers, as examples. */
  readonly pairs: readonly PairSample[];
}

/** Counts and checks of a finished index. */
export function describeSet(set: RegionSet, name: string, checks: readonly DataCheck[]): SetInfo {
  const kept = new Map<string, Set<number>>();
  const categories = new Map<string, number>();
  const images = new Set<string>();
  for (const summary of set.summaries) {
    images.add(summary.imageId);
    const rows = kept.get(summary.file) ?? new Set();
    kept.set(summary.file, rows.add(summary.row));
    for (const label of summary.category) categories.set(label, (categories.get(label) ?? 0) + 1);
  }
  return {
    name,
    images: images.size,
    skipped: set.skipped,
    files: set.files.map((file) => ({
      path: file.name,
      bytes: file.bytes,
      rows: file.rows,
      kept: kept.get(file.name)?.size ?? 0,
      adapter: file.adapter,
      schema: file.schema,
      what: file.reason ?? file.layout?.what ?? "",
      becomes: rolesText(file.roles),
      problem: set.skipped.find((one) => one.file === file.name && one.row < 0 && one.lost === undefined)?.reason,
      parts: file.parts ?? [],
      roles: file.roles,
      split: file.split,
    })),
    ignored: set.ignored,
    categories: [...categories].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)),
    checks,
    pairs: set.answers.samples(),
  };
}

/** Roles of the columns as text. */
export function rolesText(roles: ShardInfo["roles"]): string {
  return roles === undefined ? "" : `picture: ${roles.image}, mask: ${roles.mask}, text: ${roles.text}`;
}
