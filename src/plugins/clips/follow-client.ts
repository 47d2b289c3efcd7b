/** Follows objects through an open clip in the trainer's worker; the store publishes each finished frame. */

import { pluginCalls } from "../../app/clients/lab.ts";
import { loadedFolder } from "../../app/clients/loading.ts";
import { useSession } from "../../app/stores/session.ts";
import { maskIou, type Rle, rleIsEmpty } from "../../engine/data/mask/rle.ts";
import type { RegionSummary } from "../../engine/data/sample.ts";
import { badInput } from "../../engine/errors.ts";
import type { TryWeights } from "../try-out/weights.ts";
import type { ClipCalls } from "./clip-calls.ts";
import { frameMasks, stripOfMasks } from "./export-masklets.ts";
import type { FollowEvent, FollowTask } from "./follow-clip.ts";
import { type FollowedClip, type FollowedObject, useFollow } from "./follow-store.ts";

/** Shortest time between two changes of the store, in milliseconds. */
const SHOW_EVERY_MS = 200;

interface FinishedFrame {
  /** One per object. */
  readonly masks: readonly Rle[];
  readonly scores: readonly (number | null)[];
}

/** Finished frames of the clip in the store. */
let frames = new Map<number, FinishedFrame>();
let stop = new AbortController();

/**
 * Follows a clip from the start.
 * @param onFrame called with the newest frame whenever the store changes
 * @throws LabError("cancelled") after `stopFollowing`; finished frames stay, and `continueFollowing` continues after them
 */
export async function followClip(
  { id, imageId, frames: total }: RegionSummary,
  task: FollowTask,
  weights: TryWeights,
  onFrame: (frame: number) => void,
): Promise<void> {
  if (total === undefined) throw badInput("Only clips can be followed; this row is a picture");
  frames = new Map();
  const answers = task.kind === "masks" ? [] : null;
  const begun: FollowedClip = {
    rowId: id,
    imageId,
    task,
    weights,
    state: "running",
    answers,
    objects: [],
    total,
    done: 0,
    bankBytes: 0,
    tensorBytes: 0,
  };
  await run(begun, false, onFrame);
}

/** Continues after the finished frames. @throws LabError as `followClip` */
export async function continueFollowing(onFrame: (frame: number) => void): Promise<void> {
  const { clip } = useFollow.getState();
  if (clip?.state === "stopped") await run({ ...clip, state: "running" }, true, onFrame);
}

export function stopFollowing(): void {
  stop.abort();
}

async function run(begun: FollowedClip, resume: boolean, onFrame: (frame: number) => void): Promise<void> {
  const { rowId, imageId, task, weights, total } = begun;
  const row = useSession.getState().rows.find((candidate) => candidate.id === rowId && candidate.imageId === imageId);
  if (row === undefined) throw badInput("The clip is no longer open; its finished frames are kept");
  const mine = new AbortController();
  stop = mine;
  const isNewest = (): boolean => stop === mine;
  const given = frameMasks(row.mask, total);
  let clip = begun;
  let labels = clip.objects.map(({ label }) => label);
  let newest: number | null = null;
  let shownAt = Number.NEGATIVE_INFINITY;
  const show = (): void => {
    if (!isNewest()) return;
    shownAt = performance.now();
    useFollow.setState({ clip: { ...clip, objects: objectsOf(row, total, labels) } });
    if (newest !== null) onFrame(newest);
  };
  const hear = (event: FollowEvent): void => {
    if (!isNewest()) return;
    if (event.kind === "answers") {
      const { answers, expressions } = event;
      labels = labelsOf(task, expressions);
      clip = { ...clip, answers };
    } else {
      // The worker may have dropped the kept frames; then it starts again.
      if (event.done === 1) frames.clear();
      if (task.kind === "masks") labels = event.masks.map(() => `mask of frame ${task.frame + 1}`);
      frames.set(event.frame, scored(event.masks, given[event.frame] as Rle));
      newest = event.frame;
      const { done, bankBytes, tensorBytes } = event;
      clip = { ...clip, done, bankBytes, tensorBytes };
    }
    if (performance.now() - shownAt >= SHOW_EVERY_MS) show();
  };
  show();
  try {
    // Only frames decoded alone need no tensors of SAM2's memory.
    const memory = task.kind === "masks" || task.settings.decoder !== "alone" ? loadedFolder() : null;
    await pluginCalls<ClipCalls>("trainer").follow(row.index, task, weights, memory, resume, hear, mine.signal);
    clip = { ...clip, state: "finished" };
  } catch (thrown) {
    clip = { ...clip, state: "stopped" };
    throw thrown;
  } finally {
    show();
  }
}

function labelsOf(task: FollowTask, expressions: readonly number[]): string[] {
  return expressions.map((at) => (task.kind === "expressions" ? task.expressions[at] : undefined) ?? "");
}

function scored(masks: readonly Rle[], given: Rle): FinishedFrame {
  const scores = masks.map((mask) => (rleIsEmpty(mask) && rleIsEmpty(given) ? null : maskIou(given, mask).iou));
  return { masks, scores };
}

function objectsOf({ width, height }: RegionSummary, total: number, labels: readonly string[]): FollowedObject[] {
  const all = Array.from({ length: total }, (_, frame) => frames.get(frame));
  return labels.map((label, object) => ({
    label,
    name: labels.length === 1 ? label : `${object + 1} ${label}`,
    mask: stripOfMasks(
      all.map((frame) => frame?.masks[object]),
      [height / total, width],
    ),
    scores: all.map((frame) => frame?.scores[object]),
  }));
}
