/** The frame that a clip shows: one for all figures of its row, so that they move together. */
import { useMemo } from "react";
import { create } from "zustand";
import { visibleFrames } from "../../../engine/data/film-strip.ts";
import { decodeRle, type Rle } from "../../../engine/data/mask/rle.ts";
import { isStoredRow } from "../../../engine/data/open-rows.ts";
import type { RegionSummary } from "../../../engine/data/sample.ts";
import { useSession } from "../../stores/session.ts";
import type { Frame } from "./draw.ts";

/** An answered masklet beside the given one. */
export interface Track {
  readonly name: string;
  readonly mask: Rle | null;
  /** Colour of its masks where a picture has several; a video draws all tracks with a colour. */
  readonly colour?: string;
  /** Overlap by frame: null if both masks are empty, undefined where a frame has no answer yet; computed from the masks if absent. */
  readonly scores?: readonly (number | null | undefined)[];
  /** The selected answer; its curve is drawn on top. */
  readonly selected?: boolean;
}

/** Milliseconds a frame stays while a clip plays, and for users who prefer reduced motion. */
const FRAME_MS = 160;
const CALM_MS = 600;

interface ClipState {
  /** Chosen frame by row id. */
  readonly shown: Readonly<Record<string, number>>;
  /** Row that plays; if it plays only under the pointer, also the frame to return to. */
  readonly playing: { readonly rowId: string; readonly back: number | null } | null;
  /** Whether figures draw the outlines of the frames before and after. */
  readonly onion: boolean;
  /** Answers drawn over the given mask of a row by a plug-in; of one row at a time. */
  readonly answers: { readonly rowId: string; readonly imageId: string; readonly tracks: readonly Track[] } | null;
}

export const useClips = create<ClipState>()(() => ({ shown: {}, playing: null, onion: false, answers: null }));

let timer: ReturnType<typeof setInterval> | undefined;

/** Shows a frame in all figures of a row. */
export function showFrame(rowId: string, at: number): void {
  useClips.setState(({ shown }) => ({ shown: { ...shown, [rowId]: at } }));
}

/** Stops the clip that plays; one that played under the pointer returns to its frame. */
export function pauseClip(): void {
  clearInterval(timer);
  const { playing } = useClips.getState();
  if (playing !== null && playing.back !== null) showFrame(playing.rowId, playing.back);
  useClips.setState({ playing: null });
}

/** Plays while the pointer or the focus is on a picture; not for users who prefer reduced motion. */
export function hoverClip(rowId: string, from: Frame | undefined): void {
  const { playing } = useClips.getState();
  // A clip that the user started continues.
  if (from === undefined || isCalm() || playing?.rowId === rowId || playing?.back === null) return;
  playClip(rowId, from, from.at);
}

/** Ends what `hoverClip` began. */
export function leaveClip(rowId: string): void {
  const { playing } = useClips.getState();
  if (playing?.rowId === rowId && playing.back !== null) pauseClip();
}

/** Whether the user prefers reduced motion. */
function isCalm(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/**
 * Plays a row's clip from a frame on, over and over; once and slowly for users who prefer reduced motion.
 * @param back frame to return to
 */
export function playClip(rowId: string, { at, of }: Frame, back: number | null = null): void {
  pauseClip();
  const calm = isCalm();
  let frame = calm && at === of - 1 ? -1 : at;
  useClips.setState({ playing: { rowId, back } });
  timer = setInterval(
    () => {
      frame = (frame + 1) % of;
      showFrame(rowId, frame);
      if (calm && frame === of - 1) pauseClip();
    },
    calm ? CALM_MS : FRAME_MS,
  );
}

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

const NO_TRACKS: readonly Track[] = [];

/** Answers that a plug-in draws over a row. */
export function useAnswers(row: Pick<RegionSummary, "id" | "imageId">): readonly Track[] {
  const fits = useClips(({ answers }) => answers?.rowId === row.id && answers.imageId === row.imageId);
  return useClips(({ answers }) => (fits ? answers?.tracks : undefined)) ?? NO_TRACKS;
}
