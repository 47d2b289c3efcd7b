/** The clip that was followed last, which stays until another is followed, and the video that is being made. */
import { create } from "zustand";
import { useClips } from "../../app/components/mask/frame-store.ts";
import { answerColour } from "../../app/components/mask/layers.ts";
import { jobKind } from "../../app/stores/jobs.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import type { TryWeights } from "../try-out/weights.ts";
import type { FrameScores } from "./boundary.ts";
import type { FollowTask } from "./follow-clip.ts";

export interface FollowedObject {
  /** Its expression or given mask. */
  readonly label: string;
  /** The same, numbered where there are several. */
  readonly name: string;
  /** The mask of the strip of frames, empty where the frame is not done. */
  readonly mask: Rle;
  /** Overlap with the given mask by frame; undefined where the frame is not done. */
  readonly scores: FrameScores;
}

export interface FollowedClip {
  readonly rowId: string;
  readonly imageId: string;
  readonly task: FollowTask;
  readonly weights: TryWeights;
  readonly state: "running" | "stopped" | "finished";
  /** The language model's answer to each expression; null before it arrives, empty for a given mask. */
  readonly answers: readonly string[] | null;
  readonly objects: readonly FollowedObject[];
  /** Frames of the clip, and how many of them are done. */
  readonly total: number;
  readonly done: number;
  /** Bytes of the memory bank, and of all tensors of the trainer, after the last frame. */
  readonly bankBytes: number;
  readonly tensorBytes: number;
}

interface FollowState {
  readonly clip: FollowedClip | null;
  /** Index of the object whose curve is on top. */
  readonly object: number;
}

export const useFollow = create<FollowState>()(() => ({ clip: null, object: 0 }));

/** The followed objects of a row; null for other rows or pictures. */
export function useFollowed(row: { readonly id: string; readonly imageId: string }): FollowedClip | null {
  return useFollow(({ clip }) => (clip?.rowId === row.id && clip.imageId === row.imageId ? clip : null));
}

/** Draws the followed objects over their row. */
useFollow.subscribe(({ clip, object }) => {
  if (clip === null) return;
  const { rowId, imageId, objects } = clip;
  const selected = Math.min(object, objects.length - 1);
  const tracks = objects.map(({ name, mask, scores }, at) => {
    return { name, mask, scores, colour: answerColour(at), selected: at === selected };
  });
  useClips.setState({ answers: { rowId, imageId, tracks } });
});

/** The video that is being made, with its progress in frames. */
export const FILM = jobKind<{ readonly rowId: string; readonly done: number; readonly total: number }>("film", true);
