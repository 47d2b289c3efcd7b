/** Calls of the clips on the trainer: SAM2's memory of a checkpoint, and objects followed through an open row. */
import { toLabError } from "../../engine/errors.ts";
import { openCheckpoint } from "../../engine/model/weights/checkpoint.ts";
import type { FolderRef } from "../../protocol/common.ts";
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import type { TryWeights } from "../try-out/weights.ts";
import { ClipFollower, type FollowTask, type OnFollow } from "./follow-clip.ts";
import { videoShapes } from "./sam2/video-shapes.ts";

export const clipCalls = (place: () => Promise<TrainerPlace>) => {
  const follower = new ClipFollower();
  return {
    /** Why frames can only be decoded alone; null if the checkpoint in this folder has SAM2's memory. */
    async lacksMemory(ref: FolderRef): Promise<string | null> {
      const { openModel } = await place();
      const { folder, close } = await openModel(ref);
      try {
        await openCheckpoint(folder, videoShapes);
        return null;
      } catch (thrown) {
        return toLabError(thrown).message;
      } finally {
        close();
      }
    },
    /**
     * Follows objects through an open row that is a clip. With `resume`, a repeated call continues where the cancelled
     * one stopped.
     * @param memory the loaded model's folder, from which SAM2's memory is read; null decodes frames alone
     * @throws LabError("cancelled") when the signal aborts; finished frames are kept
     */
    async follow(
      row: number,
      task: FollowTask,
      from: TryWeights,
      ref: FolderRef | null,
      resume: boolean,
      tell: OnFollow,
      signal: AbortSignal,
    ): Promise<void> {
      const { lab, openModel } = await place();
      const opened = ref === null ? undefined : await openModel(ref, signal);
      const asked = { row, task, from, memory: opened?.folder, resume };
      await follower.follow(lab, asked, tell, signal).finally(() => opened?.close());
    },
  };
};

export type ClipCalls = CallsOf<typeof clipCalls>;
