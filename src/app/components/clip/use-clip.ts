import { useMemo } from "react";
import { visibleFrames } from "../../../engine/data/clips/film-strip.ts";
import { decodeRle, type Rle } from "../../../engine/data/mask/rle.ts";
import { isStoredRow } from "../../../engine/data/open-rows.ts";
import type { RegionSummary } from "../../../engine/data/sample.ts";
import { useSession } from "../../stores/session.ts";
import type { Frame } from "../mask/draw.ts";
import { useClips } from "./clip-store.ts";

/** Open clips by id, built once per list of rows. */
const clipsOf = new WeakMap<readonly RegionSummary[], ReadonlyMap<string, RegionSummary>>();

function openClips(rows: readonly RegionSummary[]): ReadonlyMap<string, RegionSummary> {
  const known = clipsOf.get(rows);
  if (known !== undefined) return known;
  const found = new Map(rows.filter(({ frames }) => frames !== undefined).map((row) => [row.id, row] as const));
  clipsOf.set(rows, found);
  return found;
}

/**
 * The frame to show of a row: the chosen one, else the first on which the mask has a pixel. Undefined for a picture.
 * @param mask the row's mask by default
 * @param stored frames as the run recorded them, for a row that is not open
 */
export function useClipFrame(
  rowId: string | null,
  imageId: string | null = null,
  mask?: Rle,
  stored?: number,
): Frame | undefined {
  const row = useSession(({ rows }) => (rowId === null ? undefined : openClips(rows).get(rowId)));
  const fits = row !== undefined && rowId !== null && isStoredRow(row, { rowId, imageId });
  const of = fits ? row.frames : rowId === null ? undefined : stored;
  const seen = mask ?? row?.mask;
  const poster = useMemo(
    () => (of === undefined || seen === undefined ? 0 : (visibleFrames(decodeRle(seen), of)[0] ?? 0)),
    [of, seen],
  );
  const chosen = useClips(({ shown }) => (rowId === null || of === undefined ? undefined : shown[rowId]));
  return useMemo(
    () => (of === undefined ? undefined : { at: Math.min(chosen ?? poster, of - 1), of }),
    [chosen, poster, of],
  );
}
