/** Follows objects through an open clip outside training, with chosen weights. A stopped clip can be continued. */

import type { ByteFolder } from "../../engine/bytes/source.ts";
import { framePixels } from "../../engine/data/film-strip.ts";
import { decodeRle, type Rle, rleIsEmpty } from "../../engine/data/mask/rle.ts";
import type { TrainingRow } from "../../engine/data/training-row.ts";
import { badInput } from "../../engine/errors.ts";
import { trimPool } from "../../engine/gpu/runtime/pool.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import { isVideoOnly } from "../../engine/model/sam2-shapes.ts";
import { openCheckpoint } from "../../engine/model/weights/checkpoint.ts";
import { loadTensors } from "../../engine/model/weights/weight-pieces.ts";
import { freeDecodeBuffers } from "../../engine/policy/decode/decode-gpu.ts";
import type { Outside, Session } from "../../engine/session/session.ts";
import { type TryWeights, weightsOf } from "../try-out/weights.ts";
import {
  type Followed,
  type FollowJob,
  type FollowSettings,
  followExpressions,
  followMasks,
  type KeptFrames,
} from "./follow.ts";
import type { ClipPictures, FrameResult } from "./masklets.ts";
import type { GivenMask } from "./sam2/mask-prompt.ts";
import { videoShapes } from "./sam2/video-shapes.ts";

/** Objects to follow: named by expressions, or given as masks on one frame, each of the frame's size. */
export type FollowTask =
  | { readonly kind: "expressions"; readonly expressions: readonly string[]; readonly settings: FollowSettings }
  | { readonly kind: "masks"; readonly frame: number; readonly masks: readonly Rle[] };

export interface FollowAsked {
  /** Index of an open row that is a clip. */
  readonly row: number;
  readonly task: FollowTask;
  readonly from: TryWeights;
  /**
   * The checkpoint from which SAM2's memory tensors are loaded for this clip; not needed if frames are decoded alone.
   */
  readonly memory: ByteFolder | undefined;
  /** Continues the same request where it stopped; otherwise starts from the beginning. */
  readonly resume: boolean;
}

/** First the language model's answers with each object's expression, then every finished frame. */
export type FollowEvent = (Pick<Followed, "answers" | "expressions"> & { readonly kind: "answers" }) | FollowedFrame;

interface FollowedFrame extends Pick<FrameResult, "frame" | "masks" | "bankBytes"> {
  readonly kind: "frame";
  /** Finished frames. */
  readonly done: number;
  /** Bytes of all tensors on the device. */
  readonly tensorBytes: number;
}

export type OnFollow = (event: FollowEvent) => void;

/** Follows one clip at a time and keeps the frames of the last stopped one in host memory. */
export class ClipFollower {
  #kept: { readonly of: string; readonly frames: KeptFrames } | undefined;

  /**
   * @throws LabError("cancelled") when the signal aborts: finished frames are kept; "bad-input" for a picture, an unusable mask, or
   *   a checkpoint without memory where it is needed
   */
  async follow(session: Session, asked: FollowAsked, tell: OnFollow, signal: AbortSignal): Promise<Followed> {
    return session.askRows(1, signal, async (context) =>
      this.#follow(context, await context.rows(asked.row), asked, tell),
    );
  }

  async #follow(
    context: Outside,
    row: TrainingRow,
    { task, from, memory, resume }: FollowAsked,
    tell: OnFollow,
  ): Promise<Followed> {
    const pictures = rowPictures(row);
    const masks = task.kind === "masks" ? given(task, pictures) : undefined;
    if (!resume) this.#kept = undefined;
    const alone = task.kind === "expressions" && task.settings.decoder === "alone";
    const tensors = alone ? new Map<string, Tensor>() : await memoryTensors(memory);
    const model = { ...context.model, frozen: new Map([...context.model.frozen, ...tensors]) };
    try {
      const { weights, dispose } = await weightsOf({ ...context, model }, from);
      const keeper = this.#keeper(`${context.weightChanges} ${row.summary.imageId} ${JSON.stringify(from)} `, tell);
      const onAnswers: FollowJob["onAnswers"] = (answers) => tell({ kind: "answers", ...answers });
      const job: FollowJob = { model, weights, pictures, signal: context.signal, keeper, onAnswers };
      const followed =
        task.kind === "expressions"
          ? followExpressions(job, task.expressions, task.settings)
          : followMasks(job, masks ?? new Map());
      return await followed.finally(dispose);
    } finally {
      tf.dispose([...tensors.values()]);
      if (context.live === undefined) freeDecodeBuffers();
      trimPool();
    }
  }

  #keeper(prefix: string, tell: OnFollow): NonNullable<FollowJob["keeper"]> {
    return {
      // Only when the signal aborts: reading the bank back takes time.
      every: Number.POSITIVE_INFINITY,
      find: async (of) => (this.#kept?.of === prefix + of ? this.#kept.frames : undefined),
      keep: async (of, frames) => {
        this.#kept = { of: prefix + of, frames };
      },
      seen: ({ frame, masks, bankBytes }, done) =>
        tell({ kind: "frame", frame, masks, done, bankBytes, tensorBytes: tf.memory().numBytes }),
    };
  }
}

/** The frames of a row. @throws LabError("bad-input") for a picture */
function rowPictures({ summary, rgb }: TrainingRow): ClipPictures {
  const { frames: total } = summary;
  if (total === undefined) throw badInput(`Row ${summary.id} is a picture; only clips are followed`);
  const { height, width } = framePixels(rgb, total, 0);
  return { total, height, width, picture: async (frame) => framePixels(rgb, total, frame) };
}

async function memoryTensors(folder: ByteFolder | undefined): Promise<Map<string, Tensor>> {
  if (folder !== undefined) return loadTensors(await openCheckpoint(folder, videoShapes), isVideoOnly);
  throw badInput("The model's folder is not open, so SAM2's memory cannot be read; nothing was followed");
}

/** @throws LabError("bad-input") for a frame that the clip does not have, or a mask that is empty or of another size */
function given(
  { frame, masks }: Extract<FollowTask, { readonly kind: "masks" }>,
  { total, height, width }: ClipPictures,
): ReadonlyMap<number, readonly GivenMask[]> {
  if (!Number.isInteger(frame) || frame < 0 || frame >= total) {
    throw badInput(`Frame ${frame} has a mask, but the clip has frames 0 to ${total - 1}`);
  }
  const own = masks.map((mask) => {
    const [tall, wide] = mask.size;
    if (tall !== height || wide !== width) {
      const is = `is ${wide} x ${tall} pixels, the frame ${width} x ${height}`;
      throw badInput(`The mask of frame ${frame} ${is}; nothing was followed`);
    }
    if (rleIsEmpty(mask)) throw badInput(`The mask of frame ${frame} is empty; nothing was followed`);
    return { data: decodeRle(mask), height, width };
  });
  if (own.length === 0) throw badInput(`Frame ${frame} has no mask; nothing was followed`);
  return new Map([[frame, own]]);
}
