/** Which rows the gallery shows, and in what order. */
import type { RegionSummary } from "../../../engine/data/sample.ts";
import type { SetInfo } from "../../../engine/data/set-info.ts";

export type RowOrder = "file" | "largest" | "smallest" | "longest" | "shortest";

export const ROW_ORDERS: readonly { readonly value: RowOrder; readonly label: string }[] = [
  { value: "file", label: "File order" },
  { value: "largest", label: "Largest mask" },
  { value: "smallest", label: "Smallest mask" },
  { value: "longest", label: "Longest caption" },
  { value: "shortest", label: "Shortest caption" },
];

export interface RowFilter {
  /** Words that must all occur in the caption; case is ignored. */
  readonly search: string;
  /** Empty for all. */
  readonly category: string;
  /** Path of a shard; empty for all. */
  readonly shard: string;
  readonly order: RowOrder;
}

/** Choices that the filters offer for a data set; empty where there is only one. */
export interface FilterOptions {
  /** With their counts, most frequent first. */
  readonly categories: SetInfo["categories"];
  /** Paths; empty for a single shard. */
  readonly shards: readonly string[];
}

/** @param info null while the data set is being read */
export function filterOptions(info: SetInfo | null): FilterOptions {
  const shards = info?.files.map((file) => file.path) ?? [];
  return { categories: info?.categories ?? [], shards: shards.length > 1 ? shards : [] };
}

/** The filter with "all" for choices that are not offered: without a control the user could not undo them. */
export function offeredFilter(filter: RowFilter, { categories, shards }: FilterOptions): RowFilter {
  const category = categories.some(([name]) => name === filter.category) ? filter.category : "";
  return { ...filter, category, shard: shards.includes(filter.shard) ? filter.shard : "" };
}

export const NO_FILTER: RowFilter = { search: "", category: "", shard: "", order: "file" };

export function filterRows(rows: readonly RegionSummary[], filter: RowFilter): readonly RegionSummary[] {
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  const plain = words.length === 0 && filter.category === "" && filter.shard === "";
  const kept = plain
    ? rows
    : rows.filter((row) => {
        if (filter.category !== "" && !row.category.includes(filter.category)) return false;
        if (filter.shard !== "" && row.file !== filter.shard) return false;
        const caption = row.caption.toLowerCase();
        return words.every((word) => caption.includes(word));
      });
  if (filter.order === "file") return kept;
  const by: Readonly<Record<Exclude<RowOrder, "file">, (row: RegionSummary) => number>> = {
    largest: (row) => -row.maskShare,
    smallest: (row) => row.maskShare,
    longest: (row) => -row.caption.length,
    shortest: (row) => row.caption.length,
  };
  const key = by[filter.order];
  return [...kept].sort((a, b) => key(a) - key(b) || a.index - b.index);
}
