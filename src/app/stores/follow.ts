/** The clip that was followed last; it stays until another is followed. */
import { create } from "zustand";
import type { FrameScores } from "../../engine/data/clips/frame-scores.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import type { FollowTask } from "../../engine/session/follow-clip.ts";
import type { TryWeights } from "../../engine/session/try-out.ts";

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
}

export const useFollow = create<FollowState>()(() => ({ clip: null }));

/** The followed objects of a row; null for other rows or pictures. */
export function useFollowed(row: { readonly id: string; readonly imageId: string }): FollowedClip | null {
  return useFollow(({ clip }) => (clip?.rowId === row.id && clip.imageId === row.imageId ? clip : null));
}
