/** The frame that a clip shows: one for all figures of its row, so that they move together. */
import { create } from "zustand";
import type { Frame } from "../mask/draw.ts";

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
  /** The video that is being made, with its progress in frames. */
  readonly filming: {
    readonly rowId: string;
    readonly done: number;
    readonly total: number;
    readonly stop: () => void;
  } | null;
}

export const useClips = create<ClipState>()(() => ({ shown: {}, playing: null, onion: false, filming: null }));

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

/** Plays a row's clip from a frame on, over and over; once and slowly for users who prefer reduced motion. */
export function playClip(rowId: string, from: Frame): void {
  start(rowId, from, null);
}

/** Plays while the pointer or the focus is on a picture; not for users who prefer reduced motion. */
export function hoverClip(rowId: string, from: Frame | undefined): void {
  const { playing } = useClips.getState();
  // A clip that the user started continues.
  if (from === undefined || isCalm() || playing?.rowId === rowId || playing?.back === null) return;
  start(rowId, from, from.at);
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

function start(rowId: string, { at, of }: Frame, back: number | null): void {
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
